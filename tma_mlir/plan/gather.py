"""``tile::gather4`` and ``scatter4``: four rows of a matrix by number, an instruction for each box of columns."""

from __future__ import annotations

from ..chips import Feature
from ..layout.algebra import LayoutError, group_by_shape
from ..layout.expr import known_divisor
from ..layout.swizzle import swizzle_mode
from . import rules
from .copy_plan import Condition, Coordinate, IssueGroup, Loop
from .copy_request import CopyRequest, Gather
from .declined import PlanDeclined
from .enums import Direction, InstructionMode
from .modes import Value
from .row_chunks import RowChunks, row_chunks
from .tensor_map import TensorMap
from .tensor_search import Piece, fill_of


def plan_gather(request: CopyRequest) -> Piece:
    """The instructions for the four ``rows`` of the request, with their conditions. Raises ``PlanDeclined``."""
    assert isinstance(request.kind, Gather)
    numbers = request.kind.rows
    refused = [
        rules.gather_supported(request.chip, _instruction(request)),
        rules.gather_rank(len(request.global_shape)),
        rules.gather_rows(len(numbers), request.global_region.extents[0]),
        rules.mode_reduction(request.reduction),
    ]
    if broken := rules.broken(refused):
        raise PlanDeclined(broken)
    try:
        row_modes, column_modes = group_by_shape(request.global_layout, request.global_shape)
    except LayoutError as error:
        raise PlanDeclined((rules.common_pieces(str(error)).finding,)) from None
    if len(row_modes) > 1 or len(column_modes) > 1:
        raise PlanDeclined((rules.common_pieces("a tiled global tensor has no rows").finding,))
    size = request.dtype.bytes
    chunks = row_chunks(request)
    is_store = request.direction is Direction.STORE
    swizzle = swizzle_mode(request.shared_swizzle)
    assert swizzle is not None
    column = request.global_region.starts[1]
    conditions = refused
    if column_modes:
        conditions.append(rules.unit_stride(column_modes[0][1] * size, size))
    conditions += chunk_conditions(column, chunks, size)
    rows_and_column = (column, *numbers)
    for index, start in enumerate(rows_and_column):
        conditions.append(rules.coordinate_range(start, index, request.starts_fit_32_bits))
        if is_store and not request.in_bounds:
            conditions.append(rules.negative_coordinate_on_store(start, index))
    rows, columns = request.global_shape
    if is_store and not request.in_bounds and known_divisor(columns) * size % 16:
        conditions.append(rules.store_clip_granularity(columns * size))
    tensor_map = TensorMap(
        request.dtype.driver,
        (columns, rows),
        (row_modes[0][1] * size if row_modes else 16,),
        (chunks.columns, 1),
        (1, 1),
        swizzle,
        request.l2_promotion,
        fill_of(request),
        request.global_layout.offset * size,
    )
    mode = InstructionMode.SCATTER4 if is_store else InstructionMode.GATHER4
    group = row_group(tuple(map(Coordinate, rows_and_column)), chunks, mode)
    return Piece([tensor_map], [group], element_bytes=size, conditions=conditions)


def _instruction(request: CopyRequest) -> Feature:
    """The form that the chip must have."""
    if request.direction is Direction.STORE:
        return Feature.SCATTER4
    return Feature.GATHER4_CLUSTER if request.multicast or request.cta_group == 2 else Feature.GATHER4


def row_group(
    coordinates: tuple[Coordinate, ...],
    chunks: RowChunks,
    mode: InstructionMode,
    im2col_offsets: tuple[Value, ...] = (),
) -> IssueGroup:
    """One instruction for each box of columns; the column is the first coordinate."""
    others = (0,) * (len(coordinates) - 1)
    loops = tuple(Loop(count, (columns, *others), shared) for count, columns, shared in chunks.loops)
    return IssueGroup(0, coordinates, chunks.shared_offset_bytes, loops, mode, im2col_offsets)


def chunk_conditions(column: Value, chunks: RowChunks, size: int) -> list[Condition]:
    """What every box of columns must meet where it starts, in both memories."""
    found = [rules.start_coordinate_alignment(column * size)]
    found.append(rules.shared_address_alignment(chunks.shared_offset_bytes))
    for _, columns, shared in chunks.loops:
        found += [rules.start_coordinate_alignment(columns * size), rules.shared_address_alignment(shared)]
    return found
