"""Check a plan by enumeration: what every instruction moves, against what the two layouts ask for.

The model of the hardware here is written from docs/hardware.md alone and shares no code with the planner: it restates
rules and numbers on purpose, as an independent check. Memory is
modelled by where its bytes come from: a shared byte holds the global address it was loaded from, or ``FILL``.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping

import numpy as np

from ..layout.expr import evaluate
from ..layout.layout import AddressSwizzle, Layout
from ..layout.swizzle import ADDRESS_SWIZZLES, Swizzle
from .check_modes import row_boxes, wanted_coordinates
from .copy_plan import BulkGroup, Condition, CopyPlan, IssueGroup
from .copy_request import CopyRequest, Tile
from .enums import Direction, InstructionMode, Variant
from .tensor_map import TensorMap

FILL = -1
UNTOUCHED = -2


class BrokenRuleError(AssertionError):
    """The plan breaks a rule of the hardware or of the driver."""


def check_plan(request: CopyRequest, plan: CopyPlan, symbols: Mapping[str, int] | None = None) -> list[str]:
    """Everything wrong with ``plan`` as an answer to ``request``; empty if it is right.

    ``symbols`` gives symbolic values by name. A plan whose guards or host checks fail for them is not judged.
    """
    values = dict(symbols or {})
    if dead := dead_guards(plan):
        return dead
    if not conditions_hold(plan, values):
        return []
    wanted_global, wanted_shared, inside = wanted_pairs(request, values)
    if plan.variant is Variant.EMPTY:
        needed = inside.any() if request.direction is Direction.STORE else len(wanted_shared)
        return ["an empty plan for elements"] if needed else []
    if plan.variant.by_threads:
        return check_vectors(request, plan, wanted_global, wanted_shared, inside)
    try:
        moved = [pair for group in plan.groups for pair in tensor_pairs(request, plan, group, values)]
        moved += [pair for group in plan.bulk_groups for pair in bulk_pairs(group, values)]
    except BrokenRuleError as broken:
        return [str(broken)]
    got_global = np.concatenate([g for g, _ in moved])
    got_shared = np.concatenate([s for _, s in moved])
    if request.direction is Direction.LOAD:
        scratch = request.shared_padding_is_scratch
        return compare_load(wanted_global, wanted_shared, inside, got_global, got_shared, scratch)
    return compare_store(request, wanted_global[inside], wanted_shared[inside], got_global, got_shared)


def conditions_hold(plan: CopyPlan, values: Mapping[str, int]) -> bool:
    """Whether all run-time conditions of the plan hold for these symbol values."""
    for condition in (*plan.host_checks, *plan.guards):
        if condition.or_divisor and evaluate(condition.or_value, values) % condition.or_divisor == 0:
            continue
        value = evaluate(condition.value, values)
        if value % condition.divisor:
            return False
        if condition.low is not None and value < condition.low:
            return False
        if condition.high is not None and value > condition.high:
            return False
    return True


def dead_guards(plan: CopyPlan) -> list[str]:
    """Guards on a multiple that no number can satisfy of which as much is known as of the plan's symbols."""
    return [f"the guard on {each.value} never holds" for each in plan.guards if not _can_be_multiple(each)]


def _can_be_multiple(condition: Condition) -> bool:
    """Tries every remainder that each symbol can leave when divided by the condition's divisor."""
    value, divisor = condition.value, condition.divisor
    if isinstance(value, int) or value.denominator != 1 or divisor > 128 or len(value.symbols()) > 2:
        return True
    remainders = {
        symbol.name: {(symbol.residue + symbol.divisor * step) % divisor for step in range(divisor)}
        for symbol in value.symbols()
    }
    tried = (dict(zip(remainders, each, strict=True)) for each in itertools.product(*remainders.values()))
    return any(evaluate(value, each) % divisor == 0 for each in tried)


def wanted_pairs(request: CopyRequest, values: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per byte of the region, in row-major order: global address, shared address, and whether it is in the tensor."""
    size = request.dtype.bytes
    shape = [evaluate(e, values) for e in request.global_shape]
    starts = [evaluate(s, values) for s in request.global_region.starts]
    if isinstance(request.kind, Tile):
        coordinates = region_coordinates(starts, request.global_region.extents)
    else:
        coordinates = wanted_coordinates(request, values)
    inside = np.ones(len(coordinates), bool)
    for dim, extent in enumerate(shape):
        inside &= (coordinates[:, dim] >= 0) & (coordinates[:, dim] < extent)
    clipped = np.where(inside[:, None], coordinates, 0)
    global_elements = layout_offsets(request.global_layout, shape, clipped, values)
    shared_starts = [evaluate(s, values) for s in request.shared_region.starts]
    shared_coordinates = region_coordinates(shared_starts, request.shared_region.extents)
    shared_elements = layout_offsets(request.shared_layout, request.shared_shape, shared_coordinates, values)
    byte = np.arange(size)
    global_bytes = (global_elements[:, None] * size + byte).ravel()
    shared_bytes = swizzled((shared_elements[:, None] * size + byte).ravel(), request.shared_swizzle)
    return global_bytes, shared_bytes, np.repeat(inside, size)


def region_coordinates(starts, extents) -> np.ndarray:
    grid = np.indices(tuple(extents)).reshape(len(extents), -1).T
    return grid + np.array(starts, dtype=np.int64)


def layout_offsets(layout: Layout, shape, coordinates: np.ndarray, values: Mapping[str, int]) -> np.ndarray:
    """Element offsets: the coordinate flattened over ``shape``, split over the layout's extents."""
    linear = np.zeros(len(coordinates), np.int64)
    for dim, extent in enumerate(shape):
        linear = linear * extent + coordinates[:, dim]
    offsets = np.full(len(coordinates), evaluate(layout.offset, values), np.int64)
    for extent, stride in zip(reversed(layout.extents), reversed(layout.strides), strict=True):
        extent = evaluate(extent, values)
        offsets += (linear % extent) * evaluate(stride, values)
        linear //= extent
    return offsets


def swizzled(address: np.ndarray, swizzle: AddressSwizzle | Swizzle | None) -> np.ndarray:
    """Swizzled byte addresses relative to a base aligned to the pattern's period."""
    if isinstance(swizzle, Swizzle):
        swizzle = ADDRESS_SWIZZLES.get(swizzle) if swizzle is not Swizzle.NONE else None
    if swizzle is None:
        return address
    mask = (1 << swizzle.bits) - 1
    return address ^ (((address >> (swizzle.base + swizzle.shift)) & mask) << swizzle.base)


def tensor_pairs(
    request: CopyRequest, plan: CopyPlan, group: IssueGroup, values: Mapping[str, int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(global address or FILL, shared address) of every byte each instruction of the group moves."""
    tensor_map = plan.tensor_maps[group.tensor_map]
    check_encoding(tensor_map, values, request)
    base = []
    for coordinate in group.coordinates:
        numerator = evaluate(coordinate.numerator, values)
        if numerator % coordinate.denominator:
            raise BrokenRuleError(f"coordinate {numerator}/{coordinate.denominator} is not whole")
        base.append(numerator // coordinate.denominator)
    result = []
    shared_offset = evaluate(group.shared_offset_bytes, values)
    for index in itertools.product(*(range(loop.extent) for loop in group.loops)):
        start = list(base)
        shared = shared_offset
        for i, loop in zip(index, group.loops, strict=True):
            start = [c + i * step for c, step in zip(start, loop.steps, strict=True)]
            shared += i * loop.shared_step_bytes
        if group.mode is InstructionMode.TILE:
            result.append(box_pairs(tensor_map, start, shared, request.direction, values))
            continue
        if shared % 128:
            raise BrokenRuleError(f"shared address {shared} is not a multiple of 128 B")
        for row_map, row_start, row_shared in row_boxes(tensor_map, group, start, shared, request.direction, values):
            result.append(row_pairs(row_map, row_start, row_shared, request.direction, values))
    return result


def check_encoding(tensor_map: TensorMap, values: Mapping[str, int], request: CopyRequest) -> None:
    """The driver's conditions (encoding table)."""
    size = tensor_map.element_bytes
    dims = [evaluate(d, values) for d in tensor_map.dims]
    strides = [evaluate(s, values) for s in tensor_map.strides_bytes]
    inner = tensor_map.box[0] * size
    im2col = tensor_map.im2col
    rank_of_box = len(dims) if im2col is None else 2
    most = (256,) * len(dims) if im2col is None else (256, 1024)
    span = (0, 32, 64, 128, 128, 128, 128)[tensor_map.swizzle]
    wrong = {
        "rank": not 1 <= len(dims) <= 5 or len(strides) != len(dims) - 1 or len(tensor_map.box) != rank_of_box,
        "global address": evaluate(tensor_map.base_offset_bytes, values) % 16 or request.global_alignment_bytes % 16,
        "global dim": not all(1 <= d <= 1 << 32 for d in dims),
        "global stride": not all(s % 16 == 0 and 0 <= s < 1 << 40 for s in strides),
        "box dim": not all(1 <= b <= m for b, m in zip(tensor_map.box, most, strict=True)),
        "box size": math.prod(tensor_map.box) * size > 232_448,
        "inner box": inner % 16,
        "element stride": not all(1 <= s <= 8 for s in tensor_map.element_strides),
        "swizzle": bool(span) and inner > span,
        "fill": tensor_map.oob_fill == 1 and "FLOAT" not in tensor_map.data_type,
    }
    broken = [name for name, is_wrong in wrong.items() if is_wrong]
    if broken:
        raise BrokenRuleError(f"the driver refuses {', '.join(broken)} of {tensor_map}")


def row_pairs(
    tensor_map: TensorMap, start: list[int], shared: int, direction: Direction, values: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """One row of an instruction that names rows, as a box of its own: it need not start at 128 bytes."""
    unswizzled = dataclasses.replace(tensor_map, swizzle=Swizzle.NONE)
    global_bytes, shared_bytes = box_pairs(unswizzled, start, 0, direction, values)
    return global_bytes, swizzled(shared_bytes + shared, tensor_map.swizzle)


def box_pairs(
    tensor_map: TensorMap, start: list[int], shared: int, direction: Direction, values: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """One instruction (execution rules 1 to 5 and 7)."""
    size = tensor_map.element_bytes
    dims = [evaluate(d, values) for d in tensor_map.dims]
    strides = [size, *(evaluate(s, values) for s in tensor_map.strides_bytes)]
    if start[0] * size % 16:
        raise BrokenRuleError(f"innermost start {start[0]} x {size} B is not a multiple of 16 B")
    if shared % 128:
        raise BrokenRuleError(f"shared address {shared} is not a multiple of 128 B")
    if any(not -(1 << 31) <= c < 1 << 31 for c in start):
        raise BrokenRuleError(f"coordinates {start} do not fit 32 bits")
    is_store = direction is Direction.STORE
    if is_store and min(start) < 0:
        raise BrokenRuleError(f"a store starts at a negative coordinate: {start}")
    steps = (1, *tensor_map.element_strides[1:])
    counts = [-(-b // s) for b, s in zip(tensor_map.box, steps, strict=True)]
    grid = np.indices(tuple(reversed(counts))).reshape(len(counts), -1)[::-1]
    address = np.full(grid.shape[1], evaluate(tensor_map.base_offset_bytes, values), np.int64)
    inside = np.ones(grid.shape[1], bool)
    row = np.zeros(grid.shape[1], np.int64)
    weight = 1
    for dim, count in enumerate(counts):
        coordinate = start[dim] + grid[dim] * steps[dim]
        address += coordinate * strides[dim]
        end = dims[dim]
        if dim == 0 and is_store:
            end = -(-dims[0] * size // 16) * 16 // size
        inside &= (coordinate >= 0) & (coordinate < end)
        if dim:
            row += grid[dim] * weight
            weight *= count
    pitch = max(counts[0] * size, (0, 32, 64, 128, 128, 128, 128)[tensor_map.swizzle])
    offset = shared + row * pitch + grid[0] * size
    byte = np.arange(size)
    global_bytes = np.where(inside[:, None], address[:, None] + byte, FILL).ravel()
    shared_bytes = swizzled((offset[:, None] + byte).ravel(), tensor_map.swizzle)
    return global_bytes, shared_bytes


def bulk_pairs(group: BulkGroup, values: Mapping[str, int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every non-tensor bulk copy of the group; size and both addresses are multiples of 16."""
    global_offset = evaluate(group.global_offset_bytes, values)
    shared_offset = evaluate(group.shared_offset_bytes, values)
    byte = np.arange(group.size_bytes)
    result = []
    for index in itertools.product(*(range(loop.extent) for loop in group.loops)):
        start = global_offset + sum(i * loop.steps[0] for i, loop in zip(index, group.loops, strict=True))
        shared = shared_offset + sum(i * loop.shared_step_bytes for i, loop in zip(index, group.loops, strict=True))
        if start % 16 or shared % 16 or group.size_bytes % 16:
            raise BrokenRuleError(f"bulk copy of {group.size_bytes} B from {start} to {shared} is not in 16-byte units")
        result.append((start + byte, shared + byte))
    return result


def compare_load(wanted_global, wanted_shared, inside, got_global, got_shared, may_write_gaps: bool) -> list[str]:
    """Wanted and moved bytes of a load."""
    size = int(max(wanted_shared.max(), got_shared.max())) + 1
    if min(wanted_shared.min(), got_shared.min()) < 0:
        return ["a shared address before the tile"]
    wanted = np.full(size, UNTOUCHED, np.int64)
    wanted[wanted_shared] = np.where(inside, wanted_global, FILL)
    got = np.full(size, UNTOUCHED, np.int64)
    got[got_shared] = got_global
    if not (got[got_shared] == got_global).all():
        return ["two instructions write different bytes to one shared address"]
    differs = (wanted != got) & ~(wanted == UNTOUCHED) if may_write_gaps else wanted != got
    wrong = np.flatnonzero(differs)
    if not len(wrong):
        return []
    first = int(wrong[0])
    return [f"{len(wrong)} shared bytes differ; byte {first}: wanted {wanted[first]}, got {got[first]}"]


def compare_store(request: CopyRequest, wanted_global, wanted_shared, got_global, got_shared) -> list[str]:
    """Wanted and moved bytes of a store or reduction."""
    written = got_global != FILL
    wanted = np.unique(np.stack([wanted_global, wanted_shared]), axis=1)
    got_all = np.stack([got_global[written], got_shared[written]])
    got = np.unique(got_all, axis=1)
    problems = []
    if wanted.shape != got.shape or not (wanted == got).all():
        problems.append(f"{wanted.shape[1]} bytes wanted in global memory, {got.shape[1]} written, not the same ones")
    if request.reduction is not None and got.shape != got_all.shape:
        problems.append("an element is reduced more than once")
    return problems


def check_vectors(request: CopyRequest, plan: CopyPlan, wanted_global, wanted_shared, inside) -> list[str]:
    """A thread copy: every vector is aligned and contiguous in both memories, and wholly inside or outside."""
    width = plan.vector_bytes
    if width < 1 or len(wanted_global) % width:
        return [f"vectors of {width} B do not tile the region"]
    problems = []
    byte = np.arange(width)
    whole = inside.reshape(-1, width)
    if not (whole.all(1) | ~whole.any(1)).all():
        problems.append("a vector lies half outside the tensor")
    for name, address in (("global", wanted_global), ("shared", wanted_shared)):
        vectors = address.reshape(-1, width)[whole.all(1) if name == "global" else slice(None)]
        if not (vectors == vectors[:, :1] + byte).all() or (vectors[:, 0] % width).any():
            problems.append(f"a vector of {width} B is not contiguous and aligned in {name} memory")
    return problems
