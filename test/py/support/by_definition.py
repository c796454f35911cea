"""A compiled kernel in the simulator against what its copies mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tma_mlir.compile.compiler import CompiledModule, compile_text
from tma_mlir.run.arguments import make_arguments
from tma_mlir.run.execute import compare, reference_result, run_simulator
from tma_mlir.run.reference import copy_arguments


def run_by_definition(
    text: str, given: Mapping[str, str], chip: str = "sm_90a", seeds: Iterable[int] = (0,)
) -> CompiledModule:
    """Compiles ``text``, simulates its kernel ``k`` once a seed and compares with the copies by definition.

    ``given``: ``{"a0": "zeros"}`` for argument 0, the others are random.
    """
    compiled = compile_text(text, chip, keep=("nvgpu", "lowered"))
    signature = compiled.signatures["k"]
    values = make_arguments(signature, {int(name[1:]): value for name, value in given.items()})
    expected = reference_result(text, "k.mlir", "k", values)
    for seed in seeds:
        found = copy_arguments(values)
        run_simulator(compiled.texts["lowered"], signature, found, seed=seed)
        assert compare(found, expected) == []
    return compiled
