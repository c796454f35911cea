"""Arithmetic of TMA reductions, for the (data type, operation) pairs that execute on sm_90."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dtypes import DRIVER_TYPES
from ..hardware import REDUCTIONS

Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _increment(old: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.where(old >= value, 0, old + 1).astype(old.dtype)


def _decrement(old: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > value), value, old - 1).astype(old.dtype)


_OPERATIONS: dict[str, Combine] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "inc": _increment, "dec": _decrement,
}  # fmt: skip


def reduce_into(target: np.ndarray, values: np.ndarray, data_type: str, operation: str) -> None:
    """``target = operation(target, values)`` in place; both are uint8 of the same shape, elements last.

    ``KeyError`` if the pair does not execute on sm_90.
    """
    dtype = DRIVER_TYPES[data_type].numpy
    if operation not in REDUCTIONS[data_type]:
        raise KeyError(operation)
    combine = _OPERATIONS[operation]
    new = np.ascontiguousarray(values).view(dtype)
    if _rows_overlap(target):
        # Rows that share bytes are combined one after the other, so that none is lost.
        for index in np.ndindex(target.shape[:-1]):
            row = target[index]
            row[:] = combine(row.copy().view(dtype), new[index]).view(np.uint8)
        return
    old = np.ascontiguousarray(target).view(dtype)
    with np.errstate(all="ignore"):
        target[...] = np.ascontiguousarray(combine(old, new)).view(np.uint8)


def _rows_overlap(target: np.ndarray) -> bool:
    """Whether two elements of the strided view may be the same byte (sorted strides must nest)."""
    reach = 0
    for stride, extent in sorted(zip(target.strides, target.shape, strict=True)):
        if extent == 1:
            continue
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False
