"""Look for tensor-map plans with fewer instructions than the planner's, exhaustively, on random small copies.

Only loads inside the tensor are searched: there any run of shared memory that starts at a multiple of 128 bytes and
whose 16-byte chunks come from a nest of at most five constant strides is one instruction, and instructions may overlap.
Prints ``better in N of M`` last: the copies that need fewer instructions than planned.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from dataclasses import replace

import checkout  # noqa: F401  (makes the package importable)
import numpy as np

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Layout, Swizzle, address_swizzle, atom_layout, row_major, swizzle_mode
from tma_mlir.plan import CopyRequest, Direction, PlanDeclined, Region, Variant, plan_copy
from tma_mlir.plan.check import check_plan, wanted_pairs

CHUNK = 16
INNER_LIMIT = {1: 256, 2: 512, 4: 1024, 8: 2048}
"""Largest inner box in bytes by the widest element that moves the same bytes."""


def fewest_instructions(request: CopyRequest, element_bytes: int = 8) -> int | None:
    """The smallest number of tensor-map loads that make the copy; None if no number does."""
    source = chunk_sources(request)
    if source is None:
        return None
    positions = np.flatnonzero(source >= 0)
    mode = swizzle_mode(request.shared_swizzle)
    span = mode.span_bytes if mode else 0
    rank = np.full(len(source) + 1, -1)
    rank[positions] = np.arange(len(positions))
    cost = np.full(len(positions) + 1, 1 << 30)
    cost[0] = 0
    # Boxes are intervals of the region's chunks in shared-memory order; cover them from the left.
    ends: list[list[int]] = []
    for site, position in enumerate(positions):
        aligned = position * CHUNK % 128 == 0
        ends.append([site + n for n in reachable(source, int(position), span, element_bytes)] if aligned else [])
    for site, reached in enumerate(ends):
        for end in reached:
            candidate = 1 + cost[site:end].min()
            cost[end] = min(cost[end], candidate)
    return int(cost[-1]) if cost[-1] < 1 << 30 else None


def chunk_sources(request: CopyRequest) -> np.ndarray | None:
    """Global chunk of every 16-byte chunk of shared memory before the swizzle, -1 outside the region.

    None where a chunk is not 16 neighbouring, aligned bytes of global memory: then no tensor map makes the copy.
    """
    plain = replace(request, shared_swizzle=None)
    wanted_global, wanted_shared, _ = wanted_pairs(plain, {})
    size = -(-(int(wanted_shared.max()) + 1) // CHUNK) * CHUNK
    memory = np.full(size, -1, np.int64)
    memory[wanted_shared] = wanted_global
    chunks = memory.reshape(-1, CHUNK)
    first = chunks[:, 0]
    used = (chunks >= 0).any(1)
    whole = (chunks == first[:, None] + np.arange(CHUNK)).all(1) & (first % CHUNK == 0)
    if (used & ~whole).any():
        return None
    return np.where(used, first // CHUNK, -1)


def reachable(source: np.ndarray, start: int, span: int, element_bytes: int) -> set[int]:
    """Numbers of chunks that one instruction can fetch from ``start`` on."""
    inner_limit = min(span, 128) if span else INNER_LIMIT[element_bytes]
    run = 1
    while run * CHUNK < inner_limit and _at(source, start + run) == source[start] + run:
        run += 1
    fetched: set[int] = set()
    for inner in range(1, run + 1):
        pitch = max(inner, span // CHUNK)
        # A row of a swizzled tile that is shorter than the span must be all there is of the row.
        if span and inner < pitch and _at(source, start + inner) >= 0 and inner != run:
            continue
        fewest = {1: 1}  # rows -> dimensions needed
        pending = [1]
        while pending:
            rows = pending.pop()
            fetched.add(rows * inner)
            if fewest[rows] == 5:
                continue
            block = _rows(source, start, rows, pitch, inner)
            following = _rows(source, start + rows * pitch, rows, pitch, inner)
            if block is None or following is None:
                continue
            delta = following[0, 0] - block[0, 0]
            count = 1
            while count < 256 and delta >= 0:
                following = _rows(source, start + count * rows * pitch, rows, pitch, inner)
                if following is None or not (following - block == count * delta).all():
                    break
                count += 1
                if fewest.get(rows * count, 6) > fewest[rows] + 1:
                    fewest[rows * count] = fewest[rows] + 1
                    pending.append(rows * count)
    return fetched


def _at(source: np.ndarray, position: int) -> int:
    return int(source[position]) if position < len(source) else -2


def _rows(source: np.ndarray, start: int, rows: int, pitch: int, inner: int) -> np.ndarray | None:
    end = start + (rows - 1) * pitch + inner
    if end > len(source):
        return None
    index = start + np.arange(rows)[:, None] * pitch + np.arange(inner)
    block = source[index]
    return block if (block >= 0).all() else None


def random_copy(random_: random.Random) -> CopyRequest:
    """A load of 1 to 8 KiB inside its tensor, layouts cut and permuted at random, mostly legal for a tensor map."""
    element = dtype(random_.choice(["i8", "f16", "f32", "f64"]))
    unit = 16 // element.bytes
    while True:
        rank = random_.randint(1, 5)
        inner = unit * random_.choice([1, 1, 2, 3, 4, 8, 16])
        extents = [random_.choice([2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 40, 64, 257, 300, 521]) for _ in range(rank - 1)]
        extents.append(inner)
        if 1024 <= math.prod(extents) * element.bytes <= 8192:
            break
    shape = [e + random_.choice([0, 0, 1, 2]) for e in extents[:-1]]
    shape.append(inner + unit * random_.choice([0, 0, 1, 4]))
    starts = [random_.randint(0, s - e) for s, e in zip(shape[:-1], extents[:-1], strict=True)]
    starts.append(random_.randint(0, (shape[-1] - inner) // unit) * unit)
    swizzle = None
    mode = random_.choice([Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128])
    width = max(mode.span_bytes, 16) // element.bytes
    if rank > 1 and extents[-2] % 8 == 0 and inner % width == 0 and random_.random() < 0.5:
        shared, swizzle = atom_layout(tuple(extents), element.bytes, mode), address_swizzle(mode)
    else:
        cut = random_.random() < 0.8
        shared = cut_layout(random_, tuple(extents), unit) if cut else row_major(tuple(extents))
    tensor = row_major(tuple(shape))
    if random_.random() < 0.4:
        tensor = permuted(random_, tuple(shape))
    region = Region((0,) * rank, tuple(extents))
    return CopyRequest(
        element, Direction.LOAD, tuple(shape), tensor, Region(tuple(starts), tuple(extents)), tuple(extents), shared,
        region, swizzle, variant=Variant.TMA,
    )  # fmt: skip


def dense(extents: tuple[int, ...], order: list[int]) -> Layout:
    """Without gaps, ``order`` from the innermost dimension out."""
    strides = [0] * len(extents)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= extents[dim]
    return Layout(extents, tuple(strides))


def permuted(random_: random.Random, shape: tuple[int, ...]) -> Layout:
    """Dense, the last dimension innermost, the others in any order."""
    order = [len(shape) - 1, *random_.sample(range(len(shape) - 1), len(shape) - 1)]
    return dense(shape, order)


def cut_layout(random_: random.Random, shape: tuple[int, ...], unit: int) -> Layout:
    """Every dimension cut in two or three, the parts in any order behind one innermost part of the last dimension."""
    extents: list[int] = []
    for index, extent in enumerate(shape):
        least = unit if index == len(shape) - 1 else 1
        inner = random_.choice([d for d in range(least, extent + 1) if extent % d == 0 and d % least == 0])
        middle = random_.choice([d for d in range(1, extent // inner + 1) if (extent // inner) % d == 0])
        extents += [extent // inner // middle, middle, inner]
    order = [len(extents) - 1, *random_.sample(range(len(extents) - 1), len(extents) - 1)]
    return dense(tuple(extents), order)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="how many better ones to print")
    options = parser.parse_args()
    random_ = random.Random(options.seed)
    better = searched = declined = 0
    planned_total = several = 0
    while searched < options.problems:
        request = random_copy(random_)
        fewest = fewest_instructions(request)
        try:
            plan = plan_copy(request)
        except PlanDeclined as refusal:
            declined += fewest is None
            if fewest is None:
                continue
            planned, reason = None, str(refusal)
        else:
            problems = check_plan(request, plan)
            assert not problems, (request, problems)
            planned, reason = plan.instruction_count, ""
            planned_total += planned
            several += planned > 1
        searched += 1
        assert fewest is None or planned is None or planned >= fewest, (
            "the search is not exhaustive",
            request,
            planned,
        )
        if planned is None or (fewest is not None and fewest < planned):
            better += 1
            if better <= options.show:
                print(f"planned {planned}, possible {fewest}: {reason}\n  {request}")
    print(f"{planned_total} instructions planned, more than one in {several} copies")
    print(f"{declined} more copies that no tensor map can make")
    print(f"better in {better} of {searched}")
    return 1 if better else 0


if __name__ == "__main__":
    sys.exit(main())
