"""Random whole kernels in the simulator: the bytes are those of the definition, and nothing is reported.

tools/check_kernels.py tries as many as are wanted.
"""

import pytest

from support.kernel_checks import check_kernel

SEEDS = 48
BLOCKS = 6


@pytest.mark.parametrize("block", range(BLOCKS))
def test_kernels_do_what_they_mean(block):
    outcomes = [check_kernel(seed, assemble=False) for seed in range(block, SEEDS, BLOCKS)]
    wrong = [f"seed {each.seed} ({each.family}): {each.failure}" for each in outcomes if each.failure]
    assert not wrong, "\n".join(wrong)
