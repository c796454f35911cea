"""Descriptors that a kernel changes, on the GPU: the matrices are what the simulator makes of them."""

import functools
from pathlib import Path

import numpy as np
import pytest

KERNEL = Path(__file__).parents[2] / "lit" / "passes" / "rebase_tensor.mlir"
SCRATCH = 3
"""The argument that holds descriptors, whose bytes are the chip's own."""


@functools.cache
def compiled():
    compiler = pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    return compiler.compile_file(KERNEL, keep=compiler.STAGES)


def matrix(rng, rows, columns, pitch):
    """f16 of any bit pattern, ``pitch`` elements from row to row."""
    return rng.integers(0, 1 << 16, (rows, pitch), np.uint16).view(np.float16)[:, :columns]


@pytest.mark.parametrize("seed", range(20))
def test_matrices_of_their_own_sizes_and_pitches_on_one_descriptor(seed):
    from tma_mlir.run.execute import run_simulator
    from tma_mlir.run.reference import copy_arguments
    from tma_mlir.runtime import Kernel

    rng = np.random.default_rng(seed)
    values = []
    for _ in range(3):
        rows, columns = int(rng.integers(20, 60)), 8 * int(rng.integers(16, 40))
        values.append(matrix(rng, rows, columns, columns + 8 * int(rng.integers(0, 4))))
    # The first matrix is the descriptor's template: its own size must not show in the others.
    values.append(np.zeros(256, np.int8))
    (signature,) = compiled().signatures.values()
    expected = copy_arguments(values)
    run_simulator(compiled().texts["lowered"], signature, expected)
    kernel = Kernel(compiled().cubin, signature)
    kernel(*values)
    kernel.unload()
    for index, (found, wanted) in enumerate(zip(values, expected, strict=True)):
        if index != SCRATCH:
            np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))  # type: ignore[union-attr]
