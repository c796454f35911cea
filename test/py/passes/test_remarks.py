"""Nothing is declined silently: every copy of every example says which way it takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((TOP / "examples").glob("**/*.mlir"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_copy_has_a_remark_at_its_place(path):
    text = path.read_text()
    lines = [number for number, line in enumerate(text.splitlines(), 1) if '"tile.copy_async"(' in line]
    assert lines
    command = [sys.executable, str(TOP / "tools" / "tma-opt"), str(path), "--tile-plan-copies", "--tma-remarks"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    said = re.findall(r":(\d+):\d+: remark: copy takes (\w+)", result.stderr)
    assert [int(line) for line, _ in said] == lines
    assert {way for _, way in said} <= {"tma", "bulk", "cp_async", "simt", "empty"}
