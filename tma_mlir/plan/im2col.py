"""im2col copies: pixels of a bounding box as rows of channels, one instruction for each box of channels."""

from __future__ import annotations

from ..chips import Feature
from ..layout.algebra import LayoutError, group_by_shape
from ..layout.swizzle import swizzle_mode
from . import rules
from .copy_plan import Condition, Coordinate
from .copy_request import CopyRequest, Im2colWalk
from .declined import PlanDeclined
from .enums import Direction, InstructionMode
from .gather import chunk_conditions, row_group
from .modes import Value
from .row_chunks import row_chunks
from .tensor_map import Im2col, TensorMap
from .tensor_search import Piece, fill_of


def plan_im2col(request: CopyRequest) -> Piece:
    """The instructions for the walk of the request, with their conditions. Raises ``PlanDeclined``."""
    walk = request.kind
    assert isinstance(walk, Im2colWalk)
    rank = len(request.global_shape)
    is_store = request.direction is Direction.STORE
    refused = [rules.im2col_rank(rank), rules.mode_reduction(request.reduction)]
    if walk.wide:
        refused.append(rules.im2col_wide_supported(request.chip, _wide_form(request, walk)))
    if broken := rules.broken(refused):
        raise PlanDeclined(broken)
    strides = _strides(request)
    chunks = row_chunks(request)
    pixels = request.global_region.extents[-2]
    size = request.dtype.bytes
    swizzle = swizzle_mode(request.shared_swizzle)
    assert swizzle is not None
    starts = tuple(reversed(request.global_region.starts))
    conditions = [
        *refused,
        *_walk_conditions(walk, rank, pixels, is_store),
        *chunk_conditions(starts[0], chunks, size),
        rules.unit_stride(strides[0] * size, size),
        *_start_conditions(request, walk, starts, is_store),
    ]
    if is_store:
        conditions.append(rules.store_clip_granularity(request.global_shape[-1] * size))
    tensor_map = TensorMap(
        request.dtype.driver,
        tuple(reversed(request.global_shape)),
        tuple(stride * size for stride in strides[1:]),
        (chunks.columns, pixels),
        (1, *reversed(walk.traversal_strides), 1),
        swizzle,
        request.l2_promotion,
        fill_of(request),
        request.global_layout.offset * size,
        Im2col(tuple(reversed(walk.lower_corner)), tuple(reversed(walk.upper_corner)), walk.wide),
    )
    # The halo comes first in the instruction; filter offsets are W, H, D there.
    offsets = walk.filter_offsets if walk.wide else tuple(reversed(walk.filter_offsets))
    mode = InstructionMode(f"im2col_{walk.wide}") if walk.wide else InstructionMode.IM2COL
    group = row_group(tuple(map(Coordinate, starts)), chunks, mode, () if is_store else offsets)
    return Piece([tensor_map], [group], element_bytes=size, conditions=conditions)


def _wide_form(request: CopyRequest, walk: Im2colWalk) -> Feature:
    """The form that the chip must have."""
    if walk.wide == "w_128":
        return Feature.IM2COL_W_128
    return Feature.IM2COL_W_CLUSTER if request.multicast or request.cta_group == 2 else Feature.IM2COL_W


def _strides(request: CopyRequest) -> list[Value]:
    """Elements from one step to the next in each dimension of the tensor, innermost first."""
    try:
        grouped = group_by_shape(request.global_layout, request.global_shape)
    except LayoutError as error:
        raise PlanDeclined((rules.common_pieces(str(error)).finding,)) from None
    if any(len(modes) > 1 for modes in grouped):
        raise PlanDeclined((rules.common_pieces("a tiled global tensor has no pixels").finding,))
    size = request.dtype.bytes
    default = 1 if size >= 16 else 16 // size  # A dimension of one element has any stride the encoder takes.
    strides: list[Value] = []
    for position, modes in enumerate(reversed(grouped)):
        strides.append(modes[0][1] if modes else (default if position else 1))
    return strides


def _walk_conditions(walk: Im2colWalk, rank: int, pixels: int, is_store: bool) -> list[Condition]:
    found: list[Condition] = []
    if walk.wide:
        found += [rules.im2col_wide_direction(is_store), rules.im2col_wide_pixels(walk.wide, pixels)]
        found.append(rules.im2col_wide_halo(walk.filter_offsets[0]))
        found.append(rules.im2col_offset_range(walk.filter_offsets[1], 3))
        return found
    for offset in walk.filter_offsets:
        found.append(rules.im2col_store_offset(offset) if is_store else rules.im2col_offset_range(offset, rank))
    if is_store:
        found += [rules.im2col_store_corner(corner) for corner in walk.lower_corner]
    return found


def _start_conditions(
    request: CopyRequest, walk: Im2colWalk, starts: tuple[Value, ...], is_store: bool
) -> list[Condition]:
    found: list[Condition] = []
    for index, start in enumerate(starts):
        found.append(rules.coordinate_range(start, index, request.starts_fit_32_bits))
        if is_store and not request.in_bounds:
            found.append(rules.negative_coordinate_on_store(start, index))
    if walk.wide:
        return found
    extents = tuple(reversed(request.global_shape))[1:-1]
    corners = zip(reversed(walk.lower_corner), reversed(walk.upper_corner), strict=True)
    for index, (extent, (lower, upper)) in enumerate(zip(extents, corners, strict=True), 1):
        found.append(rules.im2col_start(starts[index], lower, extent - 1 + upper, index))
    return found
