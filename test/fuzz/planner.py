"""Random requests to the planner; every answer is compared with what the copy means (``copy_model.py``).

Tiles, gathers, im2col walks, packed elements and descriptors by hand; static and symbolic sizes, pitches and starts;
all options together. Wrong are: a byte that is missing, comes twice or from elsewhere; a descriptor, a start or a
chip that the hardware refuses; a count or a number of announced bytes that is not that of the instructions; a refusal
of a plain copy, which threads can always make; more than one instruction for a region that is one box; a plan that
does not come back from its data; any exception but ``PlanDeclined`` (and ``ValueError`` for a request that describes
no copy).
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, replace
from typing import Any

import copy_model
from failure import Failure, of_exception
from tma_mlir.chips import CHIPS
from tma_mlir.codec import from_data, to_data
from tma_mlir.dtypes import DTYPES, dtype
from tma_mlir.layout import AddressSwizzle, Expr, Layout, Swizzle, Symbol, address_swizzle, atom_layout, row_major
from tma_mlir.plan import (
    CopyPlan,
    CopyRequest,
    Direction,
    ExplicitDescriptor,
    Gather,
    Im2colWalk,
    OobFill,
    PlanDeclined,
    Region,
    Tile,
    Variant,
    plan_copy,
)
from tma_mlir.plan.planner import forget_plans

WHOLE = [name for name, each in DTYPES.items() if not each.packed]
PACKED = [name for name, each in DTYPES.items() if each.packed]
MOST = 3072
"""Elements of a copy, so that a case takes milliseconds."""
SLOW_SECONDS = 3.0
"""Of one plan: a compiler's user waits for hundreds."""


@dataclass(frozen=True)
class Case:
    """``values``: of the symbols. ``valid``: the request describes a copy. ``plain``: threads can make it. ``boxes``:
    one instruction makes it, by construction."""

    seed: int
    request: CopyRequest
    values: dict[str, int]
    valid: bool = True
    plain: bool = False
    one_box: bool = False


def cases(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(seed)
    make = rng.choices((_tile, _box, _gather, _im2col, _packed, _explicit), (60, 10, 8, 8, 6, 8))[0]
    case = make(rng, seed)
    return _damaged(rng, case) if rng.random() < 0.03 else case


def check(case: Case) -> Failure | None:
    """What is wrong with the answer; None if nothing is."""
    request, began = case.request, time.process_time()
    try:
        plan = plan_copy(request)
    except PlanDeclined as declined:
        if time.process_time() - began > SLOW_SECONDS:
            return Failure("slow", f"{time.process_time() - began:.1f} s\n{case}")
        return _declined(case, declined)
    except ValueError as error:
        return None if not case.valid and str(error) else of_exception(error)
    except Exception as error:
        return of_exception(error)
    if time.process_time() - began > SLOW_SECONDS:
        return Failure("slow", f"{time.process_time() - began:.1f} s\n{case}")
    try:
        return _checked(case, plan)
    except Exception as error:
        return of_exception(error)


def _declined(case: Case, declined: PlanDeclined) -> Failure | None:
    if case.plain:
        return Failure("a plain copy is refused", f"{declined}\n{case}")
    if case.one_box:
        return Failure("a copy of one box is refused", f"{declined}\n{case}")
    if not declined.findings or not all(f.rule and f.remedy for f in declined.findings):
        return Failure("a refusal without rule or remedy", f"{declined}\n{case}")
    return None


def _checked(case: Case, plan: CopyPlan) -> Failure | None:
    request = case.request
    if not case.valid:
        return None  # what it was changed to may be a copy; its meaning was checked with the others
    wrong = copy_model.problems(request, plan, case.values)
    if wrong:
        return Failure(f"wrong plan: {wrong[0].split(':')[0].rstrip('0123456789 ')[:60]}", f"{wrong}\n{case}\n{plan}")
    if case.one_box and plan.instruction_count != 1:
        return Failure("more than one instruction for one box", f"{plan.instruction_count}\n{case}\n{plan}")
    if case.seed % 8 == 0:
        if not plan.explain():
            return Failure("no explanation", f"{case}")
        if from_data(CopyPlan, to_data(plan)) != plan:
            return Failure("a plan is another one after writing and reading", f"{case}\n{plan}")
        forget_plans()
        if plan_copy(request) != plan:
            return Failure("the same request has two plans", f"{case}\n{plan}")
    return None


def _extents(rng: random.Random, unit: int, most_rank: int = 6) -> tuple[int, ...]:
    rank = rng.choice((1, 2, 2, 2, 3, 3, 4, 5, 6)[: most_rank + 3])
    extents = [unit * rng.choice((1, 2, 3, 4, 8, 16)) if rng.random() < 0.8 else rng.randint(1, 300)]
    while len(extents) < rank:
        left = MOST // math.prod(extents)
        choices = [c for c in (1, 1, 2, 3, 4, 5, 7, 8, 16, 24, 32, 64, 128, 256, 257, 300) if c <= max(1, left)]
        extents.append(rng.choice(choices))
    return tuple(reversed(extents))


def _order(rng: random.Random, count: int) -> list[int]:
    """Dimensions from the innermost out."""
    order = list(range(count))[::-1]
    kind = rng.random()
    if kind < 0.5:
        return order
    rest = order[1:]
    rng.shuffle(rest)
    if kind < 0.9:
        return [order[0], *rest]
    rng.shuffle(order)
    return order


def _strided(rng: random.Random, shape: tuple[int, ...], multiple: int, repeats: bool) -> Layout:
    strides, step = [0] * len(shape), 1
    for dim in _order(rng, len(shape)):
        strides[dim] = step
        step *= max(1, shape[dim])
        if rng.random() < 0.25:
            step = -(-(step + rng.choice((0, 1, 8, 32))) // multiple) * multiple
    offset = rng.choice((0, 0, 0, multiple, 8 * multiple, 1))
    if repeats and rng.random() < 0.1:
        dim = rng.randrange(len(shape))
        if rng.random() < 0.5:
            strides[dim] = 0
        else:
            offset += strides[dim] * (shape[dim] - 1)
            strides[dim] = -strides[dim]
    return Layout(shape, tuple(strides), offset)


def _tiled(rng: random.Random, shape: tuple[int, ...], unit: int) -> Layout:
    extents: list[int] = []
    for dim, extent in enumerate(shape):
        least = unit if dim == len(shape) - 1 and extent % unit == 0 else 1
        inner = rng.choice([d for d in range(least, extent + 1) if extent % d == 0])
        extents += [extent // inner, inner]
    strides, step = [0] * len(extents), 1
    for index in _order(rng, len(extents)):
        strides[index] = step
        step *= extents[index]
    return Layout(tuple(extents), tuple(strides))


def _layout(rng: random.Random, shape: tuple[int, ...], unit: int, repeats: bool = False) -> Layout:
    kind = rng.random()
    if kind < 0.4:
        return row_major(shape)  # type: ignore[return-value]
    return _strided(rng, shape, unit, repeats) if kind < 0.8 else _tiled(rng, shape, unit)


def _tile(rng: random.Random, seed: int) -> Case:
    element = dtype(rng.choice(WHOLE))
    unit = max(1, 16 // element.bytes)
    extents = _extents(rng, unit)
    direction = rng.choice((Direction.LOAD, Direction.LOAD, Direction.STORE))
    shape, starts = [], []
    for dim, extent in enumerate(extents):
        margin = rng.choice((0, 0, 1, unit, 3 * unit, 64))
        start = rng.choice((0, 0, 0, 0, 0, margin, margin, -unit, -1, rng.randint(-40, 40)))
        cut = rng.choice((0, 0, 0, 0, 0, 1, unit, extent // 2))
        size = max(1, extent + margin - cut)
        if dim == len(extents) - 1 and rng.random() < 0.75:
            size, start = -(-size // unit) * unit, start // unit * unit
        shape.append(size)
        starts.append(start)
    tile, tile_starts = list(extents), [0] * len(extents)
    for dim, extent in enumerate(extents):
        if rng.random() < 0.15:
            tile_starts[dim] = rng.choice((0, 1, 8, unit))
            tile[dim] = extent + tile_starts[dim] + rng.choice((0, 4, 8))
    mode = rng.choice((Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128))
    swizzle: Any = None
    width = (mode.span_bytes or 16) // element.bytes
    if len(tile) > 1 and tile[-2] % 8 == 0 and width and tile[-1] % width == 0 and rng.random() < 0.5:
        shared, swizzle = atom_layout(tuple(tile), element.bytes, mode), address_swizzle(mode)
    else:
        shared = _layout(rng, tuple(tile), unit)
        if any(isinstance(stride, int) and stride < 0 for stride in shared.strides):
            shared = row_major(tuple(tile))
        if rng.random() < 0.3:
            swizzle = address_swizzle(rng.choice((mode, Swizzle.B128_ATOM_32B)))
    if rng.random() < 0.05:
        swizzle = AddressSwizzle(rng.randint(0, 4), rng.randint(3, 5), rng.randint(2, 5))
    request = CopyRequest(
        element, direction, tuple(shape), _layout(rng, tuple(shape), unit, direction is Direction.LOAD),
        Region(tuple(starts), extents), tuple(tile), shared, Region(tuple(tile_starts), extents), swizzle,
        shared_base_alignment_bytes=rng.choice((None, None, None, None, 1024, 128, 256, 16, 8)),
        shared_padding_is_scratch=rng.random() < 0.2,
        global_alignment_bytes=rng.choice((16, 16, 16, 256, 128, 8, 4, element.bytes)),
        oob_fill=OobFill.NAN if rng.random() < 0.15 else OobFill.ZERO,
        host_tensor=rng.random() < 0.9,
        starts_fit_32_bits=rng.random() < 0.8,
        reduction=rng.choice(("add", "min", "max", "inc", "dec", "and", "or", "xor", "mul"))
        if rng.random() < 0.12 else None,
        cta_group=2 if rng.random() < 0.05 else 1,
        multicast=rng.random() < 0.05,
        variant=rng.choice([Variant.AUTO] * 4 + [Variant.TMA] * 4 + [Variant.BULK, Variant.CP_ASYNC, Variant.SIMT]),
        chip=rng.choice(["sm_90a"] * 4 + list(CHIPS)),
    )  # fmt: skip
    request = replace(request, in_bounds=rng.random() < 0.3 and _inside(request))
    values: dict[str, int] = {}
    if rng.random() < 0.4:
        request = _symbolic(rng, request, values)
    plain = (
        request.variant is Variant.AUTO and request.reduction is None and not request.multicast
        and request.cta_group == 1 and element.name != "tf32"
    )  # fmt: skip
    return Case(seed, request, values, plain=plain)  # a load of tf32 rounds


def _inside(request: CopyRequest) -> bool:
    region = request.global_region
    return all(
        isinstance(start, int) and isinstance(size, int) and start >= 0 and start + extent <= size
        for start, extent, size in zip(region.starts, region.extents, request.global_shape, strict=True)
    )


def _symbol(rng: random.Random, values: dict[str, int], name: str, value: int, host: bool) -> Any:
    """A symbol with something true said of it."""
    values[name] = value
    divisor = rng.choice((1, 1, 2, 8, 16, 64, 128))
    residue = value % divisor if rng.random() < 0.2 or value % divisor == 0 else 0
    if value % divisor != residue:
        divisor, residue = 1, 0
    low = rng.choice((None, value, min(0, value), value - 5))
    high = rng.choice((None, value, value + 3, value + 1000))
    return Expr.of(Symbol(name, low, high, divisor, host, residue))


def _symbolic(rng: random.Random, request: CopyRequest, values: dict[str, int]) -> CopyRequest:
    def perhaps(name: str, value: Any, host: bool, share: float = 0.5) -> Any:
        return _symbol(rng, values, name, value, host) if rng.random() < share and isinstance(value, int) else value

    starts = tuple(
        perhaps(f"start{d}", start, rng.random() < 0.2) for d, start in enumerate(request.global_region.starts)
    )
    shape, layout = request.global_shape, request.global_layout
    if layout.extents == shape and rng.random() < 0.5:
        kept = rng.random() < 0.5
        shape = tuple(perhaps(f"dim{d}", extent, rng.random() < 0.95) for d, extent in enumerate(shape))
        strides = tuple(perhaps(f"pitch{d}", s, rng.random() < 0.95, 0.4) if isinstance(s, int) and s > 1 else s
                        for d, s in enumerate(layout.strides))  # fmt: skip
        layout = Layout(shape, strides, layout.offset) if kept else row_major(shape)
    if isinstance(layout.offset, int) and rng.random() < 0.2:
        layout = replace(layout, offset=perhaps("base", layout.offset, rng.random() < 0.8))
    shared = request.shared_layout
    if rng.random() < 0.25:
        step = rng.choice((1024, 1024, 128, 64, 8))
        shared = replace(
            shared, offset=shared.offset + _symbol(rng, values, "stage", rng.choice((0, 1, 3)), False) * step
        )
    return replace(
        request, global_shape=shape, global_layout=layout, shared_layout=shared,
        global_region=Region(starts, request.global_region.extents),
    )  # fmt: skip


def _box(rng: random.Random, seed: int) -> Case:
    """A region that is one box by construction: rows of whole 16 bytes, a dense tile, an aligned start."""
    element = dtype(rng.choice(WHOLE))
    unit = max(1, 16 // element.bytes)
    rank = rng.randint(1, 5)
    extents: list[int] = [unit * rng.randint(1, max(1, min(16, 256 // unit)))]
    while len(extents) < rank:
        extents.append(rng.randint(1, max(1, min(256, MOST // math.prod(extents)))))
    extents.reverse()
    shape = [extent + rng.randint(0, 9) for extent in extents]
    shape[-1] = -(-shape[-1] // unit) * unit
    starts = [rng.randint(0, size - extent) for size, extent in zip(shape, extents, strict=True)]
    starts[-1] = starts[-1] // unit * unit
    swizzle = rng.choice((Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128))
    if swizzle and extents[-1] * element.bytes != swizzle.span_bytes:
        swizzle = Swizzle.NONE
    region, tile = Region(tuple(starts), tuple(extents)), tuple(extents)
    request = CopyRequest(
        element, rng.choice(list(Direction)), tuple(shape), row_major(tuple(shape)), region, tile, row_major(tile),
        Region((0,) * rank, tile), address_swizzle(swizzle), variant=rng.choice((Variant.AUTO, Variant.TMA)),
        chip=rng.choice(list(CHIPS)),
    )  # fmt: skip
    return Case(seed, request, {}, one_box=True)


def _rows_request(
    rng: random.Random, shape: tuple[Any, ...], region: Region, rows: int, columns: int, element: Any, kind: Any
) -> CopyRequest:
    """Rows of a gather or im2col copy, into a dense tile or into atoms."""
    tile = (rows, columns)
    mode = rng.choice((Swizzle.NONE, Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128))
    width = max(mode.span_bytes, 16) // element.bytes
    shared, swizzle = row_major(tile), address_swizzle(mode)
    if rows % 8 == 0 and columns % width == 0 and rng.random() < 0.7:
        shared = atom_layout(tile, element.bytes, mode)
    elif columns * element.bytes != mode.span_bytes and rng.random() < 0.8:
        swizzle = None
    layout: Any = row_major(shape)
    if rng.random() < 0.2 and all(isinstance(each, int) for each in shape):
        layout = _strided(rng, shape, max(1, 16 // element.bytes), False)
    return CopyRequest(
        element, rng.choice((Direction.LOAD, Direction.LOAD, Direction.STORE)), shape, layout, region, tile, shared,
        Region((0, 0), tile), swizzle, kind=kind, chip=rng.choice(["sm_100a"] * 4 + list(CHIPS)),
        oob_fill=OobFill.NAN if rng.random() < 0.1 else OobFill.ZERO, multicast=rng.random() < 0.05,
        cta_group=2 if rng.random() < 0.05 else 1, reduction="add" if rng.random() < 0.03 else None,
        variant=rng.choice([Variant.AUTO] * 6 + [Variant.TMA] * 3 + list(Variant)[:-1]),
        starts_fit_32_bits=rng.random() < 0.8,
    )  # fmt: skip


def _gather(rng: random.Random, seed: int) -> Case:
    element, values = dtype(rng.choice(WHOLE)), {}
    unit = max(1, 16 // element.bytes)
    columns = unit * rng.randint(1, 24) if rng.random() < 0.9 else rng.randint(1, 200)
    height, width = rng.choice((1, 5, 64)), columns + rng.choice((0, unit, 1, 7 * unit))
    if rng.random() < 0.8:
        width = -(-width // unit) * unit
    rows: list[Any] = [rng.randint(-2, height + 1) if rng.random() < 0.3 else rng.randrange(height) for _ in range(4)]
    column: Any = rng.choice((0, 0, unit, -unit, 3, width - columns))
    symbolic = rng.random() < 0.5
    if symbolic:
        rows = [_symbol(rng, values, f"row{i}", row, False) for i, row in enumerate(rows)]
        if rng.random() < 0.3:
            column = _symbol(rng, values, "column", column, False)
    if rng.random() < 0.03:
        rows = rows[:3]
    shape = (height, width)
    request = _rows_request(
        rng, shape, Region((rows[0], column), (len(rows), columns)), len(rows), columns, element, Gather(tuple(rows))
    )
    return Case(seed, request, values)


def _im2col(rng: random.Random, seed: int) -> Case:
    element, values = dtype(rng.choice(WHOLE)), {}
    unit = max(1, 16 // element.bytes)
    spatial = rng.randint(1, 3)
    channels = unit * rng.randint(1, 8)
    pixels = rng.choice((1, 7, 8, 16, 32, 40, 64))
    pixels = min(pixels, max(1, MOST // channels))
    sizes = tuple(rng.randint(2, 9) for _ in range(spatial))
    shape: tuple[Any, ...] = (rng.randint(1, 4), *sizes, channels + unit * rng.randint(0, 3))
    low = tuple(rng.randint(-3, 1) for _ in sizes)
    high = tuple(rng.randint(-3, 2) for _ in sizes)
    steps = tuple(rng.choice((1, 1, 1, 2, 3)) for _ in sizes)
    offsets: list[Any] = [rng.choice((0, 0, 1, 2, 4)) for _ in sizes]
    place = [lo + step * rng.choice((0, 0, 1)) for lo, step in zip(low, steps, strict=True)]
    starts: list[Any] = [rng.randrange(shape[0]), *place, unit * rng.choice((0, 0, 1, -1))]
    if rng.random() < 0.3:
        starts = [_symbol(rng, values, f"start{d}", each, False) if rng.random() < 0.5 else each
                  for d, each in enumerate(starts)]  # fmt: skip
        offsets = [_symbol(rng, values, f"tap{d}", each, False) if rng.random() < 0.5 else each
                   for d, each in enumerate(offsets)]  # fmt: skip
    region = Region(tuple(starts), (*(1,) * spatial, pixels, channels))
    walk = Im2colWalk(low, high, steps, tuple(offsets))
    return Case(seed, _rows_request(rng, shape, region, pixels, channels, element, walk), values)


def _packed(rng: random.Random, seed: int) -> Case:
    element, values = dtype(rng.choice(PACKED)), {}
    unit = rng.choice((128, 128, 32, 16))
    extents = [unit * rng.choice((1, 1, 2)) if rng.random() < 0.9 else rng.randint(1, 200)]
    for _ in range(rng.randint(0, 3)):
        extents.append(rng.randint(1, max(1, min(16, MOST // math.prod(extents)))))
    extents.reverse()
    shape = [extent + rng.choice((0, 0, 1, 3)) for extent in extents]
    shape[-1] = -(-shape[-1] // 128) * 128 if rng.random() < 0.8 else shape[-1]
    starts: list[Any] = [rng.choice((0, 0, 1, -1)) for _ in extents]
    starts[-1] = rng.choice((0, 0, 128, -128, 32, 5))
    tile = tuple(extents)
    layout = row_major(tuple(shape)) if rng.random() < 0.7 else _strided(rng, tuple(shape), 64, False)
    if rng.random() < 0.4:
        starts = [_symbol(rng, values, f"start{d}", each, False) if rng.random() < 0.5 else each
                  for d, each in enumerate(starts)]  # fmt: skip
    packing = rng.choice((None, None, "8B", "16B")) if element.bits == 4 else rng.choice((None, "16B"))
    request = CopyRequest(
        element, rng.choice((Direction.LOAD, Direction.LOAD, Direction.STORE)), tuple(shape), layout,
        Region(tuple(starts), tile), tile, row_major(tile), Region((0,) * len(tile), tile),
        address_swizzle(rng.choice((Swizzle.NONE, Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128))),
        packing=packing, chip=rng.choice(["sm_100a"] * 6 + list(CHIPS)), in_bounds=False,
        variant=rng.choice([Variant.AUTO] * 4 + [Variant.TMA] * 4 + list(Variant)[:-1]),
    )  # fmt: skip
    return Case(seed, request, values)


def _explicit(rng: random.Random, seed: int) -> Case:
    """The planner's own descriptor by hand, mostly with one number changed."""
    base = _box(rng, seed).request if rng.random() < 0.5 else _tile(rng, seed).request
    base = replace(base, variant=Variant.TMA, reduction=None)
    fields: dict[str, list[Any]] = {
        "dims": list(base.global_shape),
        "strides": [s if isinstance(s, int) else 64 for s in base.global_layout.strides],
        "box": list(base.global_region.extents),
        "starts": [s if isinstance(s, int) else 0 for s in base.global_region.starts],
    }
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        numbers = fields[rng.choice(sorted(fields))]
        at = rng.randrange(len(numbers))
        if isinstance(numbers[at], int):
            numbers[at] += rng.choice((-8, -1, 1, 8, 64, 1 << 20))
    if rng.random() < 0.1:
        for each in fields.values():
            each.reverse()
    swizzle = rng.choice(list(Swizzle)) if rng.random() < 0.3 else Swizzle.NONE
    explicit = ExplicitDescriptor(
        **{name: tuple(each) for name, each in fields.items()}, swizzle=swizzle, offset=base.global_layout.offset
    )
    values = {s.name: 0 for s in _symbols(base)}
    if values:
        return Case(seed, replace(base, variant=Variant.TMA), values, valid=False)
    return Case(seed, replace(base, variant=Variant.TMA_EXPLICIT, kind=Tile(explicit)), {})


def _symbols(request: CopyRequest) -> list[Symbol]:
    layout, region = request.global_layout, request.global_region
    every = (*request.global_shape, *layout.extents, *layout.strides, layout.offset, *region.starts,
             request.shared_layout.offset)  # fmt: skip
    return [symbol for each in every if isinstance(each, Expr) for symbol in each.symbols()]


def _damaged(rng: random.Random, case: Case) -> Case:
    """A request that describes no copy, or hardly one: a field of another length or out of range."""
    request = case.request
    region, tile = request.global_region, request.shared_region
    change: dict[str, Any] = rng.choice((
        {"global_shape": request.global_shape[1:]},
        {"global_shape": (*request.global_shape, 1)},
        {"shared_shape": tuple(e - 1 for e in request.shared_shape)},
        {"global_region": Region(region.starts, tuple(-e for e in region.extents))},
        {"global_region": Region(region.starts, (0, *region.extents[1:])),
         "shared_region": Region(tile.starts, (0, *tile.extents[1:]))},
        {"global_region": Region(region.starts[1:], region.extents)},
        {"shared_region": Region(tile.starts, tuple(e + 1 for e in tile.extents))},
        {"global_shape": tuple(1 << 62 for _ in request.global_shape)},
        {"global_shape": tuple(0 for _ in request.global_shape)},
        {"global_region": Region(tuple(1 << 70 for _ in region.starts), region.extents)},
        {"chip": "sm_80"}, {"chip": ""}, {"cta_group": 3}, {"cta_group": 0}, {"reduction": "nonsense"},
        {"variant": Variant.EMPTY}, {"global_alignment_bytes": 1}, {"global_alignment_bytes": 0},
        {"shared_base_alignment_bytes": 3}, {"shared_swizzle": Swizzle.B128_ATOM_64B},
        {"shared_swizzle": Swizzle.B128_ATOM_32B_FLIP_8B}, {"kind": Gather((0, 1, 2, 3))},
        {"kind": Im2colWalk((0,), (0,), (1,), (0, 0), "w")}, {"variant": Variant.TMA_EXPLICIT},
    ))  # fmt: skip
    return replace(case, request=replace(request, **change), valid=False, plain=False, one_box=False)
