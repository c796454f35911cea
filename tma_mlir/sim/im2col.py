"""im2col copies: pixels of a bounding box, each a row of channels (PTX ISA, "im2col mode").

A walk starts at the instruction's coordinates and moves by the traversal strides, W fastest; past the upper corner of
a dimension it goes on at the lower corner with the next one, at last with the next image. Filter offsets are added to
each pixel's place and do not take part in the walk. Shared memory holds the pixels as rows of one box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .engine import BoundTensorMap, TmaFault, Window, check_coordinates, window


def single_pixel(bound: BoundTensorMap) -> BoundTensorMap:
    """The same memory as a tiled map whose box is one pixel."""
    tensor_map = bound.tensor_map
    if tensor_map.im2col is None:
        raise TmaFault("illegal instruction", "an im2col instruction on a tensor map encoded for tiles")
    others = (1,) * (tensor_map.rank - 1)
    tiled = replace(tensor_map, box=(tensor_map.box[0], *others), element_strides=(1, *others), im2col=None)
    return BoundTensorMap(tiled, bound.address)


def pixel_windows(
    bound: BoundTensorMap, coordinates: Sequence[int], offsets: Sequence[int], store: bool
) -> list[Window | None]:
    """The part of every pixel inside the tensor. ``coordinates`` (channel, W, ... N) and ``offsets`` (W, ...) are the
    instruction's; a store has no offsets."""
    check_coordinates(bound, coordinates, store)
    spatial = len(bound.dims) - 2
    shifts = [offset & 0xFFFF for offset in offsets] or [0] * spatial
    if len(shifts) != spatial:
        raise TmaFault("illegal instruction", f"{len(shifts)} im2col offsets for a tensor of rank {len(bound.dims)}")
    pixel = single_pixel(bound)
    found = []
    for *place, image in walk(bound, coordinates[1:]):
        moved = [at + shift for at, shift in zip(place, shifts, strict=True)]
        found.append(window(pixel, (coordinates[0], *moved, image), store))
    return found


def walk(bound: BoundTensorMap, start: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The places (W, H, D, N) of the pixels of one column, without filter offsets."""
    im2col = bound.tensor_map.im2col
    assert im2col is not None
    place = list(start)
    for _ in range(bound.rows):
        yield tuple(place)
        for dimension, (lower, upper) in enumerate(zip(im2col.lower_corner, im2col.upper_corner, strict=True)):
            place[dimension] += bound.tensor_map.element_strides[1 + dimension]
            if place[dimension] < bound.dims[1 + dimension] + upper:
                break
            place[dimension] = lower
        else:
            place[-1] += 1
