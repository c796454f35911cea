"""Groups of ``nvgpu.device_async_copy`` by which the threads of a block together copy boxes."""

from __future__ import annotations

from collections.abc import Iterator

from ..bindings import ir
from .copy_candidates import Candidate, Kept, crosses
from .ir_access import collect, defining_op, known_block_size
from .thread_copies import ASYNC_COPY, NO_BLOCK_SIZE, Piece, async_piece, box, is_inside, nest_problem, nests
from .thread_indices import ThreadIndices
from .uniformity import why_not_whole_block

_GROUP, _WAIT = "nvgpu.device_async_create_group", "nvgpu.device_async_wait"
_FILLS = "a copy fills part of what it writes with zeros"


def async_groups(function: ir.Operation) -> Iterator[Candidate | Kept]:
    """Every group that copies from global to shared memory: by its tokens, or all copies since the group before it."""
    groups = collect(function, (_GROUP,))
    grouped = [group for group in groups if len(group.operands)]
    loose = [copy for copy in collect(function, (ASYNC_COPY,)) if not list(copy.results[0].uses)]
    counted = any(_open_groups(wait) for wait in collect(function, (_WAIT,)))
    size = known_block_size(function)
    for op in (*grouped, *loose) if counted or size is None else ():
        if counted:
            yield Kept(op, "a wait of the kernel counts groups (numGroups), and there would be one less")
        else:
            yield Kept(op, NO_BLOCK_SIZE)
    if counted or size is None:
        return
    threads = ThreadIndices(size)
    for group in grouped:
        yield _group(group, threads)
    if loose:
        yield from _loose(loose, groups, threads)


def _open_groups(wait: ir.Operation) -> int:
    return ir.IntegerAttr(wait.attributes["numGroups"]).value if "numGroups" in wait.attributes else 0


def _wait_for(group: ir.Operation) -> ir.Operation | None:
    """The one wait for a group, in the same block."""
    uses = [use.owner.operation for use in group.results[0].uses]
    return uses[0] if len(uses) == 1 and uses[0].name == _WAIT and uses[0].block == group.block else None


def _group(group: ir.Operation, threads: ThreadIndices) -> Candidate | Kept:
    wait = _wait_for(group)
    if wait is None:
        return Kept(group, "it is not waited for exactly once, in the same block")
    pieces: list[Piece] = []
    for copy in (defining_op(token) for token in group.operands):
        if copy is None or copy.name != ASYNC_COPY or copy.block != group.block or len(list(copy.results[0].uses)) != 1:
            return Kept(group, "its copies are not all in the same block")
        piece = async_piece(copy)
        if piece is None:
            return Kept(group, _FILLS)
        pieces.append(piece)
    if reason := why_not_whole_block(group):
        return Kept(group, reason)
    if any((*each.sides, each.shape) != (*pieces[0].sides, pieces[0].shape) for each in pieces):
        return Kept(group, "its copies have different memrefs or widths")
    if not crosses(*pieces[0].sides):
        return Kept(group, "what it copies may differ between threads")
    found = box(group, wait, pieces, threads)
    if isinstance(found, str):
        return Kept(group, found)
    return Candidate(
        group, wait, (wait, group, *found.replaced), found.source, found.destination, found.source_offsets,
        found.destination_offsets, found.sizes,
    )  # fmt: skip


def _loose(
    copies: list[ir.Operation], groups: list[ir.Operation], threads: ThreadIndices
) -> Iterator[Candidate | Kept]:
    """Boxes of copies whose tokens nothing uses: they belong to the next group of their thread, and its wait is theirs.
    The group and the wait stay, for other copies; ``empty_groups`` finds them."""
    left = list(copies)
    while left:
        first = left[0]
        found: Candidate | str = "no group and wait behind it, in the block of its loop, are its own"
        taken = [first]
        for root in nests(first):
            wait = _next_wait(root, groups)
            inside = [copy for copy in left if is_inside(copy, root)]
            pieces = [piece for copy in inside if (piece := async_piece(copy)) is not None]
            if wait is None:
                continue
            if len(pieces) < len(inside):
                found = _FILLS
                continue
            together = [piece for piece in pieces if piece.sides == pieces[0].sides]
            if not crosses(*pieces[0].sides):
                found = "what it copies may differ between threads"
                continue
            found = nest_problem(root, pieces) or box(root, wait, together, threads)
            if isinstance(found, Candidate):
                taken = [piece.ops[0] for piece in together]
                break
        yield Kept(first, found) if isinstance(found, str) else found
        left = [copy for copy in left if copy not in taken]


def _next_wait(root: ir.Operation, groups: list[ir.Operation]) -> ir.Operation | None:
    """The wait for the next group in the block of ``root``. The group itself where the wait follows at once: MLIR
    cannot read a group without tokens that has a line with a result behind it."""
    ops = [each.operation for each in root.block.operations]
    behind = ops[ops.index(root) + 1 :]
    group = next((op for op in behind if op in groups), None)
    wait = _wait_for(group) if group is not None else None
    return group if wait is not None and ops[ops.index(group) + 1] == wait else wait


def empty_groups(function: ir.Operation) -> list[ir.Operation]:
    """Waits and groups of a kernel in which no asynchronous copy is left, users first."""
    if collect(function, (ASYNC_COPY,)):
        return []
    groups = [
        group
        for group in collect(function, (_GROUP,))
        if all(use.owner.operation.name == _WAIT for use in group.results[0].uses)
    ]
    return [*collect(function, (_WAIT,)), *groups]
