"""Random whole kernels on the GPU: the bytes are those of the definition and of the simulator.

``TMA_MLIR_RANDOM_KERNELS`` of them, or 400. tools/check_kernels.py --gpu does more of them, in many processes.
"""

import os

import pytest

KERNELS = int(os.environ.get("TMA_MLIR_RANDOM_KERNELS", "400"))
BLOCKS = 8


@pytest.mark.parametrize("block", range(BLOCKS))
def test_kernels_do_what_they_mean(block, record_property):
    pytest.importorskip("tma_mlir.compile.compiler", reason="no MLIR here", exc_type=ImportError)
    from support.kernel_checks import check_kernel

    checked = refused = 0
    for seed in range(block, KERNELS, BLOCKS):
        outcome = check_kernel(seed, gpu=True)
        # One that lost the context ends the test; the next runs in another process.
        assert not outcome.failure, f"seed {seed} ({outcome.family}): {outcome.failure}\n{outcome.text}"
        checked += 1
        refused += len(outcome.refused)
    record_property("measured", f"{checked} kernels equal, {refused} refused and replaced")
