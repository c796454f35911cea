"""What a copy makes of the values it moves: rounding to tf32, and reductions with what is in memory.

Written from docs/dialect.md, docs/hardware.md and the PTX ISA, without the code of the simulated TMA engine, so that it
can judge it.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

TF32_NAN = 0x7FFFE000
"""What a load that rounds makes of every NaN (docs/hardware.md, execution rule 8)."""


def round_to_tf32(values: np.ndarray) -> np.ndarray:
    """f32 values to the nearest with 10 bits of fraction, ties to the even one. Overflow is infinity."""
    words = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    unit = 1 << 13
    down = words - words % unit
    rest = words - down
    tie_up = down // unit % 2 == 1
    up = (rest > unit // 2) | ((rest == unit // 2) & tie_up)
    rounded = np.where(np.isnan(values), TF32_NAN, down + np.where(up, unit, 0))
    return rounded.astype(np.uint32).view(np.float32)


def _increment(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Counts up, and starts again at 0 after the limit (PTX ISA, red.inc)."""
    return np.where(old < limit, old + 1, 0).astype(old.dtype)


def _decrement(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Counts down, and starts again at the limit after 0, and from above the limit (PTX ISA, red.dec)."""
    return np.where((old > 0) & (old <= limit), old - 1, limit).astype(old.dtype)


_REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": lambda old, new: old + new,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": _increment,
    "dec": _decrement,
}


def reduced(kind: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """``old`` in memory combined with ``new``, both of the element type of the copy."""
    with np.errstate(all="ignore"):
        return _REDUCTIONS[kind](old, new).astype(old.dtype)


class FloatSums:
    """What reductions have added to floats in memory, and how far sums in another order may lie from these.

    Blocks reduce in any order, and floating-point addition is not associative. A sum of n additions lies within
    n*u/(1 - n*u) * sum(|terms|) of the exact one, whatever the order (u: unit roundoff); two sums lie within twice that
    of each other. One addition is the same in any order.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[int, str], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def record(self, memory: np.ndarray, offsets: np.ndarray, old: np.ndarray, new: np.ndarray) -> None:
        """``new`` is added to ``old`` at byte ``offsets`` of ``memory`` (uint8), each once."""
        size = old.dtype.itemsize
        key = (memory.__array_interface__["data"][0], old.dtype.name)
        if key not in self._sums:
            elements = -(-memory.size // size)
            self._sums[key] = (memory, np.zeros(elements, np.int64), np.zeros(elements))
        _, counts, magnitudes = self._sums[key]
        places = offsets // size
        first = counts[places] == 0
        magnitudes[places[first]] = np.abs(old[first].astype(np.float64))
        counts[places] += 1
        magnitudes[places] += np.abs(new.astype(np.float64))

    def slack(self, array: np.ndarray) -> np.ndarray | None:
        """For each element of ``array`` how far another order may lie from it; None where nothing depends on one."""
        start = array.__array_interface__["data"][0]
        for (first, name), (memory, counts, magnitudes) in self._sums.items():
            if name != array.dtype.name or not first <= start < first + memory.size:
                continue
            roundoff = counts * float(ml_dtypes.finfo(array.dtype).eps) / 2
            bound = np.where(counts > 1, 2 * roundoff / (1 - np.minimum(roundoff, 0.5)) * magnitudes, 0.0)
            if not bound.any():
                return None
            size = array.itemsize
            strides = [stride // size * bound.itemsize for stride in array.strides]
            return np.ndarray(array.shape, bound.dtype, bound, (start - first) // size * bound.itemsize, strides)
        return None
