"""``convert-tile-to-nvgpu``: turns planned copies into instructions.

nvgpu says what it can; what it cannot (another element type than the memref's, a box narrower than its swizzle, bulk
copies without a descriptor) becomes the nvvm operation. What TMA cannot do is copied by threads under the same
completion protocol. Descriptors become ``tile.create_descriptor`` at the top of the kernel, one for each distinct
tensor map and tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from ..abi.signature import ALIGNMENTS, CHIP, MAY_STORE_NOTHING
from ..analysis.copy_requests import RequestReader
from ..analysis.global_views import viewed_argument
from ..analysis.ir_access import block_owner, collect, copies_in, enclosing, function_inputs
from ..analysis.shared_tiles import Declarations, placement, raise_alignment
from ..analysis.stale_plans import stale_plan_error
from ..bindings import ir
from ..bindings.dialects import scf
from ..dialect.plan_attr import PLAN, PlanReader
from ..dialect.prefetch_op import PrefetchAsyncOp
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError, TileErrors
from ..lower.clusters import arriving_bytes, is_member
from ..lower.completion import announce, complete, make_visible
from ..lower.completion_ops import lower_completion_ops
from ..lower.copy_context import CopyContext
from ..lower.descriptors import DescriptorPool
from ..lower.guards import guard_condition
from ..lower.prefetch import lower_prefetches, prefetch_descriptors
from ..lower.rebase import lower_rebases
from ..lower.teams import team, then
from ..lower.thread_copy import emit_thread_copy
from ..lower.tma_copy import emit_tma_copy
from ..plan.copy_plan import CopyPlan
from ..plan.enums import Variant
from .registry import Option, Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    pool, declarations, requests = DescriptorPool(), Declarations(), RequestReader()
    planned = _plans(copies_in(op), requests)
    prefetches = [each.opview for each in collect(op, (PrefetchAsyncOp.OPERATION_NAME,))]
    planned_prefetches = _plans(prefetches, requests)
    for copy, plan in planned:
        with copy.operation.context, copy.operation.location, ir.InsertionPoint(copy.operation):
            context = CopyContext(copy)
            _name_chip(copy.operation, plan)
            if plan.variant is not Variant.EMPTY:
                _align(context, plan, declarations)
                _rely_on_alignment(context, plan)
            if not context.is_load and _may_store_nothing(context, plan):
                function = enclosing(copy.operation, "gpu.func")
                if function is not None:
                    function.attributes[MAY_STORE_NOTHING] = ir.UnitAttr.get()
            _predicated(context, plan, pool)
        copy.operation.erase()
    lower_prefetches(planned_prefetches, pool)
    lower_completion_ops(op)
    lower_rebases(op)
    if options["prefetch-descriptors"]:
        prefetch_descriptors(op)


Planned = TypeVar("Planned", CopyAsyncOp, PrefetchAsyncOp)


def _plans(ops: list[Planned], requests: RequestReader) -> list[tuple[Planned, CopyPlan]]:
    """Each operation with its plan. All are read before anything is lowered: what defines the offsets still stands."""
    plans = PlanReader()
    errors = [error for op in ops if (error := stale_plan_error(op, plans, requests))]
    missing = (op.operation for op in ops if PLAN not in op.operation.attributes)
    errors += [TileError(op.location, f"'{op.name}' op has no plan. Run tile-plan-copies first") for op in missing]
    if errors:
        raise TileErrors(errors)
    return [(op, plans.read(op.operation.attributes[PLAN])) for op in ops]


def _may_store_nothing(context: CopyContext, plan: CopyPlan) -> bool:
    """Whether later passes may rightly leave nothing of a store: they see that it is off, or that threads would store
    outside of the tensor only."""
    return context.predicate is not None or bool(plan.guards) or plan.variant not in (Variant.TMA, Variant.BULK)


def _align(context: CopyContext, plan: CopyPlan, declarations: Declarations) -> None:
    root = placement(context.tile, context.element_bytes).root
    if not raise_alignment(root, plan.shared_alignment_bytes, declarations):
        raise TileError(
            context.location,
            f"'tile.copy_async' op needs shared memory aligned to {plan.shared_alignment_bytes} bytes, and cannot see "
            "where its tile is reserved. Use a memref.global, a workgroup attribution or gpu.dynamic_shared_memory",
        )


def _name_chip(op: ir.Operation, plan: CopyPlan) -> None:
    """Notes on the kernel which chip its instructions are for: another may not have them."""
    function = enclosing(op, "gpu.func")
    if function is not None:
        function.attributes[CHIP] = ir.StringAttr.get(plan.request.chip)


def _rely_on_alignment(context: CopyContext, plan: CopyPlan) -> None:
    """Notes on the kernel what the copy needs of the address of its tensor, for the host to check at launch. Of tensor
    maps it checks that anyway."""
    by_threads = plan.vector_bytes if plan.fallback is None else plan.fallback.vector_bytes
    needed = plan.request.global_alignment_bytes if plan.variant is Variant.BULK else by_threads
    argument = viewed_argument(context.tensor)
    function = None if argument is None else block_owner(argument)
    if needed <= context.element_bytes or argument is None or function is None or function.name != "gpu.func":
        return
    inputs = function_inputs(function)
    if argument.arg_number < len(inputs):
        alignments = [1] * len(inputs)
        if ALIGNMENTS in function.attributes:
            alignments = list(ir.DenseI64ArrayAttr(function.attributes[ALIGNMENTS]))
        alignments[argument.arg_number] = max(needed, alignments[argument.arg_number])
        function.attributes[ALIGNMENTS] = ir.DenseI64ArrayAttr.get(alignments)


def _predicated(context: CopyContext, plan: CopyPlan, pool: DescriptorPool) -> None:
    if context.predicate is None:
        _copy(context, plan, pool)
        return
    with then(context.predicate):
        _copy(context, plan, pool)


def _copy(context: CopyContext, plan: CopyPlan, pool: DescriptorPool) -> None:
    """Announcement and copy; where the plan has guards, the thread copy on the other side of them."""
    workers = team(context.op.scope)
    # A share of a split load is what one CTA issues; the tile that a CTA receives has all of them.
    transaction = plan.transaction_bytes * context.cluster.split
    if not transaction:
        transaction = context.element_bytes * math.prod(context.op.sizes)

    def issue() -> None:
        load, mask = context.cluster, context.multicast_mask
        if load.split == 1 or load.all_members or mask is None:
            emit_tma_copy(context, plan, pool)
            return
        with then(is_member(mask)):
            emit_tma_copy(context, plan, pool)

    def announce_bytes() -> None:
        if context.has("announce_bytes"):
            announce(context, context.integer("announce_bytes", transaction))
        else:
            announce(context, arriving_bytes(context.cluster, context.multicast_mask, transaction))

    def by_threads(variant: Variant, vector_bytes: int) -> None:
        emit_thread_copy(context, plan.request, vector_bytes, workers, cp_async=variant is Variant.CP_ASYNC)
        if context.is_load:
            make_visible()
            workers.synchronise()
            workers.leader(lambda: complete(context, transaction))

    if context.is_load and context.has("expect_tx"):
        workers.leader(announce_bytes)
    if plan.variant is Variant.EMPTY:
        return
    if plan.variant.by_threads:
        by_threads(plan.variant, plan.vector_bytes)
    elif not plan.guards:
        workers.leader(issue)
    else:
        assert plan.fallback is not None, "tile-plan-copies refuses guards without a fallback"
        branch = scf.IfOp(guard_condition(context.value, plan.guards), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            workers.leader(issue)
            scf.yield_([])
        with ir.InsertionPoint(branch.else_block):
            by_threads(plan.fallback.variant, plan.fallback.vector_bytes)
            scf.yield_([])


PASS = Pass(
    "convert-tile-to-nvgpu",
    "Lower planned copies to nvgpu and nvvm operations.",
    run,
    options=(Option("prefetch-descriptors", bool, False, "fetch every descriptor at the top of its kernel"),),
)
