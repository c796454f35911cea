"""Pointers, vectors, structs and complex numbers as parameters, on the GPU."""

import functools
from pathlib import Path

import numpy as np
import pytest

KERNEL = Path(__file__).parents[2] / "lit" / "passes" / "kernel_parameters.mlir"


@functools.cache
def compiled():
    compiler = pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    return compiler.compile_file(KERNEL)


@pytest.mark.parametrize("seed", range(5))
def test_every_parameter_arrives(seed):
    from tma_mlir.runtime import Kernel

    rng = np.random.default_rng(seed)
    memory, vector = (rng.integers(-8, 8, 4).astype(np.float32) for _ in range(2))
    number, factor, real, imaginary = (int(each) for each in rng.integers(-8, 8, 4))
    out = np.zeros(4, np.float32)
    (signature,) = compiled().signatures.values()
    kernel = Kernel(compiled().cubin, signature)
    kernel(memory, vector, (number, factor), complex(real, imaginary), out)
    kernel.unload()
    np.testing.assert_array_equal(out, memory + vector + number * factor + real + imaginary)


def test_a_pointer_is_a_tensor_s_address_or_a_number(torch):
    from tma_mlir.runtime import Kernel

    memory = torch.arange(16, dtype=torch.float32, device="cuda")
    out = torch.zeros(4, device="cuda")
    (signature,) = compiled().signatures.values()
    kernel = Kernel(compiled().cubin, signature)
    for given in (memory[4:], memory[4:].data_ptr()):
        kernel(given, [0] * 4, (0, 0), 0j, out)
        assert out.tolist() == [4, 5, 6, 7]
    kernel.unload()
