"""What TMA cannot do still happens, in the simulator under several schedules; nothing is declined silently."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fallback_cases import CASES

from tma_mlir.compile.compiler import compile_text
from tma_mlir.run.arguments import make_arguments
from tma_mlir.run.execute import compare, reference_result, run_simulator
from tma_mlir.run.reference import copy_arguments


@pytest.mark.parametrize("name", CASES)
def test_result_is_what_the_copy_means(name):
    text, given = CASES[name]
    compiled = compile_text(text, keep=("lowered",))
    signature = compiled.signatures["k"]
    values = make_arguments(signature, {int(key[1:]): value for key, value in given.items()})
    expected = reference_result(text, "k.mlir", "k", values)
    for seed in range(3):
        found = copy_arguments(values)
        run_simulator(compiled.texts["lowered"], signature, found, seed=seed)
        assert compare(found, expected) == []
