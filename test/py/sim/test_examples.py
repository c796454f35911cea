"""No example of the repository raises an alarm, under 20 schedules, and every schedule writes the same bytes."""

import re
from pathlib import Path

import pytest

from tma_mlir.compile.compiler import compile_file
from tma_mlir.run.arguments import make_arguments
from tma_mlir.sim.schedules import simulate_schedules

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.mlir"))
SCHEDULES = 20
FEWER = {"matrix_tile": 3, "gemm_bf16": 8}
"""Schedules of the examples that take seconds for each."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_alarm(path):
    given = dict(re.findall(r"--arg (\d+)=(\S+)", path.read_text()))
    compiled = compile_file(path, keep=("lowered",), assemble_cubin=False)
    for signature in compiled.signatures.values():
        values = make_arguments(signature, {int(index): value for index, value in given.items()})
        result = simulate_schedules(
            compiled.texts["lowered"], signature, values, schedules=FEWER.get(path.stem, SCHEDULES)
        )
        assert result.findings == ()
