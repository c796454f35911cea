"""Operations that copy a box between global and shared memory: what ``tile-raise-copies`` can make a copy of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..bindings import ir
from ..dialect.memrefs import read_memref
from .index_facts import facts_of
from .ir_access import collect, defining_op, enclosing
from .uniformity import is_uniform, why_not_whole_block

_HARMLESS = (
    "vector.transfer_read", "vector.load", "memref.load", "memref.subview", "memref.view", "gpu.thread_id",
    "gpu.block_id",
)  # fmt: skip
"""May stand between the two halves of a copy."""


@dataclass(frozen=True)
class Sum:
    """``constant + sum(value * factor)``: an index as the kernel can compute it."""

    constant: int = 0
    terms: tuple[tuple[ir.Value, int], ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One copy. Offsets and sizes in elements, memref order; sizes one for each dimension of the global side.

    The copy starts in front of ``first`` and is complete behind ``last`` (the same operation where it is synchronous);
    ``replaced`` are erased, users before what they use.
    """

    first: ir.Operation
    last: ir.Operation
    replaced: tuple[ir.Operation, ...]
    source: ir.Value
    destination: ir.Value
    source_offsets: tuple[Sum, ...]
    destination_offsets: tuple[Sum, ...]
    sizes: tuple[int, ...]

    @property
    def is_load(self) -> bool:
        return is_load_to(self.destination)


@dataclass(frozen=True)
class Kept:
    """An operation that copies between global and shared memory and stays as it is, with the reason."""

    op: ir.Operation
    reason: str


def synchronous_copies(function: ir.Operation) -> Iterator[Candidate | Kept]:
    """``memref.copy``, ``linalg.copy`` and pairs of ``vector.transfer_read`` and ``transfer_write`` that every thread
    executes on the same memrefs. Pairs of which each thread has its own are those of ``thread_copies``."""
    for op in collect(function, ("memref.copy", "linalg.copy")):
        source, destination = list(op.operands)[:2]
        if crosses(source, destination):
            yield _whole(op, source, destination)
    for write in collect(function, ("vector.transfer_write",)):
        read = defining_op(write.operands[0])
        if read is not None and read.name == "vector.transfer_read" and crosses(read.operands[0], write.operands[1]):
            found = _pair(read, write)
            yield from () if found is None else (found,)


def copies_outside_of_kernels(root: ir.Operation) -> list[ir.Operation]:
    """Whatever copies between global and shared memory and is in no ``gpu.func``, as in a ``gpu.launch``."""
    copies = collect(root, ("memref.copy", "linalg.copy", "vector.transfer_write"))
    found = [op for op in copies if enclosing(op, "gpu.func") is None]
    sides = [(op, _read_from(op), op.operands[1]) for op in found]
    return [op for op, source, destination in sides if source is not None and crosses(source, destination)]


def _read_from(op: ir.Operation) -> ir.Value | None:
    """The memref that a copy, or the transfer in front of a ``vector.transfer_write``, reads."""
    if op.name != "vector.transfer_write":
        return op.operands[0]
    read = defining_op(op.operands[0])
    return read.operands[0] if read is not None and read.name == "vector.transfer_read" else None


def crosses(source: ir.Value, destination: ir.Value) -> bool:
    """Whether the one is in global and the other in shared memory."""
    return {_space(source), _space(destination)} == {"global", "shared"}


def is_load_to(destination: ir.Value) -> bool:
    """Whether a copy to ``destination`` is a load: to shared memory."""
    return _space(destination) == "shared"


def _space(value: ir.Value) -> str:
    memref = read_memref(value.type)
    return memref.space if memref else ""


def _whole(op: ir.Operation, source: ir.Value, destination: ir.Value) -> Candidate | Kept:
    shared = read_memref(source.type if _space(source) == "shared" else destination.type)
    assert shared is not None
    sizes = [extent for extent in shared.shape if extent is not None]
    reason = why_not_whole_block(op) or _differs(source, destination)
    if reason is None and len(sizes) != shared.rank:
        reason = "the extents of its shared side are not static"
    if reason:
        return Kept(op, reason)
    zeros = (Sum(),) * shared.rank
    return Candidate(op, op, (op,), source, destination, zeros, zeros, tuple(sizes))


def _differs(*values: ir.Value) -> str | None:
    if all(is_uniform(value) for value in values):
        return None
    return "what it copies may differ between threads"


def _pair(read: ir.Operation, write: ir.Operation) -> Candidate | Kept | None:
    reason = transfer_problem(read, write)
    if reason:
        return Kept(write, reason)
    source, *starts = accessed(read, 0)
    destination, *ends = accessed(write, 1)
    if why_not_whole_block(write) or not all(map(is_uniform, (source, *starts, destination, *ends))):
        return None
    vector = ir.VectorType(read.results[0].type)
    rank = len(starts) if _space(source) == "global" else len(ends)
    sizes = (1,) * (rank - vector.rank) + tuple(vector.shape)
    return Candidate(
        write, write, (write, read), source, destination, tuple(map(_offset, starts)), tuple(map(_offset, ends)), sizes
    )


def accessed(op: ir.Operation, memref: int) -> list[ir.Value]:
    """The memref that a load, a store or a transfer accesses, its operand number ``memref``, and its indices."""
    rank = ir.MemRefType(op.operands[memref].type).rank
    return list(op.operands)[memref : memref + 1 + rank]


def _offset(value: ir.Value) -> Sum:
    constant = facts_of(value).constant
    return Sum(terms=((value, 1),)) if constant is None else Sum(constant)


def transfer_problem(read: ir.Operation, write: ir.Operation) -> str | None:
    """Why a transfer pair does not copy a box at once, or something may happen between its halves."""
    if read.block != write.block or len(list(read.results[0].uses)) != 1:
        return "the vector it reads is used in other places too"
    for op in (read, write):
        vector = ir.VectorType(read.results[0].type)
        if not all(bool(inside.value) for inside in _in_bounds(op, vector.rank)):
            return "it may leave the memref (in_bounds is not true in every dimension)"
        if not _is_minor_identity(op, vector.rank):
            return "it transposes or broadcasts"
        if list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[-1]:
            return "it has a mask"
    return blocking_problem(read, write)


def blocking_problem(read: ir.Operation, write: ir.Operation) -> str | None:
    """Why the memory could change between a read and a write of one block."""
    between = _between(read, write)
    if between is None:
        return "the vector is read after it is written"
    blocking = next((op for op in between if not op.name.startswith(("arith.", "index.", "affine.apply"))), None)
    if blocking is not None and blocking.name not in _HARMLESS:
        return f"{blocking.name} stands between reading and writing"
    return None


def _in_bounds(op: ir.Operation, rank: int) -> list[ir.BoolAttr]:
    if "in_bounds" not in op.attributes:
        return [ir.BoolAttr.get(False, op.context)] * rank
    return [ir.BoolAttr(each) for each in ir.ArrayAttr(op.attributes["in_bounds"])]


def _is_minor_identity(op: ir.Operation, rank: int) -> bool:
    map_ = ir.AffineMapAttr(op.attributes["permutation_map"]).value  # type: ignore[attr-defined]
    return map_ == ir.AffineMap.get_minor_identity(map_.n_dims, rank, op.context)


def _between(first: ir.Operation, last: ir.Operation) -> list[ir.Operation] | None:
    ops = [each.operation for each in first.block.operations]
    start, end = ops.index(first), ops.index(last)
    return ops[start + 1 : end] if start < end else None
