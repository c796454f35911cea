"""Loops that copy one memref to another of the same shape, element by element."""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings import ir
from ..bindings.dialects import arith, builtin, gpu, memref, scf
from ..dialect.memrefs import as_bytes, has_bools, read_memref
from .index_builder import constant, materialize, multiply
from .teams import thread_rank


def _as_bytes(side: ir.Value) -> ir.Value:
    """A memref of i1 as one of i8, which lies the same way: MLIR 22 aborts at loads of less than a byte."""
    if not has_bools(side.type):
        return side
    return builtin.unrealized_conversion_cast([as_bytes(ir.MemRefType(side.type))], [side])


def copy_by_each(source: ir.Value, destination: ir.Value) -> None:
    """The thread that comes here copies everything. Builds at the current insertion point."""
    source, destination = _as_bytes(source), _as_bytes(destination)
    zero, one = constant(0), constant(1)
    _loop_nest(source, destination, [materialize(each) for each in _extents(source, destination)], [], zero, one)


def _loop_nest(
    source: ir.Value, destination: ir.Value, extents: Sequence[ir.Value], indices: list[ir.Value], zero: ir.Value,
    one: ir.Value,
) -> None:  # fmt: skip
    if len(indices) == len(extents):
        memref.store(memref.load(source, indices), destination, indices)
        return
    loop = scf.ForOp(zero, extents[len(indices)], one)
    with ir.InsertionPoint(loop.body):
        _loop_nest(source, destination, extents, [*indices, loop.induction_variable], zero, one)
        scf.yield_([])


def copy_together(source: ir.Value, destination: ir.Value, *, barrier_follows: bool) -> None:
    """All threads of the block come here; each copies every n-th element in row-major order.

    The barriers make the sharing invisible: in front, as a thread may have written what another now reads or still read
    what another overwrites; behind, as a thread reads next what others copied.
    """
    source, destination = _as_bytes(source), _as_bytes(destination)
    extents = _extents(source, destination)
    count: int | ir.Value = 1
    for extent in extents:
        count = multiply(count, extent)
    thread, threads = thread_rank()
    gpu.BarrierOp()
    loop = scf.ForOp(thread, materialize(count), threads)
    with ir.InsertionPoint(loop.body):
        indices = _row_major(loop.induction_variable, extents)
        memref.store(memref.load(source, indices), destination, indices)
        scf.yield_([])
    if not barrier_follows:
        gpu.BarrierOp()


def _extents(source: ir.Value, destination: ir.Value) -> list[int | ir.Value]:
    """One for each dimension, from the side where it is static, if any."""
    sides = [(side, read_memref(side.type)) for side in (source, destination)]
    extents: list[int | ir.Value] = []
    for dimension in range(ir.MemRefType(source.type).rank):
        static = [m.shape[dimension] for _, m in sides if m is not None and m.shape[dimension] is not None]
        known = static[0] if static else None
        extents.append(memref.dim(source, constant(dimension)) if known is None else known)
    return extents


def _row_major(number: ir.Value, extents: Sequence[int | ir.Value]) -> list[ir.Value]:
    indices: list[ir.Value] = []
    for extent in reversed(extents[1:]):
        size = materialize(extent)
        indices.insert(0, arith.remui(number, size))
        number = arith.divui(number, size)
    return [number, *indices] if extents else []
