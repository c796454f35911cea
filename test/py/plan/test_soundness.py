"""No plan moves a wrong byte or breaks a rule of the hardware, whatever is asked.

The copies are random: small tensors and tiles of every kind of layout the planner knows, starts inside and outside.
"""

import math
from dataclasses import replace

from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from tma_mlir.dtypes import dtype
from tma_mlir.layout import AddressSwizzle, Expr, Layout, Swizzle, Symbol, address_swizzle, atom_layout, row_major
from tma_mlir.plan import (
    CopyRequest,
    Direction,
    ExplicitDescriptor,
    OobFill,
    PlanDeclined,
    Region,
    Tile,
    Variant,
    plan_copy,
)
from tma_mlir.plan.check import check_plan

DTYPES = ("i8", "f16", "f32", "i32", "f64", "bf16")


@st.composite
def region_extents(draw, unit: int, most: int = 4096) -> tuple[int, ...]:
    rank = draw(st.integers(1, 5))
    extents = []
    if draw(st.integers(0, 5)):
        extents.append(unit * draw(st.sampled_from([1, 2, 3, 4, 8, 16])))
    while len(extents) < rank:
        left = most // max(1, math.prod(extents))
        choices = [1, 2, 3, 4, 5, 8, 16, 24, 32, 64, 96, 128, 257, 300, 512]
        extents.append(draw(st.sampled_from([c for c in choices if c <= max(1, left)])))
    return tuple(reversed(extents))


def shuffled(draw, count: int) -> list[int]:
    """Innermost first: the last index mostly stays innermost, the others come in any order half of the time."""
    order = list(range(count))[::-1]
    if draw(st.booleans()):
        return order
    if draw(st.integers(0, 3)) == 0:
        return draw(st.permutations(order))
    return [order[0], *draw(st.permutations(order[1:]))]


@st.composite
def strided(draw, shape: tuple[int, ...], multiple: int, repeat: bool = False) -> Layout:
    """Dimensions in any order, perhaps padded, now and then (``repeat``) mirrored or repeated."""
    order = shuffled(draw, len(shape))
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
        if draw(st.integers(0, 4)) == 0:
            step = -(-(step + draw(st.sampled_from([0, 1, 8, 32]))) // multiple) * multiple
    offset = 0
    if repeat and draw(st.integers(0, 7)) == 0:
        dim = draw(st.sampled_from(order))
        strides[dim], offset = (0, 0) if draw(st.booleans()) else (-strides[dim], strides[dim] * (shape[dim] - 1))
    return Layout(shape, tuple(strides), offset)


@st.composite
def tiled(draw, shape: tuple[int, ...], unit: int) -> Layout:
    """Every dimension cut into an outer and an inner part, the parts in a random order."""
    extents: list[int] = []
    for index, extent in enumerate(shape):
        least = unit if index == len(shape) - 1 and extent % unit == 0 else 1
        inner = draw(st.sampled_from([d for d in range(least, extent + 1) if extent % d == 0]))
        extents += [extent // inner, inner]
    order = shuffled(draw, len(extents))
    strides = [0] * len(extents)
    step = 1
    for index in order:
        strides[index] = step
        step *= extents[index]
    return Layout(tuple(extents), tuple(strides))


@st.composite
def copies(draw) -> CopyRequest:
    element = dtype(draw(st.sampled_from(DTYPES)))
    unit = max(1, 16 // element.bytes)
    extents = draw(region_extents(unit))
    direction = draw(st.sampled_from([Direction.LOAD, Direction.LOAD, Direction.STORE]))
    shape, starts = [], []
    for index, extent in enumerate(extents):
        margin = draw(st.sampled_from([0, 0, 1, unit, 3 * unit, 64]))
        start = draw(st.sampled_from([0, 0, 0, 0, 0, margin, margin, -unit, -1]))
        cut = draw(st.sampled_from([0, 0, 0, 0, 0, 1, unit, extent // 2]))
        size = max(1, extent + margin - cut)
        if index == len(extents) - 1 and draw(st.integers(0, 3)):
            size, start = -(-size // unit) * unit, start // unit * unit
        shape.append(size)
        starts.append(start)
    global_shape = tuple(shape)
    global_layout = draw(
        st.one_of(
            st.just(row_major(global_shape)),
            strided(global_shape, unit, direction is Direction.LOAD),
            tiled(global_shape, unit),
        )
    )

    shared_shape, shared_starts = list(extents), [0] * len(extents)
    for dim, extent in enumerate(extents):
        if draw(st.integers(0, 5)) == 0:
            shared_starts[dim] = draw(st.sampled_from([0, 1, 8, unit]))
            shared_shape[dim] = extent + shared_starts[dim] + draw(st.sampled_from([0, 4, 8]))
    tile = tuple(shared_shape)
    swizzle = Swizzle.NONE
    layouts = [st.just(row_major(tile)), strided(tile, unit), tiled(tile, unit)]
    mode = draw(st.sampled_from([Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128]))
    width = (mode.span_bytes or 16) // element.bytes
    if len(tile) > 1 and tile[-2] % 8 == 0 and tile[-1] % width == 0 and draw(st.booleans()):
        shared_layout, swizzle = atom_layout(tile, element.bytes, mode), mode
    else:
        shared_layout = draw(st.one_of(layouts))
        if draw(st.integers(0, 3)) == 0:
            swizzle = mode
    xor = address_swizzle(swizzle)
    if draw(st.integers(0, 15)) == 0:
        xor = AddressSwizzle(draw(st.integers(1, 4)), 4, draw(st.integers(2, 5)))
    fill = OobFill.NAN if element.is_float and draw(st.integers(0, 3)) == 0 else OobFill.ZERO
    return CopyRequest(
        element,
        direction,
        global_shape,
        global_layout,
        Region(tuple(starts), extents),
        tile,
        shared_layout,
        Region(tuple(shared_starts), extents),
        xor,
        oob_fill=fill,
        variant=draw(st.sampled_from(["auto", "auto", "tma", "tma", "tma", "bulk", "cp_async", "simt"])),
    )


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(copies())
def test_every_plan_moves_exactly_the_bytes_asked_for(request):
    try:
        plan = plan_copy(request)
    except PlanDeclined:
        assert request.variant != "auto", "threads can make any plain copy"
        return
    assert check_plan(request, plan) == []


@st.composite
def symbolic_copies(draw) -> tuple[CopyRequest, dict[str, int]]:
    """A copy whose starts, and perhaps extents and pitches, are symbols about which something true is known."""
    request = draw(copies())
    values: dict[str, int] = {}

    def symbol(name: str, value: int, host: bool):
        values[name] = value
        divisors = [d for d in (1, 2, 8, 64, 128) if value % d == 0]
        low = draw(st.sampled_from([None, value, min(0, value), value - 5]))
        high = draw(st.sampled_from([None, value, value + 3, value + 1000]))
        return Expr.of(Symbol(name, low, high, draw(st.sampled_from(divisors)), host))

    starts = [
        symbol(f"start{d}", start, False) if draw(st.booleans()) else start
        for d, start in enumerate(request.global_region.starts)
    ]
    shape, layout = request.global_shape, request.global_layout
    if draw(st.booleans()):
        shape = tuple(
            symbol(f"dim{d}", extent, True) if draw(st.booleans()) and isinstance(extent, int) else extent
            for d, extent in enumerate(shape)
        )
        layout = row_major(shape)
    shared = request.shared_layout
    if draw(st.integers(0, 3)) == 0:
        shared = replace(shared, offset=symbol("stage", draw(st.sampled_from([0, 1, 3])), False) * 1024)
    region = Region(tuple(starts), request.global_region.extents)
    return replace(
        request, global_shape=shape, global_layout=layout, global_region=region, shared_layout=shared,
        in_bounds=draw(st.integers(0, 3)) == 0 and inside(request), variant="auto",
    ), values  # fmt: skip


def inside(request: CopyRequest) -> bool:
    region = request.global_region
    return all(
        isinstance(s, int) and isinstance(n, int) and s >= 0 and s + e <= n
        for s, e, n in zip(region.starts, region.extents, request.global_shape, strict=True)
    )


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(symbolic_copies())
def test_plans_with_symbols_are_right_wherever_their_conditions_hold(case):
    request, values = case
    plan = plan_copy(request)
    assert check_plan(request, plan, values) == []


@st.composite
def described_copies(draw) -> CopyRequest:
    """A copy and a descriptor for it: the planner's own, or that with one number changed."""
    request = replace(draw(copies()), variant="tma")
    try:
        plan = plan_copy(request)
    except PlanDeclined:
        reject()
    assume(plan.instruction_count == 1)
    tensor_map, group = plan.tensor_maps[0], plan.groups[0]
    assume(tensor_map.data_type == request.dtype.driver)
    size = request.dtype.bytes
    fields: dict[str, list] = {
        "dims": list(tensor_map.dims[::-1]),
        "strides": [s // size for s in tensor_map.strides_bytes[::-1] if isinstance(s, int)] + [1],
        "box": list(tensor_map.box[::-1]),
        "starts": [c.numerator for c in group.coordinates[::-1]],
    }
    if draw(st.booleans()):
        numbers = fields[draw(st.sampled_from(sorted(fields)))]
        index = draw(st.integers(0, len(numbers) - 1))
        numbers[index] += draw(st.sampled_from([-8, -1, 1, 8, 64]))
    swizzle = tensor_map.swizzle if draw(st.integers(0, 7)) else Swizzle.B64
    offset = request.global_layout.offset
    explicit = ExplicitDescriptor(
        **{name: tuple(each) for name, each in fields.items()}, swizzle=swizzle, offset=offset
    )
    return replace(request, variant=Variant.TMA_EXPLICIT, kind=Tile(explicit))


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
@given(described_copies())
def test_a_descriptor_by_hand_is_right_or_refused(request):
    try:
        plan = plan_copy(request)
    except PlanDeclined:
        return
    assert check_plan(request, plan) == []
    assert plan.instruction_count == 1


def test_a_box_narrower_than_its_swizzle_does_not_skip_rows():
    """Rows of 64 bytes side by side under the 128-byte swizzle: every second one would lie between a box's rows."""
    tile = Region((0, 0), (3, 64))
    request = CopyRequest(
        dtype("i8"), Direction.LOAD, (3, 65), Layout((3, 65), (80, 1)), tile, (3, 64), row_major((3, 64)), tile,
        address_swizzle(Swizzle.B128),
    )  # fmt: skip
    assert check_plan(request, plan_copy(request)) == []
