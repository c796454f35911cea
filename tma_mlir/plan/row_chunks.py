"""A tile of rows as boxes of whole rows side by side, for instructions that name rows one by one."""

from __future__ import annotations

from dataclasses import dataclass

from ..layout.algebra import LayoutError, group_by_shape, slice_modes
from ..layout.expr import constant
from ..layout.swizzle import swizzle_mode
from . import rules
from .copy_request import CopyRequest
from .declined import PlanDeclined
from .findings import Status
from .modes import Value


@dataclass(frozen=True)
class RowChunks:
    """``columns`` neighbouring columns of every row are one box; ``loops`` are (count, columns, shared bytes) from one
    box to the next, outermost first."""

    columns: int
    loops: tuple[tuple[int, int, int], ...]
    shared_offset_bytes: Value


def row_chunks(request: CopyRequest) -> RowChunks:
    """The shared region, whose last two dimensions are rows and columns. Raises ``PlanDeclined``."""
    size = request.dtype.bytes
    try:
        row_modes, column_modes, offset = _region_modes(request)
    except LayoutError as error:
        raise PlanDeclined((rules.common_pieces(str(error)).finding,)) from None
    if not column_modes:
        column_modes = [(1, 1)]
    columns, stride = column_modes[0]
    _demand(rules.unit_stride(stride * size, size))
    swizzle = swizzle_mode(request.shared_swizzle)
    span = swizzle.span_bytes if swizzle is not None else 0
    loops: list[tuple[int, int, int]] = []
    done = columns
    if span and columns * size > span and columns * size % span == 0:
        loops.append((columns * size // span, span // size, span))
        columns = span // size
    for extent, step in column_modes[1:]:
        loops.append((extent, done, step * size))
        done *= extent
    pitch = row_modes[0][1] * size if row_modes else 0
    if len(row_modes) > 1:
        _demand(rules.common_pieces("rows of the tile at several distances"))
    if row_modes:
        _demand(rules.row_pitch(pitch, max(columns * size, span)))
    return RowChunks(columns, tuple(reversed(loops)), offset * size)


def _region_modes(request: CopyRequest) -> tuple[list[tuple[int, int]], list[tuple[int, int]], Value]:
    """Rows and columns as (extent, stride in elements), innermost first, and the offset of the first element."""
    dims = group_by_shape(request.shared_layout, request.shared_shape)
    region = request.shared_region
    offset = request.shared_layout.offset
    sliced: list[list[tuple[int, int]]] = [[], []]
    for dim, start, extent in zip(dims, region.starts, region.extents, strict=True):
        taken, first = slice_modes(dim, start, extent)
        offset = offset + first
        known: list[tuple[int, int]] = []
        for mode_extent, stride in taken:
            step = constant(stride)
            if step is None:
                raise LayoutError(f"shared-memory stride {stride} is not known")
            known.append((mode_extent, step))
        sliced.append(known)
    return sliced[-2], sliced[-1], offset


def _demand(condition) -> None:
    if condition.finding.status is not Status.PROVEN:
        raise PlanDeclined((condition.finding,))
