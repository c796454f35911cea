"""The random copies of the GPU tests in the simulator: the bytes are those of the definition."""

import numpy as np
import pytest

from support.random_copies import apply, random_arguments, random_copy
from tma_mlir.compile.compiler import compile_text
from tma_mlir.run.execute import run_simulator


@pytest.mark.parametrize("seed", range(30))
def test_the_simulator_does_what_the_copy_means(seed):
    rng = np.random.default_rng(seed)
    copy = random_copy(rng)
    made = compile_text(copy.text(), "sm_90a", keep=("lowered",), assemble_cubin=False)
    for _ in range(2):
        arguments = random_arguments(copy, rng)
        expected = arguments.copy()
        apply(copy, expected)
        run_simulator(made.texts["lowered"], made.signatures["copy"], arguments.all)
        np.testing.assert_array_equal(arguments.memory, expected.memory)
        np.testing.assert_array_equal(arguments.flat, expected.flat)


def test_every_kind_is_drawn():
    rng = np.random.default_rng(0)
    copies = [random_copy(rng) for _ in range(400)]
    for field, wanted in {
        "element": {"i8", "f8E4M3FN", "f8E5M2", "i16", "f16", "bf16", "i32", "ui32", "f32", "i64", "f64"},
        "swizzle": {"none", "32B", "64B", "128B"},
        "reduce": {"", "add", "min", "max", "and", "or", "xor", "inc", "dec"},
        "store": {False, True}, "nan": {False, True}, "atoms": {False, True}, "aligned": {False, True},
    }.items():  # fmt: skip
        assert {getattr(copy, field) for copy in copies} == wanted
    assert {len(copy.tile) for copy in copies} == {1, 2, 3, 4, 5}
