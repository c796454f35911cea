"""Groups of ``nvgpu.device_async_copy`` by which the threads of a block together copy one box."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from mlir import ir

from .copy_candidates import Candidate, Kept, Sum, crosses
from .ir_access import collect, defining_op
from .thread_indices import ThreadIndex, ThreadIndices
from .uniformity import is_uniform, why_not_whole_block

_COPY, _GROUP, _WAIT = "nvgpu.device_async_copy", "nvgpu.device_async_create_group", "nvgpu.device_async_wait"


def async_groups(function: ir.Operation) -> Iterator[Candidate | Kept]:
    """Every group that copies from global to shared memory."""
    groups = [group for group in collect(function, (_GROUP,)) if len(group.operands)]
    if not groups:
        return
    counted = any(_open_groups(wait) for wait in collect(function, (_WAIT,)))
    size = _block_size(function)
    threads = ThreadIndices(size) if size else None
    for group in groups:
        if counted:
            yield Kept(group, "a wait of the kernel counts groups (numGroups), and there would be one less")
        elif threads is None:
            yield Kept(group, "without known_block_size it is not known which threads copy which piece")
        else:
            yield _group(group, threads)


def _open_groups(wait: ir.Operation) -> int:
    return ir.IntegerAttr(wait.attributes["numGroups"]).value if "numGroups" in wait.attributes else 0


def _block_size(function: ir.Operation) -> tuple[int, int, int] | None:
    if "known_block_size" not in function.attributes:
        return None
    x, y, z = ir.DenseI32ArrayAttr(function.attributes["known_block_size"])
    return (x, y, z)


def _group(group: ir.Operation, threads: ThreadIndices) -> Candidate | Kept:
    uses = [use.owner.operation for use in group.results[0].uses]
    if len(uses) != 1 or uses[0].name != _WAIT or uses[0].block != group.block:
        return Kept(group, "it is not waited for exactly once, in the same block")
    copies = [defining_op(token) for token in group.operands]
    found: list[ir.Operation] = []
    for copy in copies:
        if copy is None or copy.name != _COPY or copy.block != group.block or len(list(copy.results[0].uses)) != 1:
            return Kept(group, "its copies are not all in the same block")
        found.append(copy)
    if reason := why_not_whole_block(group):
        return Kept(group, reason)
    return _box(group, uses[0], found, threads)


def _box(group: ir.Operation, wait: ir.Operation, copies: list[ir.Operation], threads: ThreadIndices):
    first = _Parts(copies[0])
    rows: list[tuple[list[ThreadIndex], list[ThreadIndex]]] = []
    for copy in copies:
        parts = _Parts(copy)
        if parts.source != first.source or parts.destination != first.destination or parts.width != first.width:
            return Kept(group, "its copies have different memrefs or widths")
        if parts.fills:
            return Kept(group, "a copy fills part of what it writes with zeros")
        indices = [[threads.of(each) for each in side] for side in (parts.source_indices, parts.destination_indices)]
        if any(each is None for side in indices for each in side):
            return Kept(group, "an index is not affine in the thread's number and values equal in the block")
        rows.append(tuple(indices))  # type: ignore[arg-type]
    if not (is_uniform(first.source) and is_uniform(first.destination)) or not crosses(first.source, first.destination):
        return Kept(group, "what it copies may differ between threads")
    source = _start([row[0] for row in rows])
    destination = _start([row[1] for row in rows])
    if source is None or destination is None:
        return Kept(group, "its copies start at unrelated places")
    sizes = _sizes(source[1], destination[1], first.width)
    if sizes is None:
        return Kept(group, "the pieces that the threads copy do not form a box")
    return Candidate(
        group, wait, (wait, group, *copies), first.source, first.destination, source[0], destination[0], sizes
    )


class _Parts:
    """Operands of one ``nvgpu.device_async_copy``: destination, its indices, source, its indices, source elements."""

    def __init__(self, copy: ir.Operation):
        operands = list(copy.operands)
        segments = list(ir.DenseI32ArrayAttr(copy.attributes["operandSegmentSizes"]))
        ends = np.cumsum(segments)
        self.destination = operands[0]
        self.destination_indices = operands[ends[0] : ends[1]]
        self.source = operands[ends[1]]
        self.source_indices = operands[ends[2] : ends[3]]
        self.fills = bool(segments[4])
        self.width = ir.IntegerAttr(copy.attributes["dstElements"]).value


def _start(rows: Sequence[Sequence[ThreadIndex]]) -> tuple[tuple[Sum, ...], np.ndarray] | None:
    """Where the box starts, and the distance of each piece from there: ``[pieces, rank]``. None when the pieces of
    different copies have different unknowns."""
    places = np.stack([np.concatenate([row[d].numbers for row in rows]) for d in range(len(rows[0]))], axis=1)
    starts = []
    for dimension, low in enumerate(places.min(axis=0)):
        terms = rows[0][dimension].terms
        if any(row[dimension].terms != terms for row in rows):
            return None
        starts.append(Sum(int(low), tuple(terms.items())))
    return tuple(starts), places - places.min(axis=0)


def _sizes(source: np.ndarray, destination: np.ndarray, width: int) -> tuple[int, ...] | None:
    """Extents of the box on the source side, if both sides are the same full box of pieces ``width`` wide."""
    extents = source.max(axis=0) + 1
    extents[-1] += width - 1
    rank = min(source.shape[1], destination.shape[1])
    same = (source[:, -rank:] == destination[:, -rank:]).all()
    rest_is_unit = not source[:, :-rank].any() and not destination[:, :-rank].any()
    pieces = len(np.unique(source, axis=0))
    dense = (source[:, -1] % width == 0).all() and pieces * width == math.prod(extents.tolist())
    return tuple(extents.tolist()) if same and rest_is_unit and dense else None
