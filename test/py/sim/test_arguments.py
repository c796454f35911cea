"""Arguments of a simulated kernel are checked as those of a launch are."""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument
from tma_mlir.dtypes import dtype
from tma_mlir.sim.errors import SimulationError

OUT = MemRefArgument(dtype("i32"), (4,), (1,))


def store(type_: str, value, out):
    """Stores a number of ``type_`` as i32."""
    body = f"""
      %c0 = arith.constant 0 : index
      %wide = arith.extsi %n : {type_} to i32
      memref.store %wide, %out[%c0] : memref<4xi32>"""
    text = kernel(body, f"%n: {type_}, %out: memref<4xi32>", threads=1)
    run(text, KernelSignature("k", (), (ScalarArgument(dtype(type_)), OUT)), [value, out])


@pytest.mark.parametrize(("value", "seen"), [(-128, -128), (127, 127), (255, -1)])
def test_a_number_is_passed_as_its_bytes(value, seen):
    out = np.zeros(4, np.int32)
    store("i8", value, out)
    assert out.tolist() == [seen, 0, 0, 0]


@pytest.mark.parametrize(("value", "message"), [(300, "300 does not fit i8"), (1.5, "1.5 is not an integer")])
def test_a_number_that_does_not_fit_is_refused(value, message):
    with pytest.raises(SimulationError, match=f"argument 0: {message}"):
        store("i8", value, np.zeros(4, np.int32))


@pytest.mark.parametrize(
    ("array", "message"),
    [(np.zeros(5, np.int32), "dimension 0 has 5 elements, needed: 4"), (np.zeros((2, 2), np.int32), "rank 2"),
     (np.zeros(8, np.int32)[::2], "dimension 0 has stride 2 elements, needed: 1"), (7, "give a NumPy array")],
)  # fmt: skip
def test_an_array_that_does_not_fit_is_refused(array, message):
    with pytest.raises(SimulationError, match=f"argument 1.*{message}"):
        store("i8", 1, array)
