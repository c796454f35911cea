"""The program in docs/runtime.md prints what the text says."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]


def test_the_example_of_the_simulator_prints_what_the_text_says(monkeypatch, capsys):
    monkeypatch.chdir(TOP)
    text = (TOP / "docs/runtime.md").read_text().partition("## Without a GPU")[2]
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    said = re.search(r"It prints `(.*?)`", text)
    assert code is not None
    assert said is not None
    exec(compile(code[1], "docs/runtime.md", "exec"), {})
    assert capsys.readouterr().out.strip() == said[1]
