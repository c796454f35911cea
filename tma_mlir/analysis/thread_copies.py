"""Loads and stores by which the threads of a block, each in its iterations of loops, together copy one box.

A nest of loops and branches that does nothing but copy is followed with numbers: for every thread and iteration it is
computed where the piece comes from and where it goes. The pieces are a copy of a box where they fill one on both sides,
each at the same place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..bindings import ir
from .copy_candidates import Candidate, Kept, Sum, accessed, blocking_problem, crosses, is_load_to, transfer_problem
from .ir_access import block_owner, collect, defining_op, known_block_size
from .ordinary_writes import may_alias, shared_root
from .thread_indices import ThreadIndex, ThreadIndices
from .uniformity import is_uniform, why_not_whole_block

MOST_POINTS = 1 << 18
"""Pieces that are followed one by one, all threads and iterations together."""

_READS = {"vector.transfer_write": "vector.transfer_read", "vector.store": "vector.load", "memref.store": "memref.load"}
"""What writes a piece, and what reads it."""
ASYNC_COPY = "nvgpu.device_async_copy"
NO_BLOCK_SIZE = "without known_block_size it is not known which threads copy which piece"
_BESIDE = "stands beside it in the loop or branch"
_NESTS = ("scf.for", "scf.if")
_PURE = ("scf.yield", "memref.subview", "memref.dim", "memref.get_global", "affine.apply", "gpu.thread_id",
         "gpu.block_id", "gpu.block_dim", "gpu.grid_dim")  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """What one operation copies each time a thread executes it; ``shape``: elements, for the last dimensions."""

    ops: tuple[ir.Operation, ...]
    source: ir.Value
    destination: ir.Value
    source_indices: tuple[ir.Value, ...]
    destination_indices: tuple[ir.Value, ...]
    shape: tuple[int, ...]

    @property
    def sides(self) -> tuple[ir.Value, ir.Value]:
        return self.source, self.destination


def thread_copies(function: ir.Operation, done: Sequence[ir.Operation]) -> Iterator[Candidate | Kept]:
    """Boxes that pairs of reads and writes copy together, but for those of ``done``."""
    pieces = [piece for write in collect(function, _READS) if write not in done and (piece := _pair(write)) is not None]
    size = known_block_size(function)
    left = list(pieces)
    while left:
        if size is None:
            yield Kept(left.pop(0).ops[0], NO_BLOCK_SIZE)
            continue
        found, taken = _outermost(left[0], pieces, ThreadIndices(size))
        yield found
        left = [piece for piece in left if piece not in taken]


def _pair(write: ir.Operation) -> Piece | None:
    """The piece that a write copies; None where it is none of a copy between global and shared memory."""
    is_transfer = write.name == "vector.transfer_write"
    read = defining_op(write.operands[0])
    if (
        read is None
        or read.name != _READS[write.name]
        or read.block != write.block
        or len(list(read.results[0].uses)) != 1
    ):
        return None
    source, *source_indices = accessed(read, 0)
    destination, *destination_indices = accessed(write, 1)
    if not crosses(source, destination) or (is_transfer and transfer_problem(read, write)):
        return None
    if blocking_problem(read, write):
        return None
    type_ = read.results[0].type
    shape = tuple(ir.VectorType(type_).shape) if isinstance(type_, ir.VectorType) else ()
    return Piece((write, read), source, destination, tuple(source_indices), tuple(destination_indices), shape)


def async_piece(copy: ir.Operation) -> Piece | None:
    """The piece of one ``nvgpu.device_async_copy``; None where it fills a part with zeros. Its operands: destination,
    its indices, source, its indices, source elements."""
    operands = list(copy.operands)
    segments = list(ir.DenseI32ArrayAttr(copy.attributes["operandSegmentSizes"]))
    if segments[4]:
        return None
    ends = np.cumsum(segments)
    width = ir.IntegerAttr(copy.attributes["dstElements"]).value
    return Piece(
        (copy,), operands[ends[1]], operands[0], tuple(operands[ends[2] : ends[3]]), tuple(operands[ends[0] : ends[1]]),
        (width,),
    )  # fmt: skip


def _outermost(
    first: Piece, pieces: Sequence[Piece], threads: ThreadIndices
) -> tuple[Candidate | Kept, Sequence[Piece]]:
    """The largest nest around ``first`` that copies a box with those of ``pieces`` in it that have its memrefs."""
    reasons: list[str] = []
    for root in nests(first.ops[0]):
        inside = [piece for piece in pieces if is_inside(piece.ops[0], root)]
        together = [piece for piece in inside if piece.sides == first.sides]
        found = nest_problem(root, inside) or box(root, root, together, threads)
        if isinstance(found, Candidate):
            return found, together
        reasons.append(found)
    # A loop that does other things too is passed over; the widest of the others says most.
    return Kept(first.ops[0], next((each for each in reasons if _BESIDE not in each), reasons[-1])), [first]


def nests(op: ir.Operation) -> list[ir.Operation]:
    """Loops and branches around ``op``, outermost first, as far as they are; ``op`` itself last."""
    found = [op]
    while found[0].parent is not None and found[0].parent.operation.name in _NESTS:
        found.insert(0, found[0].parent.operation)
    return found


def is_inside(op: ir.Operation, root: ir.Operation) -> bool:
    """Whether ``op`` is ``root`` or lies in it."""
    return op == root or any(parent == root for parent in _parents(op))


def _parents(op: ir.Operation) -> Iterator[ir.Operation]:
    while op.parent is not None:
        op = op.parent.operation
        yield op


def nest_problem(root: ir.Operation, pieces: Sequence[Piece]) -> str | None:
    """Why a nest is not one of these ``pieces`` alone, which the block executes together and in any order."""
    if reason := why_not_whole_block(root):
        return reason
    copying = {op for piece in pieces for op in piece.ops}
    other = next((op for op in _contents(root) if op not in copying and not _is_pure(op)), None)
    if other is not None:
        return f"{other.name} {_BESIDE}"
    if len({is_load_to(piece.destination) for piece in pieces}) > 1:
        return "the loop copies in both directions"
    sides = {piece.sides for piece in pieces}
    roots = [shared_root(destination) for _, destination in sides]
    if any(may_alias(one, two) for i, one in enumerate(roots) for two in roots[:i]):
        return "the loop copies to one memory from several"
    return None


def _contents(root: ir.Operation) -> list[ir.Operation]:
    if root.name not in _NESTS:
        return []
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def _is_pure(op: ir.Operation) -> bool:
    """Whether an operation of a nest computes indices only; loops may carry no values."""
    if op.name in _NESTS:
        return not len(op.results)
    return op.name in _PURE or op.name.startswith(("arith.", "index."))


def box(first: ir.Operation, last: ir.Operation, pieces: Sequence[Piece], threads: ThreadIndices) -> Candidate | str:
    """The box that ``pieces`` of equal memrefs copy inside ``first``, or why there is none."""
    one = pieces[0]
    if not all(is_uniform(side) and _reaches(side, first) for side in one.sides):
        return "what it copies may differ between threads"
    if any(piece.shape != one.shape for piece in pieces):
        return "its pieces have different shapes"
    rows: list[tuple[list[ThreadIndex], list[ThreadIndex]]] = []
    for piece in pieces:
        points = _points(piece.ops[0], first, threads)
        if isinstance(points, str):
            return points
        if not points.count:
            return "no thread executes it"
        indices = [[points.of(each) for each in side] for side in (piece.source_indices, piece.destination_indices)]
        if any(each is None for side in indices for each in side):
            return "an index is not affine in the thread's number and values equal in the block"
        rows.append(tuple(indices))  # type: ignore[arg-type]
    source, destination = (start_of([row[side] for row in rows]) for side in (0, 1))
    if source is None or destination is None:
        return "its copies start at unrelated places"
    terms = [value for total in (*source[0], *destination[0]) for value, _ in total.terms]
    if not all(_reaches(value, first) for value in terms):
        return "an index is computed inside the loop from what is not known in front of it"
    is_load = is_load_to(one.destination)
    sizes = sizes_of(*((source[1], destination[1]) if is_load else (destination[1], source[1])), one.shape)
    if sizes is None:
        return "the pieces that the threads copy do not form a box"
    replaced = tuple(op for piece in pieces for op in piece.ops)
    return Candidate(first, last, replaced, one.source, one.destination, source[0], destination[0], sizes)


def _points(op: ir.Operation, root: ir.Operation, threads: ThreadIndices) -> ThreadIndices | str:
    """The threads and iterations in which ``op`` is executed, in one execution of ``root``."""
    points = threads
    path = [parent for parent in _parents(op) if is_inside(parent, root)][::-1]
    for parent, child in zip(path, [*path[1:], op], strict=True) if path else ():
        if parent.name == "scf.for":
            inside = points.in_loop(parent, MOST_POINTS)
            if inside is None:
                return f"it is in a loop whose trips are not known for each thread, or are over {MOST_POINTS}"
        else:
            inside = points.under(parent.operands[0], _in_then(child, parent))
            if inside is None:
                return "it is under a condition that is not known for each thread"
        points = inside
    return points


def _in_then(op: ir.Operation, branch: ir.Operation) -> bool:
    return op.block == branch.regions[0].blocks[0]


def _reaches(value: ir.Value, root: ir.Operation) -> bool:
    """Whether ``value`` is known in front of ``root``, or can be computed there from what is."""
    op = defining_op(value)
    if op is None:
        return not is_inside(block_owner(value), root)
    return not is_inside(op, root) or (op != root and all(_reaches(operand, root) for operand in op.operands))


def start_of(rows: Sequence[Sequence[ThreadIndex]]) -> tuple[tuple[Sum, ...], np.ndarray] | None:
    """Where the box starts, and the distance of each piece from there: ``[pieces, rank]``. None when the pieces of
    different copies have different unknowns."""
    count = sum(len(row[0].numbers) if row else 0 for row in rows)
    if not rows[0]:
        return (), np.zeros((count, 0), np.int64)
    places = np.stack([np.concatenate([row[d].numbers for row in rows]) for d in range(len(rows[0]))], axis=1)
    starts = []
    for dimension, low in enumerate(places.min(axis=0)):
        terms = rows[0][dimension].terms
        if any(row[dimension].terms != terms for row in rows):
            return None
        starts.append(Sum(int(low), tuple(terms.items())))
    return tuple(starts), places - places.min(axis=0)


def sizes_of(tensor: np.ndarray, tile: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Extents of the box on the global side, if both sides are the same full box of pieces of ``shape``."""
    rank = min(tensor.shape[1], tile.shape[1])
    if not rank or len(shape) > rank:
        return None
    wide = np.ones(tensor.shape[1], np.int64)
    wide[len(wide) - len(shape) :] = shape
    extents = tensor.max(axis=0) + wide
    same = (tensor[:, -rank:] == tile[:, -rank:]).all()
    rest_is_unit = not tensor[:, :-rank].any() and not tile[:, :-rank].any()
    pieces = len(np.unique(tensor, axis=0))
    dense = (tensor % wide == 0).all() and pieces * math.prod(shape) == math.prod(extents.tolist())
    return tuple(extents.tolist()) if same and rest_is_unit and dense else None


def copies_by_threads(root: ir.Operation) -> bool:
    """Whether a loop or branch still copies anything."""
    return bool(collect(root, (*_READS, ASYNC_COPY)))
