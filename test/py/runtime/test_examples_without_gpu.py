"""The example programs where there is no GPU: one clear line, and no failure."""

import subprocess
import sys
from pathlib import Path

import pytest

from tma_mlir.runtime import available

PROGRAMS = sorted((Path(__file__).parents[3] / "examples" / "python").glob("*.py"))


@pytest.mark.skipif(available(), reason="there is a GPU: test/py/gpu runs them")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_without_a_gpu_a_program_says_what_is_missing(path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: ")
    assert done.stdout.count("\n") == 1


def test_there_are_programs():
    assert {path.stem for path in PROGRAMS} >= {"torch_inplace", "cupy_copy", "cuda_graph", "saved_artifact"}
