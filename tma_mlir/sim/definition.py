"""What a copy means, element by element: where each one lies in global and in shared memory.

Written from the definition of ``tile.copy_async`` alone (two layouts, a swizzle on addresses, a fill), without tensor
maps, so that it can judge them. It restates facts (the NaN pattern) on purpose, as an independent check.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .definition_modes import mode_index

NAN_PATTERN = np.uint16(0x7FF7)
"""What the hardware writes over every 16 bits of an element for a NaN fill (docs/hardware.md, execution rule 6)."""


@dataclass(frozen=True)
class Elements:
    """Absolute byte addresses of matching elements. ``inside``: the global element exists."""

    global_addresses: np.ndarray
    shared_addresses: np.ndarray
    inside: np.ndarray
    element_bytes: int

    @property
    def tile_bytes(self) -> int:
        """Bytes of all elements, those outside of the tensor counted in."""
        return self.inside.size * self.element_bytes

    def part(self, chosen: np.ndarray | slice) -> Elements:
        """Some of the elements."""
        return Elements(
            self.global_addresses[chosen], self.shared_addresses[chosen], self.inside[chosen], self.element_bytes
        )


@dataclass(frozen=True)
class CopyOperands:
    """Operands of a reference copy: two pointers, the mbarrier of a load, numbers in memref order, and the mask of a
    multicast."""

    global_pointer: int
    shared_pointer: int
    mbarrier: int | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    global_starts: tuple[int, ...]
    shared_starts: tuple[int, ...]
    mask: int | None = None


def read_operands(attributes: Mapping[str, Any], operands: Sequence[int]) -> CopyOperands:
    """Splits the flat operands: pointers and the mask, ``rank`` extents and strides, the global offsets, those of
    ``shared_sizes``."""
    is_load = attributes["direction"] == "load"
    before = 2 + is_load + bool(attributes["multicast"])
    pointers, numbers = operands[:before], [_signed(each) for each in operands[before:]]
    rank = int(attributes["rank"])
    last = len(numbers) - len(attributes["shared_sizes"])
    return CopyOperands(
        pointers[0],
        pointers[1],
        pointers[2] if is_load else None,
        tuple(numbers[:rank]),
        tuple(numbers[rank : 2 * rank]),
        tuple(numbers[2 * rank : last]),
        tuple(numbers[last:]),
        pointers[3] & 0xFFFF if attributes["multicast"] else None,
    )


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def elements(attributes: Mapping[str, Any], operands: CopyOperands) -> Elements:
    """Every element of the copy, in row-major order of its sizes."""
    size = int(attributes["element_bytes"])
    sizes = tuple(attributes["sizes"])
    if attributes["mode"] == "tile":
        index = _grid(sizes, operands.global_starts)
    else:
        index = mode_index(attributes, operands.shape, operands.global_starts)
    inside = np.ones(math.prod(sizes), dtype=bool)
    for values, extent in zip(index, operands.shape, strict=True):
        inside &= (values >= 0) & (values < extent)
    extents = attributes.get("global_extents", operands.shape)
    strides = attributes.get("global_strides", operands.strides)
    offsets = _offsets(index, operands.shape, extents, strides)

    shared_index = _grid(tuple(attributes["shared_sizes"]), operands.shared_starts)
    shared = operands.shared_pointer + size * _offsets(
        shared_index, attributes["shared_shape"], attributes["shared_extents"], attributes["shared_strides"]
    )
    if attributes["swizzle"]:
        bits, base, shift = attributes["swizzle"]
        shared ^= ((shared >> (base + shift)) & ((1 << bits) - 1)) << base
    return Elements(operands.global_pointer + size * offsets, shared, inside, size)


def _grid(sizes: Sequence[int], starts: Sequence[int]) -> list[np.ndarray]:
    axes = [start + np.arange(extent, dtype=np.int64) for start, extent in zip(starts, sizes, strict=True)]
    return [each.reshape(-1) for each in np.meshgrid(*axes, indexing="ij")]


def _offsets(
    index: Sequence[np.ndarray], shape: Sequence[int], extents: Sequence[int], strides: Sequence[int]
) -> np.ndarray:
    """Element offsets: directly where the layout has the tensor's shape, else through the row-major flat index."""
    first = index[0] if index else np.zeros(1, np.int64)  # rank 0: one element
    if tuple(extents) == tuple(shape):
        return sum((i * stride for i, stride in zip(index, strides, strict=True)), np.zeros_like(first))
    flat = np.zeros_like(first)
    for values, extent in zip(index, shape, strict=True):
        flat = flat * extent + values
    result = np.zeros_like(flat)
    for extent, stride in zip(reversed(extents), reversed(strides), strict=True):
        result += (flat % extent) * stride
        flat //= extent
    return result


def fill_bytes(attributes: Mapping[str, Any]) -> np.ndarray:
    """The bytes of one element outside of the tensor."""
    size = int(attributes["element_bytes"])
    if attributes["fill"] == "nan":
        return np.full(size // 2, NAN_PATTERN).view(np.uint8)
    return np.zeros(size, np.uint8)
