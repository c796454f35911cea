"""A few seconds of each fuzzer, always on the same seeds; ``make fuzz`` runs them for longer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
@pytest.mark.parametrize(
    ("name", "count"),
    [("planner", 1200), ("arrays", 4000), ("specs", 1500), ("driver", 4000), ("launches", 200), ("commands", 40),
     ("misuse", 60), ("threads", 4),
     ("irtext", 1500), ("bytecode", 60), ("pipelines", 60)],
)  # fmt: skip
def test_a_few_seconds_of(name, count):
    command = [sys.executable, str(ROOT / "test/fuzz/run.py"), name, "--seeds", f"0:{count}", "--workers", "1"]
    made = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "TMA_FUZZ_DRIVER": "fake"}, timeout=300
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert f"{name}: {count} cases" in made.stdout
