"""Packed 4- and 6-bit elements: one instruction that fills one tile."""

from __future__ import annotations

import math

from ..dtypes import PACKED_TYPES, PACKINGS
from ..layout.algebra import LayoutError, group_by_shape
from ..layout.expr import Expr, constant, exact_div, known_divisor
from ..layout.layout import Layout
from ..layout.swizzle import swizzle_mode
from . import rules
from .copy_plan import Coordinate, IssueGroup
from .copy_request import CopyRequest
from .declined import PlanDeclined
from .enums import Direction
from .modes import Value
from .tensor_map import TensorMap
from .tensor_search import Piece, fill_of


def plan_packed(request: CopyRequest) -> Piece:
    """The instruction for the region of the request, with its conditions. Raises ``PlanDeclined``."""
    name, is_store = _data_type(request), request.direction is Direction.STORE
    swizzle = swizzle_mode(request.shared_swizzle)
    assert swizzle is not None, "rules refuse others before"
    refused = [
        rules.packed_supported(request.chip, name),
        rules.packed_way(request.variant),
        rules.packed_mode(type(request.kind).__name__.lower()),
        rules.packed_direction(name, is_store),
        rules.packed_swizzle(swizzle, name, is_store),
        rules.packed_tile(_tile_problem(request, swizzle.span_bytes)),
    ]
    if broken := rules.broken(refused):
        raise PlanDeclined(broken)
    bits = request.dtype.bits
    needed_bytes = 32 if PACKED_TYPES[name].has_gaps else 16
    strides = _strides(request)
    conditions = [*refused, rules.packed_tile("" if strides[0] == 1 else "a tensor whose rows are not contiguous")]
    conditions += [rules.packed_pitch(stride, bits, needed_bytes) for stride in strides[1:]]
    conditions.append(rules.packed_address(request.global_layout.offset, bits, needed_bytes))
    starts = tuple(reversed(request.global_region.starts))
    conditions.append(rules.packed_start(starts[0], name))
    for index, start in enumerate(starts):
        conditions.append(rules.coordinate_range(start, index, request.starts_fit_32_bits))
        if is_store and not request.in_bounds:
            conditions.append(rules.negative_coordinate_on_store(start, index))
    if is_store and not request.in_bounds and not PACKED_TYPES[name].has_gaps:
        conditions.append(rules.packed_store_end(request.global_shape[-1]))
    if broken := rules.broken(conditions):
        raise PlanDeclined(broken)
    for stride in strides[1:]:
        if known_divisor(stride * bits) % 8:
            raise PlanDeclined((rules.packed_pitch(stride, bits, needed_bytes).finding,))
    if known_divisor(request.global_layout.offset * bits) % 8:
        raise PlanDeclined((rules.packed_address(request.global_layout.offset, bits, needed_bytes).finding,))
    tensor_map = TensorMap(
        name,
        tuple(reversed(request.global_shape)),
        tuple(_bytes(stride, bits) for stride in strides[1:]),
        tuple(reversed(request.global_region.extents)),
        (1,) * len(starts),
        swizzle,
        request.l2_promotion,
        fill_of(request),
        _bytes(request.global_layout.offset, bits),
    )
    group = IssueGroup(0, tuple(map(Coordinate, starts)))
    return Piece([tensor_map], [group], conditions=conditions)


def _data_type(request: CopyRequest) -> str:
    return PACKINGS[request.dtype.bits][request.packing] if request.packing else request.dtype.driver


def _tile_problem(request: CopyRequest, span_bytes: int) -> str:
    shape, region = request.shared_shape, request.shared_region
    extents = [extent for extent in request.global_region.extents if extent != 1]
    if region.extents != shape or any(start != 0 for start in region.starts):
        return f"part of a tile of {'x'.join(map(str, shape))}"
    if [extent for extent in shape if extent != 1] != extents:
        return f"a tile of {'x'.join(map(str, shape))}"
    steps = tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))
    # Only the offsets count, not how the layout is written; extents of one element have any stride.
    if any(_stride_of(request.shared_layout, shape, d) not in (None, step) for d, step in enumerate(steps)):
        return "a tile whose rows are not one behind the other"
    row_bytes = shape[-1] if PACKED_TYPES[_data_type(request)].has_gaps else shape[-1] * request.dtype.bits // 8
    if span_bytes > row_bytes and math.prod(shape[:-1]) > 1:
        return f"rows of {row_bytes} B, which the swizzle puts {span_bytes} B apart"
    return ""


def _stride_of(layout: Layout, shape: tuple[int, ...], dimension: int) -> Value | None:
    """Elements from one step to the next; None for a dimension of one element, -1 where there are several distances."""
    try:
        modes = group_by_shape(layout, shape)[dimension]
    except LayoutError:
        return -1
    if not modes:
        return None
    return modes[0][1] if len(modes) == 1 else -1


def _strides(request: CopyRequest) -> list[Value]:
    """Elements from one step to the next in each dimension of the tensor, innermost first."""
    aligned = 32 * 8  # of a dimension of one element, which never steps
    strides: list[Value] = []
    for position, dimension in enumerate(reversed(range(len(request.global_shape)))):
        stride = _stride_of(request.global_layout, request.global_shape, dimension)  # type: ignore[arg-type]
        if stride == -1:
            raise PlanDeclined((rules.packed_tile("a tiled global tensor").finding,))
        strides.append(stride if stride is not None else (aligned if position else 1))
    return strides


def _bytes(elements: Value, bits: int) -> Expr | int:
    """Bytes of a whole number of bytes of packed elements."""
    number = constant(elements)
    return number * bits // 8 if number is not None else exact_div(elements * bits, 8)
