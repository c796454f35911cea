"""Cutting one mode into boxes: factors of at most 256, and chunks when one box is not enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..hardware import MAX_BOX_EXTENT as BOX_LIMIT


@lru_cache(maxsize=4096)
def factors(count: int, dimensions: int, inner_multiple: int = 1, outer_divisor: int = 0) -> tuple[int, ...] | None:
    """``count`` as a product of at most ``dimensions`` box dimensions, innermost first, as few and as large as can be.

    The innermost is a multiple of ``inner_multiple``. ``outer_divisor``, where not 0, must be a multiple of the product
    of all but the last factor: the tensor's end and the start are then whole numbers of the outermost dimension.
    """
    if dimensions < 1 or count % inner_multiple:
        return None
    if count <= BOX_LIMIT:
        return (count,)
    for wanted in range(2, dimensions + 1):
        found = _exactly(count, wanted, inner_multiple, outer_divisor)
        if found:
            return found
    return None


def _exactly(count: int, dimensions: int, inner_multiple: int, outer_divisor: int) -> tuple[int, ...] | None:
    if dimensions == 1:
        return (count,) if count <= BOX_LIMIT else None
    for first in range(BOX_LIMIT, 1, -1):
        if count % first or first % inner_multiple or (outer_divisor and outer_divisor % first):
            continue
        if count // first > BOX_LIMIT ** (dimensions - 1):
            break
        rest = _exactly(count // first, dimensions - 1, 1, outer_divisor // first if outer_divisor else 0)
        if rest:
            return (first, *rest)
    return None


@dataclass(frozen=True)
class Chunks:
    """A mode cut along its length: ``starts`` of boxes of ``extent`` steps, ``rest`` steps in one more box at the end.

    ``starts`` is (count, step) of the regular ones and, where boxes overlap unevenly, one extra start.
    """

    extent: int
    count: int
    step: int
    extra_start: int | None
    rest: int

    @property
    def boxes(self) -> int:
        return self.count + (self.extra_start is not None) + (self.rest > 0)


@lru_cache(maxsize=4096)
def chunks(
    count: int,
    dimensions: int,
    inner_multiple: int,
    outer_divisor: int,
    step_multiple: int,
    largest: int,
    may_overlap: bool,
) -> Chunks | None:
    """``count`` steps in the fewest boxes of at most ``largest`` steps that start at multiples of ``step_multiple``.

    Equal boxes are preferred, then overlapping ones (one tensor map), then a shorter last box (two tensor maps).
    """

    def fits(extent: int) -> bool:
        return 0 < extent <= largest and factors(extent, dimensions, inner_multiple, outer_divisor) is not None

    if fits(count):
        return Chunks(count, 1, 0, None, 0)
    largest = min(largest, BOX_LIMIT**dimensions, count)
    if largest < 1:
        return None
    fewest = -(-count // largest)
    for boxes in range(max(fewest, 2), min(count, fewest + 64) + 1):
        least = -(-count // boxes)
        if count % boxes == 0 and least % step_multiple == 0 and fits(least):
            return Chunks(least, boxes, least, None, 0)
        if may_overlap:
            found = _overlapping(count, boxes, least, largest, step_multiple, fits)
            if found:
                return found
        found = _with_rest(count, boxes, least, largest, step_multiple, fits)
        if found:
            return found
    extent = largest - largest % step_multiple
    while extent > 0 and not fits(extent):
        extent -= step_multiple
    if extent <= 0:
        return None
    rest = count % extent
    return Chunks(extent, count // extent, extent, None, rest) if not rest or fits(rest) else None


def _overlapping(count, boxes, least, largest, step_multiple, fits) -> Chunks | None:
    for extent in range(least, min(largest, 2 * least + 256) + 1):
        last = count - extent
        if last % step_multiple or not fits(extent):
            continue
        if boxes == 2:
            return Chunks(extent, 2, last, None, 0)
        if extent % step_multiple == 0:
            return Chunks(extent, boxes - 1, extent, last, 0)
    return None


def _with_rest(count, boxes, least, largest, step_multiple, fits) -> Chunks | None:
    most = min(largest, (count - 1) // (boxes - 1))
    for extent in range(most - most % step_multiple, least - 1, -step_multiple):
        if extent and fits(extent) and fits(count - (boxes - 1) * extent):
            return Chunks(extent, boxes - 1, extent, None, count - (boxes - 1) * extent)
    return None
