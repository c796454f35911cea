"""Tables over a region's bytes: who last wrote, read and updated each unit.

A unit is 16 bytes (every copy of the TMA covers whole ones) until an access needs smaller ones: then the whole table is
divided, down to single bytes. So the tables are exact in every byte, and small where accesses are wide.
"""

from __future__ import annotations

import numpy as np

from .accesses import LANE_BITS, AccessLog, distinct
from .machine import Warp

UNIT_SHIFT = 4
"""log2 of the widest unit."""

SPARSE_FROM = 1 << 16
"""Entries that are copied together when a table is divided; none of them, where all are zero."""

Place = slice | np.ndarray
"""Units of a table: a range, or indices of any shape."""


def unit_shift(*numbers: int) -> int:
    """log2 of the widest unit that divides all ``numbers``."""
    bits = 1 << UNIT_SHIFT
    for number in numbers:
        bits |= number
    return (bits & -bits).bit_length() - 1


class Units:
    """``written``, ``read``, ``updated``: access numbers with lanes, one entry a unit. ``updated`` (atomics and
    reductions, which do not race with each other) exists from the first of them on."""

    def __init__(self, size: int, log: AccessLog):
        self.size = size
        self.log = log
        self.shift = UNIT_SHIFT
        count = -(-size >> UNIT_SHIFT)
        self.written = np.zeros(count, np.int32)
        self.read = np.zeros(count, np.int32)
        self.updated: np.ndarray | None = None
        self.marked = False
        """Whether there are reads or updates at all."""

    def refine(self, shift: int) -> None:
        """Make units of ``1 << shift`` bytes or less."""
        if shift >= self.shift:
            return
        parts = 1 << self.shift - shift
        self.shift = shift
        self.written = _divided(self.written, parts)
        self.read = _divided(self.read, parts)
        if self.updated is not None:
            self.updated = _divided(self.updated, parts)

    def places(self, offset: np.ndarray, size: int, shift: int) -> np.ndarray:
        """Units of accesses of ``size`` bytes at each offset: as ``offset``, with an axis more for several units."""
        if shift < self.shift:
            self.refine(shift)
        units = offset >> self.shift
        count = size >> self.shift
        return units if count == 1 else units[:, None] + np.arange(count)

    def interval(self, offset: int, size: int) -> slice:
        """Units of ``size`` bytes at ``offset``."""
        self.refine(unit_shift(offset, size))
        return slice(offset >> self.shift, offset + size >> self.shift)

    def chunks(self, chunks: Place) -> Place:
        """Units of 16-byte chunks."""
        scale = UNIT_SHIFT - self.shift
        if not scale:
            return chunks
        if isinstance(chunks, slice):
            return slice(chunks.start << scale, chunks.stop << scale)
        parts = 1 << scale
        units = np.repeat(chunks << scale, parts)
        for part in range(1, parts):
            units[part::parts] += part
        return units

    def window(self, table: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
        """A strided piece of a table; the last of ``shape`` and ``strides`` (bytes) is contiguous."""
        size = 1 << self.shift
        counts = (*shape[:-1], shape[-1] >> self.shift)
        steps = (*(s // size * 4 for s in strides[:-1]), 4)
        return np.ndarray(counts, np.int32, table, (offset >> self.shift) * 4, steps)

    def mark(
        self, w: Warp, table: np.ndarray, place: Place | tuple[()], number: int, old: set[int] | None = None
    ) -> None:
        """Add access ``number`` to the reads (or updates) of ``place``; ``old`` are the numbers there."""
        self.marked = True
        if old is None:
            old = distinct(table[place])
        if len(old) == 1:
            (one,) = old
            if one != number:
                table[place] = self.log.merged(w, one, number) << LANE_BITS
            return
        merged = {each: self.log.merged(w, each, number) << LANE_BITS for each in old}
        if len(set(merged.values())) == 1:
            table[place] = next(iter(merged.values()))
            return
        values = table[place]
        if len(merged) > 16:
            known, where = np.unique(values >> LANE_BITS, return_inverse=True)
            table[place] = np.array([merged[each] for each in known.tolist()], np.int32)[where].reshape(values.shape)
            return
        result = np.empty_like(values)
        for each, code in merged.items():
            result[values == each << LANE_BITS] = code
        table[place] = result

    def updates(self) -> np.ndarray:
        """The table ``updated``, made if it does not exist yet."""
        if self.updated is None:
            self.updated = np.zeros_like(self.written)
        return self.updated

    def clear(self, place: Place | tuple[()]) -> None:
        """A write that comes after all reads and updates of ``place`` stands for them from now on."""
        if not self.marked:
            return
        self.read[place] = 0
        if self.updated is not None:
            self.updated[place] = 0


def _divided(table: np.ndarray, parts: int) -> np.ndarray:
    """Each entry ``parts`` times. A large table is mostly zeros that take no memory until they are touched: they stay
    so."""
    if table.size < SPARSE_FROM:
        return np.repeat(table, parts)
    made = np.zeros(table.size * parts, table.dtype)
    for start in range(0, table.size, SPARSE_FROM):
        piece = table[start : start + SPARSE_FROM]
        if piece.any():
            made[start * parts : (start + piece.size) * parts] = np.repeat(piece, parts)
    return made
