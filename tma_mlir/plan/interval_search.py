"""Last resort for small tiles: cover shared memory with any boxes that start at multiples of 128 bytes.

The regular search gives every instruction the same shape, one step of an issue loop apart. Where that step is no
multiple of 128 bytes, boxes of different shapes may still do. Only for copies inside the tensor with known strides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..hardware import MAX_BOX_EXTENT as BOX_LIMIT
from ..hardware import MAX_RANK
from ..layout.expr import Expr
from ..layout.swizzle import Swizzle
from . import rules
from .copy_plan import IssueGroup
from .copy_request import CopyRequest
from .declined import PlanDeclined
from .descriptor_dims import Dim, coordinate
from .enums import Direction
from .findings import Status
from .modes import CopyModes, Mode
from .tensor_search import Piece, element_sizes, map_of_dims

CHUNK = 16
MOST_CHUNKS = 1024
"""Larger tiles are not searched: it would take longer than it is worth."""
MOST_BLOCKS = 20_000
"""Blocks of rows that are looked at in one search, a second or two; more is given up for another way to copy."""


@dataclass(frozen=True)
class Box:
    """``inner`` chunks, then (count, distance in chunks of global memory) of every further dimension."""

    inner: int
    outer: tuple[tuple[int, int], ...]


def plan_intervals(request: CopyRequest, copy: CopyModes, swizzle: Swizzle) -> Piece:
    """The fewest boxes of any shapes. Raises ``PlanDeclined`` where there are none, or too much to search."""
    first = rules.shared_address_alignment(copy.shared_offset_bytes)
    if first.finding.status is Status.DISPROVEN:  # No box can begin where the tile does.
        raise PlanDeclined((first.finding,))
    source = _sources(copy, request.dtype.bytes)
    element_bytes = element_sizes(request, copy.merged[0])[-1]
    cover = _cover(source, swizzle.span_bytes, element_bytes, request.direction is Direction.LOAD)
    total = Piece()
    for position, box in cover:
        total.add(_instruction(request, copy, swizzle, element_bytes, int(source[position]), position, box))
    return total


def _refuse() -> PlanDeclined:
    return PlanDeclined((rules.shared_address_alignment(CHUNK).finding,))


def _sources(copy: CopyModes, size: int) -> np.ndarray:
    """Global chunk, from the region's first, of every chunk of shared memory; -1 outside the region."""
    modes = copy.merged
    count = math.prod(mode.extent for mode in modes) * size // CHUNK
    steps = [mode.global_bytes for mode in modes[1:]]
    known = all(isinstance(step, int) and step % CHUNK == 0 for step in steps)
    inside = all(mode.safe and isinstance(mode.limit, int) for mode in (*modes, *copy.fixed))
    whole = modes[0].extent * size % CHUNK == 0 and all(mode.shared_bytes % CHUNK == 0 for mode in modes[1:])
    if not (known and inside and whole and count <= MOST_CHUNKS):
        raise _refuse()
    here = np.arange(modes[0].extent * size // CHUNK)
    there = here
    for mode, step in zip(modes[1:], steps, strict=True):
        assert isinstance(step, int)
        index = np.arange(mode.extent)[:, None]
        here = (index * (mode.shared_bytes // CHUNK) + here).ravel()
        there = (index * (step // CHUNK) + there).ravel()
    source = np.full(int(here.max()) + 1, -1, np.int64)
    source[here] = there
    return source


def _cover(source: np.ndarray, span: int, element_bytes: int, may_overlap: bool) -> list[tuple[int, Box]]:
    """Fewest (position, box) that cover all chunks: the shortest path over the region's chunks in shared order."""
    positions = np.flatnonzero(source >= 0)
    cost = np.full(len(positions) + 1, len(positions) + 1)
    cost[0] = 0
    taken: list[tuple[int, int, Box] | None] = [None] * len(cost)
    budget = [MOST_BLOCKS]
    for site, position in enumerate(positions):
        if position * CHUNK % 128:
            continue
        for count, box in _boxes(source, int(position), span, element_bytes, budget).items():
            end = site + count
            reached = cost[site:end] if may_overlap else cost[site : site + 1]
            candidate = int(reached.min()) + 1
            if candidate < cost[end]:
                cost[end] = candidate
                taken[end] = (site + int(reached.argmin()), int(position), box)
    found: list[tuple[int, Box]] = []
    end = len(positions)
    while end:
        step = taken[end]
        if step is None:
            raise _refuse()
        end, position, box = step
        found.append((position, box))
    return found[::-1]


def _boxes(source: np.ndarray, start: int, span: int, element_bytes: int, budget: list[int]) -> dict[int, Box]:
    """Boxes that begin at one chunk, by the number of chunks they move. Each block takes one of the ``budget``."""
    longest = min(span or BOX_LIMIT * element_bytes, BOX_LIMIT * element_bytes) // CHUNK
    run = 1
    while run < longest and start + run < len(source) and source[start + run] == source[start] + run:
        run += 1
    found: dict[int, Box] = {}
    for inner in range(1, run + 1):
        pitch = max(inner, span // CHUNK)
        if inner < pitch and inner != run:
            continue  # The rest of a swizzled row could never start at a multiple of 128 bytes.
        by_rows = {1: Box(inner, ())}
        pending = [1]
        while pending:
            rows = pending.pop()
            budget[0] -= 1
            if not budget[0]:
                raise _refuse()
            found.setdefault(rows * inner, by_rows[rows])
            for count, distance in _repeats(source, start, rows, pitch, inner):
                box = Box(inner, (*by_rows[rows].outer, (count, distance)))
                known = by_rows.get(rows * count)
                if not _gaps_are_free(source, start, rows * count, pitch, inner):
                    break
                if len(box.outer) < MAX_RANK and (known is None or len(known.outer) > len(box.outer)):
                    by_rows[rows * count] = box
                    pending.append(rows * count)
    return found


def _gaps_are_free(source: np.ndarray, start: int, rows: int, pitch: int, inner: int) -> bool:
    """Whether nothing of the region lies between the rows of a box that is narrower than its swizzle."""
    between = start + np.arange(rows - 1)[:, None] * pitch + np.arange(inner, pitch)
    return bool((source[between] < 0).all())


def _repeats(source: np.ndarray, start: int, rows: int, pitch: int, inner: int) -> list[tuple[int, int]]:
    """How often a block of rows continues at one distance: (count, distance) for every count."""
    index = start + np.arange(rows)[:, None] * pitch + np.arange(inner)
    block = source[index]
    found: list[tuple[int, int]] = []
    distance = 0
    for count in range(1, BOX_LIMIT):
        following = index + count * rows * pitch
        if following[-1, -1] >= len(source) or source[following].min() < 0:
            break
        if count == 1:
            distance = int(source[following[0, 0]] - block[0, 0])
            if distance < 0:
                break
        if not (source[following] - block == count * distance).all():
            break
        found.append((count + 1, distance))
    return found


def _instruction(
    request: CopyRequest, copy: CopyModes, swizzle: Swizzle, element_bytes: int, first: int, position: int, box: Box
) -> Piece:
    every: list[Mode] = [*copy.merged, *copy.fixed]
    start = first * CHUNK
    reach = request.dtype.bytes
    for mode in every:
        assert isinstance(mode.global_bytes, int)
        assert isinstance(mode.limit, int)
        start = start + mode.start * mode.global_bytes
        reach += (mode.limit - 1) * mode.global_bytes
    dims = [
        Dim(
            box.inner * CHUNK // element_bytes,
            element_bytes,
            -(-reach // element_bytes),
            start,
            element_bytes,
            True,
            True,
            -1,
        )
    ]
    dims += [Dim(count, distance * CHUNK, count, 0, 1, True, True, -1) for count, distance in box.outer]
    tensor_map = map_of_dims(request, dims, element_bytes, swizzle, copy.global_offset_bytes)
    offset: Expr | int = copy.shared_offset_bytes + position * CHUNK
    group = IssueGroup(0, tuple(coordinate(dim) for dim in dims), offset)
    return Piece([tensor_map], [group], [dims], element_bytes)
