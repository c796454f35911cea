"""Arithmetic of TMA reductions, for the (data type, operation) pairs that execute on sm_90."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _increment(old: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.where(old >= value, 0, old + 1).astype(old.dtype)


def _decrement(old: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > value), value, old - 1).astype(old.dtype)


_OPERATIONS: dict[str, Combine] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "inc": _increment, "dec": _decrement,
}  # fmt: skip

_TYPES: dict[str, tuple[np.dtype, str]] = {
    "UINT32": (np.dtype(np.uint32), "add min max inc dec and or xor"),
    "INT32": (np.dtype(np.int32), "add min max and or xor"),
    "UINT64": (np.dtype(np.uint64), "add min max and or xor"),
    "INT64": (np.dtype(np.int64), "min max"),
    "FLOAT16": (np.dtype(np.float16), "add min max"),
    "BFLOAT16": (np.dtype(ml_dtypes.bfloat16), "add min max"),
    "FLOAT32": (np.dtype(np.float32), "add"),
    "FLOAT32_FTZ": (np.dtype(np.float32), "add"),
    "TFLOAT32": (np.dtype(np.float32), "add"),
    "TFLOAT32_FTZ": (np.dtype(np.float32), "add"),
    "FLOAT64": (np.dtype(np.float64), "add"),
}

REDUCTIONS: dict[str, frozenset[str]] = {name: frozenset(ops.split()) for name, (_, ops) in _TYPES.items()}
"""The operations that execute on sm_90, by ``CUtensorMapDataType`` suffix."""


def reduce_into(target: np.ndarray, values: np.ndarray, data_type: str, operation: str) -> None:
    """``target = operation(target, values)`` in place; both are uint8 of the same shape, elements last.

    ``KeyError`` if the pair does not execute on sm_90.
    """
    dtype, legal = _TYPES[data_type]
    if operation not in legal.split():
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
