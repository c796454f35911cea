"""``tile-raise-copies``: ordinary copies between global and shared memory become ``tile.copy_async``.

``memref.copy``, ``linalg.copy``, a ``vector.transfer_read`` with its ``transfer_write``, loads with their stores, and
``nvgpu.device_async_copy`` are raised where the block executes them together, all threads the whole copy or each its
pieces of one box, loops included, and the planner has TMA for it.

A load gets an mbarrier of its own, initialised at kernel entry; in front of it a ``gpu.barrier`` keeps the
thread that issues it from overtaking those that still read the tile or wait for the last phase. A store is fenced,
ordered by barriers on both sides, and waited for.

What stays as it is gets a remark with the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..analysis.async_copy_groups import async_groups, empty_groups
from ..analysis.copy_candidates import Candidate, Kept, Sum, copies_outside_of_kernels, synchronous_copies
from ..analysis.copy_requests import copy_request
from ..analysis.global_views import fold_global_subviews, kernel_argument
from ..analysis.ir_access import collect, defining_op
from ..analysis.ordinary_writes import global_writes, may_alias, shared_root
from ..analysis.thread_copies import copies_by_threads, is_inside, thread_copies
from ..bindings import ir
from ..bindings.dialects import arith
from ..diagnostics import remark
from ..dialect.tile import CopyAsyncOp
from ..dialect.verifier import problems
from ..lower.index_builder import add, constant, multiply
from ..lower.raised_copy import Entry, emit_load, emit_store
from ..plan import PlanDeclined, Variant, plan_copy
from .chip_option import chip_option, chosen_chip
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    target = chosen_chip(op, options).name
    for copy in copies_outside_of_kernels(op):
        _remark_kept(copy, "it is not in a kernel of its own (gpu.func); run gpu-kernel-outlining first")
    for function in collect(op, ("gpu.func",)):
        with function.context:
            _raise_all(function, target)


def _raise_all(function: ir.Operation, target: str) -> None:
    whole = list(synchronous_copies(function))
    done = [op for each in whole for op in (each.replaced if isinstance(each, Candidate) else (each.op,))]
    candidates = [*whole, *thread_copies(function, done), *async_groups(function)]
    stores = [each for each in candidates if isinstance(each, Candidate) and not each.is_load]
    loads = [each for each in candidates if isinstance(each, Candidate) and each.is_load]
    for each in candidates:
        if isinstance(each, Kept):
            _remark_kept(each.op, each.reason)
    entry = Entry(function)
    for found in stores:
        _raise(found, entry, target)
    # Now the stores that are left are ordinary ones, which loads of the same tensor by TMA would not see.
    written = [write.root for write in global_writes(function)]
    for found in loads:
        if any(may_alias(shared_root(found.source), root) for root in written):
            _remark_kept(found.first, "the kernel writes its tensor by ordinary stores too, which TMA may not see")
        else:
            _raise(found, entry, target)
    entry.finish()
    if any(isinstance(each, Candidate) for each in candidates):
        for op in empty_groups(function):
            op.erase()


def _remark_kept(op: ir.Operation, reason: str) -> None:
    remark(op.location, f"'{op.name}' op stays as it is: {reason}")


def _raise(found: Candidate, entry: Entry, target: str) -> None:
    """Raises one copy; where TMA cannot do it, leaves everything as it was and says why."""
    mbarrier = entry.mbarrier() if found.is_load else None
    with found.first.location, ir.InsertionPoint(found.first):
        marker = constant(0).owner.operation
    copy = _build(found, entry, mbarrier)
    wrong = problems(copy)
    if not wrong:
        copy = fold_global_subviews(copy)
        wrong = _why_not_tma(copy, target)
    if wrong:
        del copy, mbarrier
        _erase_between(marker, found.first)
        marker.erase()
        if found.is_load:
            entry.drop_mbarrier()
        _remark_kept(found.first, wrong[0])
        return
    marker.erase()
    remark(found.first.location, f"'{found.first.name}' op becomes tile.copy_async")
    if found.is_load:
        emit_load(copy, found.last, entry)
    else:
        emit_store(copy, found.last)
    is_nest = found.first not in found.replaced
    for op in found.replaced:
        op.erase()
    if is_nest and not copies_by_threads(found.first):
        found.first.erase()


def _erase_between(first: ir.Operation, last: ir.Operation) -> None:
    """Erases what stands between two operations of a block, and is used by nothing outside."""
    ops = [each.operation for each in first.block.operations]
    for op in reversed(ops[ops.index(first) + 1 : ops.index(last)]):
        op.erase()


def _build(found: Candidate, entry: Entry, mbarrier: ir.Value | None) -> CopyAsyncOp:
    attributes: dict[str, ir.Attribute] = {"in_bounds": ir.UnitAttr.get(), "scope": ir.StringAttr.get("cta")}
    if found.is_load:
        attributes["expect_tx"] = ir.UnitAttr.get()
    with found.first.location, ir.InsertionPoint(found.first):
        return CopyAsyncOp(
            _in_front(found.source, found.first),
            _in_front(found.destination, found.first),
            sizes=found.sizes,
            source_offsets=[_offset(each, found.first) for each in found.source_offsets],
            destination_offsets=[_offset(each, found.first) for each in found.destination_offsets],
            mbarrier=mbarrier,
            mbarrier_index=entry.zero if found.is_load else None,
            attributes=attributes,
        )


def _offset(total: Sum, first: ir.Operation) -> int | ir.Value:
    value: int | ir.Value = 0
    for term, factor in total.terms:
        value = add(value, multiply(_as_index(_in_front(term, first)), factor))
    return add(value, total.constant)


def _in_front(value: ir.Value, first: ir.Operation) -> ir.Value:
    """``value``, computed once more in front of ``first`` where it is computed inside."""
    op = defining_op(value)
    if op is None or op == first or not is_inside(op, first):
        return value
    operands = [_in_front(operand, first) for operand in op.operands]
    copy = op.clone()
    for number, operand in enumerate(operands):
        copy.operation.operands[number] = operand
    return copy.operation.results[list(op.results).index(value)]


def _as_index(value: ir.Value) -> ir.Value:
    return value if isinstance(value.type, ir.IndexType) else arith.index_cast(ir.IndexType.get(), value)


def _why_not_tma(copy: CopyAsyncOp, target: str) -> list[str]:
    """Reasons, the first one the most telling; none where the copy can be raised."""
    is_load = copy.mbarrier is not None
    tile, tensor = (copy.destination, copy.source) if is_load else (copy.source, copy.destination)
    if shared_root(tile)[0] not in ("global", "dynamic", "attribution"):
        return ["where its shared memory is reserved, and how it is aligned, is not seen"]
    request = copy_request(copy, target)
    if request.dtype.packed:
        bits = request.dtype.bits
        return [f"it moves elements of {bits} bits in a byte each, which a tile.copy_async takes for packed"]
    try:
        plan = plan_copy(request)
        if plan.variant.by_threads:
            plan_copy(dataclasses.replace(request, variant=Variant.TMA))
    except PlanDeclined as declined:
        return [str(declined)]
    if plan.variant is Variant.EMPTY:
        return ["it copies nothing"]
    if plan.variant is Variant.TMA and kernel_argument(tensor) is None:
        return ["its tensor is not an argument of the kernel, so the host cannot encode a descriptor"]
    return [] if plan.variant in (Variant.TMA, Variant.BULK) else ["threads copy it faster"]


PASS = Pass(
    "tile-raise-copies",
    "Make tile.copy_async of ordinary copies between global and shared memory.",
    run,
    options=(chip_option("raise"),),
)
