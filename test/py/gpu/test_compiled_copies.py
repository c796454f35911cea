"""Random copies through the planner and the compiler: the GPU's bytes are those of the definition and the simulator's.

``TMA_MLIR_RANDOM_COPIES`` of them, or 5,000; each kernel is launched for 25 tensors. One copy in
``TMA_MLIR_SIMULATE_EVERY``, or 5, is simulated too, which takes 100 times as long.
"""

import os

import numpy as np
import pytest

from support.random_copies import apply, random_arguments, random_copy
from tma_mlir.runtime import Kernel, driver

COPIES = int(os.environ.get("TMA_MLIR_RANDOM_COPIES", "5000"))
LAUNCHES = 25
BLOCKS = 20
SIMULATED = int(os.environ.get("TMA_MLIR_SIMULATE_EVERY", "5"))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_gpu_does_what_the_copy_means(block, record_property):
    compiler = pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    from tma_mlir.run.execute import run_simulator

    rng = np.random.default_rng(5000 + block)
    launched = simulated = 0
    while launched < COPIES // BLOCKS:
        copy = random_copy(rng)
        made = compiler.compile_text(copy.text(), driver.native_chip(), keep=("lowered",))
        signature = made.signatures["copy"]
        kernel = Kernel(made.cubin, signature)
        for _ in range(LAUNCHES):
            arguments = random_arguments(copy, rng)
            expected, seen = arguments.copy(), arguments.copy()
            apply(copy, expected)
            kernel(*seen.all)
            shown = f"{copy}, shape {seen.tensor.shape}, strides {seen.tensor.strides}, start {seen.starts}"
            np.testing.assert_array_equal(seen.memory, expected.memory, shown)
            np.testing.assert_array_equal(seen.flat, expected.flat, shown)
            if launched % SIMULATED == 0:
                run_simulator(made.texts["lowered"], signature, arguments.all)
                np.testing.assert_array_equal(arguments.memory, expected.memory, shown)
                np.testing.assert_array_equal(arguments.flat, expected.flat, shown)
                simulated += 1
            launched += 1
        kernel.unload()
    record_property("measured", f"{launched} copies of {launched // LAUNCHES} kernels equal, {simulated} simulated")
