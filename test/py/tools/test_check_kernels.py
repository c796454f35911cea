"""The tool that checks random kernels: what it counts, and where it stops."""

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "check_kernels.py"


def check(folder: Path, *options: str) -> tuple[str, dict]:
    """The last line, and the counts."""
    command = [sys.executable, str(TOOL), "--sim", "--workers", "1", "--seeds", "7:9", "--out", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()[-1], json.loads((folder / "7-9.json").read_text())


def test_kernels_are_counted(tmp_path):
    line, counts = check(tmp_path)
    assert line.startswith("kernels 2, ")
    assert ", equal 2, " in line
    assert ", failures 0 (" in line
    assert (counts["seeds"], counts["next"], counts["kernels"], counts["failures"]) == ([7, 9], None, 2, {})
    assert sum(counts["families"].values()) == 2


def test_no_kernel_is_begun_when_the_time_is_over(tmp_path):
    line, counts = check(tmp_path, "--seconds", "0")
    assert line.endswith("2 left: go on with --seeds 7:9")
    assert (counts["next"], counts["kernels"]) == (7, 0)
