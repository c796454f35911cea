"""The checkers agree with what an H200 did and with the plans to beat: on the samples kept here, and on the whole
captures where they lie beside the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
SAMPLES = TOP / "test" / "data"
CAPTURES = TOP.parent / "shared" / "data"


def run(tool: str, *files: Path) -> list[str]:
    """Lines a checker prints; it must exit with 0."""
    for file in files:
        if not file.exists():
            pytest.skip(f"{file.name} is not beside the checkout")
    result = subprocess.run(
        [sys.executable, str(TOP / "tools" / tool), *map(str, files)], capture_output=True, text=True, cwd=TOP
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    return result.stdout.splitlines()


def sample(name: str) -> Path:
    return SAMPLES / f"{name}_sample.jsonl.gz"


def test_encoding_rules_on_the_sample():
    last = run("check_encode.py", sample("h200_encode_tiled"))[-1].split()
    assert last[0] == "agree"
    assert last[1] == last[3]
    assert int(last[3]) > 300


def test_encoding_rules_on_the_whole_capture():
    assert run("check_encode.py", CAPTURES / "h200_encode_tiled.jsonl.gz")[-1] == "agree 34026 of 34026"


def test_engine_on_the_sample():
    files = [sample(f"h200_tma_{kind}") for kind in ("load", "store", "reduce")]
    assert run("check_sim.py", *files)[-1] == "exact 120 of 120"


def test_engine_on_the_whole_capture():
    files = [CAPTURES / f"h200_tma_{kind}.jsonl.gz" for kind in ("load", "store", "reduce")]
    assert run("check_sim.py", *files)[-1] == "exact 11303 of 11303"


def test_plans_on_the_sample():
    run("compare_plans.py", SAMPLES / "plan_corpus_sample.json")


def test_plans_on_the_whole_corpus():
    lines = run("compare_plans.py", CAPTURES / "plan_corpus.json")
    assert lines[-1].startswith("0 rows fall short")


@pytest.mark.parametrize("tool", ["check_encode.py", "check_sim.py", "compare_plans.py"])
def test_a_missing_file_is_one_line(tool, tmp_path):
    result = subprocess.run(
        [sys.executable, str(TOP / "tools" / tool), str(tmp_path / "none")], capture_output=True, text=True, cwd=TOP
    )
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
