"""``check_plan`` for gathers, scatters and im2col copies: what is wanted, and what each instruction moves.

Written from the PTX ISA's description of the modes; shares no code with the planner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..layout.expr import evaluate
from .copy_plan import IssueGroup
from .copy_request import CopyRequest, Gather, Im2colWalk
from .enums import Direction, InstructionMode
from .tensor_map import TensorMap


def wanted_coordinates(request: CopyRequest, values: Mapping[str, int]) -> np.ndarray:
    """Tensor coordinates (memref order) of every element of the tile, in row-major order of the tile."""
    starts = [evaluate(start, values) for start in request.global_region.starts]
    count = request.global_region.extents[-1]
    columns = starts[-1] + np.arange(count)
    if isinstance(request.kind, Gather):
        rows = np.array([evaluate(row, values) for row in request.kind.rows])
        return np.stack([np.repeat(rows, count), np.tile(columns, len(rows))], axis=1)
    walk = request.kind
    assert isinstance(walk, Im2colWalk)
    shape = [evaluate(extent, values) for extent in request.global_shape]
    first = list(walk.lower_corner)
    last = [extent - 1 + upper for extent, upper in zip(shape[1:-1], walk.upper_corner, strict=True)]
    offsets = [0, *(evaluate(offset, values) for offset in walk.filter_offsets)]
    place = starts[:-1]
    pixels = []
    for _ in range(request.global_region.extents[-2]):
        pixels.append([at + offset for at, offset in zip(place, offsets, strict=True)])
        place = _next_pixel(place, first, last, walk.traversal_strides)
    return np.concatenate([np.repeat(pixels, count, axis=0), np.tile(columns, len(pixels))[:, None]], axis=1)


def _next_pixel(place: list[int], first: list[int], last: list[int], strides: tuple[int, ...]) -> list[int]:
    """The pixel after ``place`` = (N, ..., W): W moves fastest."""
    place = list(place)
    for dimension in range(len(first) - 1, -1, -1):
        place[dimension + 1] += strides[dimension]
        if place[dimension + 1] <= last[dimension]:
            return place
        place[dimension + 1] = first[dimension]
    place[0] += 1
    return place


def row_boxes(
    tensor_map: TensorMap,
    group: IssueGroup,
    start: list[int],
    shared: int,
    direction: Direction,
    values: Mapping[str, int],
) -> list[tuple[TensorMap, list[int], int]]:
    """One instruction as boxes of single rows: a tiled map, its start and its place in the shared tile.

    Rows are ``row_pitch_bytes`` apart, from ``shared`` on.
    """
    pitch = tensor_map.row_pitch_bytes
    if group.mode in (InstructionMode.GATHER4, InstructionMode.SCATTER4):
        column, *rows = start
        return [(tensor_map, [column, row], shared + index * pitch) for index, row in enumerate(rows)]
    im2col = tensor_map.im2col
    assert im2col is not None
    dims = [evaluate(dim, values) for dim in tensor_map.dims]
    offsets = [evaluate(offset, values) for offset in group.im2col_offsets] or [0] * (len(dims) - 2)
    tiled = replace(
        tensor_map, box=(tensor_map.box[0], *[1] * (len(dims) - 1)), element_strides=(1,) * len(dims), im2col=None
    )
    channel, *place = start
    boxes = []
    for pixel in range(tensor_map.box[1]):
        moved = [at + offset for at, offset in zip(place, [*offsets, 0], strict=True)]
        boxes.append((tiled, [channel, *moved], shared + pixel * pitch))
        for dimension, (low, upper) in enumerate(zip(im2col.lower_corner, im2col.upper_corner, strict=True)):
            place[dimension] += tensor_map.element_strides[dimension + 1]
            if place[dimension] <= dims[dimension + 1] - 1 + upper:
                break
            place[dimension] = low
        else:
            place[-1] += 1
    return boxes
