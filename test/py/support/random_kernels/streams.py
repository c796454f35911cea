"""What arrives in a tile: a load of a box or of im2col pixels, step by step, and its meaning by index arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .copies import copy_async, prefetch_async
from .starts import Condition, Point, Position, Start
from .tensors import Tensor, box
from .text import Operand, Writer
from .tiles import Tile


@dataclass(frozen=True)
class Im2col:
    """The bounding box of an im2col load, memref order."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Load:
    """A tile of ``tensor`` for each step. ``starts``: of the global side, with im2col the filter offsets too.

    ``attributes`` are the copy's, without those of the tile.
    """

    tensor: Tensor
    tile: Tile
    sizes: tuple[int, ...]
    starts: list[Start]
    attributes: list[str] = field(default_factory=list)
    nan: bool = False
    tf32: bool = False
    im2col: Im2col | None = None
    predicate: Condition | None = None
    hint: bool = False
    prefetched: bool = False
    multicast: bool = False

    @property
    def bytes(self) -> int:
        return math.prod(self.sizes) * self.tensor.element_bytes

    @property
    def fill(self) -> bytes:
        """Zeros, or 0x7FF7 over every 16 bits (docs/hardware.md, execution rule 6)."""
        return b"\xf7\x7f" * (self.tensor.element_bytes // 2) if self.nan else bytes(self.tensor.element_bytes)

    def issue(self, w: Writer, at: Point, barrier: tuple[str, Operand], extra: Sequence[str], mask: str | None) -> None:
        hint = w.value(EVICT_FIRST, "i64") if self.hint else None
        predicate = self.predicate.text(w, at) if self.predicate else None
        source = self.tensor.name, self.tensor.type, [start.text(w, at) for start in self.starts]
        attributes = [*self.attributes, self.tile.attribute, *extra]
        copy_async(
            w, source, self.tile.operand(w, at.stage), self.sizes, attributes, barrier=barrier, predicate=predicate,
            mask=mask, hint=hint,
        )  # fmt: skip

    def prefetch(self, w: Writer, at: Point) -> None:
        starts = [start.text(w, at) for start in self.starts]
        mode = [each for each in self.attributes if each.startswith(("mode", "im2col"))]
        prefetch_async(w, (self.tensor.name, self.tensor.type, starts), self.sizes, mode)

    def index(self, at: Position) -> list[np.ndarray]:
        """Coordinates of every element, row-major."""
        starts = [start.at(at) for start in self.starts]
        if self.im2col is None:
            return box(starts, self.sizes)
        return pixels(self.im2col, self.tensor.shape, starts, self.sizes)

    def values(self, at: Position) -> np.ndarray:
        """The bytes of every element that arrives, a row each."""
        found = self.tensor.read(self.index(at), self.fill)
        return rounded_to_tf32(found) if self.tf32 else found

    def arrive(self, tile: np.ndarray, at: Position) -> None:
        """Puts what arrives into ``tile``, its bytes as they lie."""
        if self.predicate is not None and not self.predicate.at(at):
            return
        addresses = self.tile.addresses()
        tile[addresses[:, None] + np.arange(self.tensor.element_bytes)] = self.values(at)


EVICT_FIRST = 0x12F0000000000000
"""The policy that createpolicy.fractional.L2::evict_first gives for all lines (CUTLASS)."""


def pixels(im2col: Im2col, shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int]) -> list[np.ndarray]:
    """Walks the bounding box as the PTX ISA describes it: W fastest, then the next dimension, at last the image."""
    rank = len(shape)
    place, offsets = list(starts[: rank - 1]), starts[rank:]
    rows = []
    for _ in range(sizes[0]):
        rows.append([place[0], *(at + offset for at, offset in zip(place[1:], offsets, strict=True))])
        for d in range(rank - 2, 0, -1):
            place[d] += im2col.strides[d - 1]
            if place[d] < shape[d] + im2col.upper[d - 1]:
                break
            place[d] = im2col.lower[d - 1]
        else:
            place[0] += 1
    columns = [np.repeat(each, sizes[1]) for each in np.array(rows).T]
    return [*columns, np.tile(starts[rank - 1] + np.arange(sizes[1]), sizes[0])]


def rounded_to_tf32(values: np.ndarray) -> np.ndarray:
    """f32 to 10 bits of mantissa, to nearest even; NaNs become 0x7FFFE000 (docs/hardware.md, execution rule 8)."""
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    rounded = bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(is_nan, 0x7FFFE000, rounded).astype(np.uint32).view(np.uint8).reshape(values.shape)
