"""Descriptors that a kernel changes, and cache policies, in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tma_mlir.sim.errors import SimulationError
from tma_mlir.testing import simulate

EXAMPLE = (Path(__file__).parents[3] / "examples" / "grouped_load.mlir").read_text()


def arguments():
    a, b = (np.arange(n * 64, dtype=np.float16).reshape(n, 64) for n in (40, 24))
    return [a, b, np.zeros(256, np.int8), np.ones((2, 32, 64), np.float16)]


def test_each_block_reads_its_own_matrix_and_its_own_end():
    values = arguments()
    simulate(EXAMPLE, args=values, schedules=5)
    a, b, _, out = values
    np.testing.assert_array_equal(out[0, :24], a[16:])
    np.testing.assert_array_equal(out[1, :8], b[16:])
    assert not out[0, 24:].any()
    assert not out[1, 8:].any()


ADDRESS = "%address = arith.index_cast %address_index : index to i64"
ODD_ADDRESS = """%c8 = arith.constant 8 : index
%odd = arith.addi %address_index, %c8 : index
%address = arith.index_cast %odd : index to i64"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (ADDRESS, ODD_ADDRESS, "not a multiple of 16 B"),
        ("memref.subview %scratch[%offset]", "memref.subview %scratch[%c32]", "needs 128-byte alignment"),
    ],
)
def test_what_the_chip_refuses(old, new, message):
    assert EXAMPLE.count(old) == 1
    with pytest.raises(SimulationError, match=message):
        simulate(EXAMPLE.replace(old, new), args=arguments())


def test_a_fractional_cache_policy_is_any_number():
    text = EXAMPLE.replace("expect_tx,", 'expect_tx, cache = "evict_first:0.5",')
    values = arguments()
    simulate(text, args=values)
    np.testing.assert_array_equal(values[3][0, :24], values[0][16:])
