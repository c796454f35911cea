"""What a copy means, and what the instructions of a plan do, by enumeration.

Written from docs/hardware.md and the PTX ISA. It shares no code with the package besides the request and the plan that
it reads: neither the planner nor ``tma_mlir/plan/check.py``, which it is there to doubt. Places are counted in bits, so
that elements of 4 and 6 bits are places too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

FILL = -1
SPANS = (0, 32, 64, 128, 128, 128, 128)
"""Bytes of a swizzled row by ``CUtensorMapSwizzle``."""
SWIZZLE_BITS = {0: None, 1: (1, 4, 3), 2: (2, 4, 3), 3: (3, 4, 3), 4: (2, 5, 2)}
"""By ``CUtensorMapSwizzle``: bits, lowest target bit, distance to the source bits. The others are not known."""
TYPE_BITS = {
    "UINT8": 8, "UINT16": 16, "UINT32": 32, "INT32": 32, "UINT64": 64, "INT64": 64, "FLOAT16": 16, "FLOAT32": 32,
    "FLOAT64": 64, "BFLOAT16": 16, "FLOAT32_FTZ": 32, "TFLOAT32": 32, "TFLOAT32_FTZ": 32, "16U4_ALIGN8B": 4,
    "16U4_ALIGN16B": 4, "16U6_ALIGN16B": 6,
}  # fmt: skip
SMALL_SHARED = ("sm_120", "sm_121")


class IllegalError(Exception):
    """The hardware or the driver refuses what the plan asks for."""


def number(value: Any, values: Mapping[str, int]) -> int:
    """An expression's value, summed up term by term."""
    if isinstance(value, int):
        return value
    total = sum(
        coefficient * math.prod(values[symbol.name] for symbol in monomial) for monomial, coefficient in value.terms
    )
    if total % value.denominator:
        raise IllegalError(f"{value} is not whole for {dict(values)}")
    return total // value.denominator


def numbers(given: Sequence[Any], values: Mapping[str, int]) -> list[int]:
    return [number(each, values) for each in given]


def grid(extents: Sequence[int]) -> np.ndarray:
    """All indices in row-major order: (count, rank)."""
    if not extents:
        return np.zeros((1, 0), np.int64)
    return np.stack(np.meshgrid(*(np.arange(e) for e in extents), indexing="ij"), -1).reshape(-1, len(extents))


def layout_places(layout: Any, shape: Sequence[int], at: np.ndarray, values: Mapping[str, int]) -> np.ndarray:
    """Element offsets: the row-major number over ``shape``, taken apart over the layout's extents."""
    flat = np.zeros(len(at), np.int64)
    for column, extent in zip(at.T, shape, strict=True):
        flat = flat * extent + column
    place = np.full(len(at), number(layout.offset, values), np.int64)
    extents, strides = numbers(layout.extents, values), numbers(layout.strides, values)
    for extent, stride in list(zip(extents, strides, strict=True))[:0:-1]:
        place += flat % extent * stride
        flat //= extent
    return place + (flat * strides[0] if strides else 0)


def xored(address: np.ndarray, pattern: tuple[int, int, int] | None) -> np.ndarray:
    """Byte addresses under a swizzle (execution rule 5)."""
    if pattern is None or not pattern[0]:
        return address
    bits, base, shift = pattern
    return address ^ ((address >> (base + shift) & ((1 << bits) - 1)) << base)


def pattern_of(swizzle: Any) -> tuple[int, int, int] | None:
    if swizzle is None:
        return None
    if hasattr(swizzle, "bits"):
        return swizzle.bits, swizzle.base, swizzle.shift
    return SWIZZLE_BITS[int(swizzle)]


def wanted(request: Any, values: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Per element of the copy: its first bit in global memory (``FILL`` outside the tensor), its first shared byte
    times 8. Packed elements: their number in the tile in place of the shared byte."""
    shape = numbers(request.global_shape, values)
    starts, extents = numbers(request.global_region.starts, values), request.global_region.extents
    kind = type(request.kind).__name__
    if kind == "Tile":
        at = grid(extents) + np.array(starts, np.int64).reshape(1, -1)
    elif kind == "Gather":
        rows = numbers(request.kind.rows, values)
        at = np.array([(row, starts[1] + c) for row in rows for c in range(extents[1])], np.int64)
    else:
        at = _walked(request, shape, starts, values)
    inside = np.ones(len(at), bool)
    for column, extent in zip(at.T, shape, strict=True):
        inside &= (column >= 0) & (column < extent)
    bits = request.dtype.bits
    place = layout_places(request.global_layout, shape, np.where(inside[:, None], at, 0), values) * bits
    tile = grid(request.shared_region.extents) + np.array(numbers(request.shared_region.starts, values), np.int64)
    shared = layout_places(request.shared_layout, request.shared_shape, tile, values)
    if bits < 8:
        return np.where(inside, place, FILL), shared
    return np.where(inside, place, FILL), xored(shared * (bits // 8), pattern_of(request.shared_swizzle)) * 8


def _walked(request: Any, shape: list[int], starts: list[int], values: Mapping[str, int]) -> np.ndarray:
    """im2col: pixels of the bounding box from the start on, W fastest; offsets are added to places only."""
    walk, (pixels, channels) = request.kind, request.global_region.extents[-2:]
    offsets = numbers(walk.filter_offsets, values)
    low, step = walk.lower_corner, walk.traversal_strides
    high = [extent - 1 + upper for extent, upper in zip(shape[1:-1], walk.upper_corner, strict=True)]
    place, rows = starts[:-1], []
    for _ in range(pixels):
        moved = [place[0], *(p + o for p, o in zip(place[1:], offsets, strict=True))]
        rows += [(*moved, starts[-1] + c) for c in range(channels)]
        for d in reversed(range(len(low))):
            place[d + 1] += step[d]
            if place[d + 1] <= high[d]:
                break
            place[d + 1] = low[d]
        else:
            place[0] += 1
    return np.array(rows, np.int64)


def check_descriptor(tensor_map: Any, values: Mapping[str, int], request: Any) -> None:
    """docs/hardware.md, encoding."""
    bits = TYPE_BITS.get(tensor_map.data_type, 0)
    dims, strides = numbers(tensor_map.dims, values), numbers(tensor_map.strides_bytes, values)
    base, box = number(tensor_map.base_offset_bytes, values), tensor_map.box
    unit = 32 if tensor_map.data_type in ("16U4_ALIGN16B", "16U6_ALIGN16B") else 16
    shared = (99 if request.chip.startswith(SMALL_SHARED) else 227) * 1024
    tiled = tensor_map.im2col is None
    inner = box[0] * bits // 8
    broken = {
        "data type": bits == 0,
        "rank": not 1 <= len(dims) <= 5 or len(strides) != len(dims) - 1 or len(box) != (len(dims) if tiled else 2),
        "address": base % unit or request.global_alignment_bytes % 16,
        "dimension": any(not 1 <= dim <= 1 << 32 for dim in dims),
        "stride": any(stride % unit or not 0 <= stride < 1 << 40 for stride in strides),
        "box": any(not 1 <= b <= most for b, most in zip(box, (256,) * 5 if tiled else (256, 1024), strict=False)),
        "size": math.prod(box) * bits // 8 > shared and max(tensor_map.element_strides) == 1,
        "inner box": inner % 16,
        "element stride": any(not 1 <= step <= 8 for step in tensor_map.element_strides),
        "swizzle": SPANS[tensor_map.swizzle] and inner > SPANS[tensor_map.swizzle],
        "swizzle of this chip": tensor_map.swizzle > 3 and request.chip.startswith("sm_90"),
        "fill": tensor_map.oob_fill and "FLOAT" not in tensor_map.data_type,
        "fill of a load": request.direction == "load" and tensor_map.oob_fill != request.oob_fill,
        "packed on this chip": bits in (4, 6) and request.chip.startswith("sm_90"),
    }
    if names := [name for name, is_broken in broken.items() if is_broken]:
        raise IllegalError(f"descriptor: {', '.join(names)}")


def issued(group: Any, start: Sequence[int], shared: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts (instructions, rank) and shared bytes (instructions) of a group's loop nest."""
    at = grid([loop.extent for loop in group.loops])
    steps = np.array([loop.steps for loop in group.loops], np.int64).reshape(len(group.loops), len(start))
    moved = np.array([loop.shared_step_bytes for loop in group.loops], np.int64)
    return at @ steps + np.array(start, np.int64), at @ moved + shared


def tensor_moves(request: Any, plan: Any, group: Any, values: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray, int]:
    """(global bit or ``FILL``, shared bit) of every element that the group's instructions move, and the bytes that
    they announce."""
    tensor_map = plan.tensor_maps[group.tensor_map]
    check_descriptor(tensor_map, values, request)
    start = []
    for each in group.coordinates:
        top = number(each.numerator, values)
        if top % each.denominator:
            raise IllegalError(f"coordinate {top}/{each.denominator}")
        start.append(top // each.denominator)
    starts, shared = issued(group, start, number(group.shared_offset_bytes, values))
    bits = TYPE_BITS[tensor_map.data_type]
    is_store = request.direction == "store"
    if (starts[:, 0] * bits % 128).any():
        raise IllegalError("an innermost start is not at a multiple of 16 bytes")
    if (shared % 128).any():
        raise IllegalError("a box does not lie at a multiple of 128 bytes of shared memory")
    if (starts < -(1 << 31)).any() or (starts >= 1 << 31).any():
        raise IllegalError("a coordinate does not fit 32 bits")
    if is_store and (starts < 0).any():
        raise IllegalError("a store starts below zero")
    rows, announced = _rows_of(tensor_map, group, starts, values)
    dims = numbers(tensor_map.dims, values)
    steps = [bits, *(8 * stride for stride in numbers(tensor_map.strides_bytes, values))]
    ends = list(dims)
    if is_store:  # execution rule 3
        ends[0] = -(-dims[0] * bits // 128) * 128 // bits
    column = np.arange(tensor_map.box[0])
    # (instruction, row, column, dimension)
    at = np.repeat(rows[:, :, None, :], len(column), 2)
    at[..., 0] += column
    inside = ((at >= 0) & (at < np.array(ends))).all(-1)
    place = at @ np.array(steps, np.int64) + 8 * number(tensor_map.base_offset_bytes, values)
    inner = tensor_map.box[0] * bits // 8
    pitch = max(inner, SPANS[tensor_map.swizzle])
    if bits < 8:
        target = np.broadcast_to(np.arange(rows.shape[1])[:, None] * tensor_map.box[0] + column, inside.shape)
    else:
        byte = shared[:, None, None] + np.arange(rows.shape[1])[:, None] * pitch + column * (bits // 8)
        target = xored(byte, SWIZZLE_BITS[int(tensor_map.swizzle)]) * 8
    return np.where(inside, place, FILL).ravel(), target.ravel(), announced


def _rows_of(tensor_map: Any, group: Any, starts: np.ndarray, values: Mapping[str, int]) -> tuple[np.ndarray, int]:
    """Start coordinates of each row of each instruction's box (instructions, rows, rank), in the order in which they
    lie in shared memory; and the bytes that all instructions announce."""
    bits, mode, rank = TYPE_BITS[tensor_map.data_type], str(group.mode), len(tensor_map.dims)
    if mode in ("gather4", "scatter4"):
        if tuple(tensor_map.box[1:]) != (1,):
            raise IllegalError("the box of a gather has more than one row")
        rows = np.stack([np.stack([starts[:, 0], starts[:, row]], -1) for row in range(1, 5)], 1)
    elif mode == "tile":
        steps = (1, *tensor_map.element_strides[1:])
        counts = [-(-b // s) for b, s in zip(tensor_map.box, steps, strict=True)]
        index = grid(counts[:0:-1])[:, ::-1] * np.array(steps[1:], np.int64)
        index = np.concatenate([np.zeros((len(index), 1), np.int64), index], 1)
        rows = starts[:, None, :] + index
    elif mode == "im2col":
        im2col, offsets = tensor_map.im2col, numbers(group.im2col_offsets, values) or [0] * (rank - 2)
        dims = numbers(tensor_map.dims, values)
        found = []
        for first in starts:
            place, own = list(map(int, first)), []
            for _ in range(tensor_map.box[1]):
                own.append([place[0], *(p + o for p, o in zip(place[1:-1], offsets, strict=True)), place[-1]])
                for d, (low, upper) in enumerate(zip(im2col.lower_corner, im2col.upper_corner, strict=True), 1):
                    place[d] += tensor_map.element_strides[d]
                    if place[d] <= dims[d] - 1 + upper:
                        break
                    place[d] = low
                else:
                    place[-1] += 1
            found.append(own)
        rows = np.array(found, np.int64)
    else:
        raise NotImplementedError(mode)
    return rows, rows.shape[0] * rows.shape[1] * tensor_map.box[0] * bits // 8


def bulk_moves(request: Any, group: Any, values: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray, int]:
    """The same for copies without a tensor map."""
    starts, shared = issued(
        group, [number(group.global_offset_bytes, values)], number(group.shared_offset_bytes, values)
    )
    if group.size_bytes % 16 or (starts % 16).any() or (shared % 16).any() or request.global_alignment_bytes % 16:
        raise IllegalError("a bulk copy is not in 16-byte units")
    size = request.dtype.bits // 8
    at = np.arange(0, group.size_bytes, size)
    return ((starts[:, :1] + at) * 8).ravel(), ((shared[:, None] + at) * 8).ravel(), len(starts) * group.size_bytes


def holds(condition: Any, values: Mapping[str, int]) -> bool:
    if condition.or_divisor and number(condition.or_value, values) % condition.or_divisor == 0:
        return True
    value = number(condition.value, values)
    low, high = condition.low, condition.high
    return value % condition.divisor == 0 and (low is None or value >= low) and (high is None or value <= high)


def by_bytes(place: Any, bits: int) -> np.ndarray:
    """The bytes of elements of whole bytes, from their first bits; ``FILL`` stays."""
    size = bits // 8
    return np.where(place[:, None] == FILL, FILL, place[:, None] // 8 + np.arange(size)).ravel()


def problems(request: Any, plan: Any, values: Mapping[str, int]) -> list[str]:
    """What is wrong with the plan where the symbols have ``values``."""
    where, tile = wanted(request, values)
    if str(plan.variant) == "empty":
        is_store = request.direction == "store"
        return ["an empty plan"] if ((where != FILL).any() if is_store else len(tile)) else []
    if not all(holds(check, values) for check in plan.host_checks):
        return []  # the launch is refused
    if str(plan.variant) in ("cp_async", "simt"):
        return vector_problems(request, plan.vector_bytes, where, tile)
    if not all(holds(guard, values) for guard in plan.guards):
        if plan.fallback is None:
            return []  # the kernel traps
        return vector_problems(request, plan.fallback.vector_bytes, where, tile)
    try:
        moves = [(*tensor_moves(request, plan, each, values), each) for each in plan.groups]
        moves += [(*bulk_moves(request, each, values), each) for each in plan.bulk_groups]
    except IllegalError as refused:
        return [str(refused)]
    found = []
    announced = sum(each[2] for each in moves)
    if request.direction == "load" and plan.transaction_bytes != announced:
        found.append(f"{announced} bytes are announced, the plan says {plan.transaction_bytes}")
    count = sum(math.prod(loop.extent for loop in each[3].loops) for each in moves)
    if count != plan.instruction_count or count * 227 * 1024 * 8 < len(tile) * request.dtype.bits:
        found.append(f"{count} instructions, the plan says {plan.instruction_count}")
    if request.dtype.bits < 8:
        # Places of these are counted without the swizzle, which has to be the tile's.
        if SWIZZLE_BITS[int(plan.tensor_maps[0].swizzle)] != pattern_of(request.shared_swizzle):
            found.append("packed elements under another swizzle")
        return found + _compare(request, where, tile, moves[0][0], moves[0][1])
    sizes = [TYPE_BITS[plan.tensor_maps[e[3].tensor_map].data_type] if hasattr(e[3], "tensor_map") else
             request.dtype.bits for e in moves]  # fmt: skip
    got = [np.concatenate([by_bytes(e[i], s) for e, s in zip(moves, sizes, strict=True)]) for i in (0, 1)]
    return found + _compare(request, by_bytes(where, request.dtype.bits), by_bytes(tile, request.dtype.bits), *got)


def _compare(request: Any, where: np.ndarray, tile: np.ndarray, source: np.ndarray, target: np.ndarray) -> list[str]:
    """Places of elements or bytes that are wanted, and that are moved."""
    if min(tile.min(), target.min()) < 0:
        return ["something lies in front of the tile"]
    if request.direction == "load":
        size = int(max(tile.max(), target.max())) + 1
        asked, made = np.full(size, -2), np.full(size, -2)
        asked[tile], made[target] = where, source
        if (made[target] != source).any():
            return ["two instructions put different bytes into one place"]
        wrong = asked != made
        if request.shared_padding_is_scratch:
            wrong &= asked != -2
        if wrong.any():
            at = int(np.argmax(wrong))
            return [
                f"{int(wrong.sum())} places of shared memory differ: at {at} {asked[at]} is wanted, {made[at]} comes"
            ]
        return []
    kept, written = where != FILL, source != FILL
    asked = np.unique(np.stack([where[kept], tile[kept]]), axis=1)
    all_made = np.stack([source[written], target[written]])
    made = np.unique(all_made, axis=1)
    found = []
    if asked.shape != made.shape or (asked != made).any():
        found.append(
            f"{asked.shape[1]} places of global memory are wanted, {made.shape[1]} are written, or from others"
        )
    if request.reduction is not None and made.shape != all_made.shape:
        found.append("an element is reduced more than once")
    return found


def vector_problems(request: Any, width: int, where: np.ndarray, tile: np.ndarray) -> list[str]:
    """Threads copy vectors of ``width`` bytes in row-major order of the region: each has to be contiguous and aligned
    in both memories, and wholly inside the tensor or outside."""
    size = request.dtype.bits // 8
    if width < size or len(where) * size % width:
        return [f"vectors of {width} bytes do not cover the region"]
    source, target = (each.reshape(-1, width // size) for each in (where, tile))
    inside = source != FILL
    if (inside.any(1) != inside.all(1)).any():
        return ["a vector is half outside the tensor"]
    found = []
    step = np.arange(width // size) * size * 8
    for name, each in (("global", source[inside.all(1)]), ("shared", target)):
        if (each != each[:, :1] + step).any() or (each[:, 0] // 8 % width).any():
            found.append(f"a vector of {width} bytes is not contiguous and aligned in {name} memory")
    return found
