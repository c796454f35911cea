"""``tile.prefetch_async`` as tensor prefetches to L2, and descriptor prefetches at the top of kernels."""

from __future__ import annotations

import functools

from mlir import ir
from mlir.dialects import arith, builtin, nvgpu, nvvm

from ..analysis.copy_requests import prefetch_offset_values, prefetch_request
from ..analysis.global_views import kernel_argument
from ..analysis.ir_access import collect
from ..chips import DEFAULT_CHIP, Feature
from ..diagnostics import remark
from ..dialect.copy_modes import mode_of
from ..dialect.prefetch_op import CHIP, PrefetchAsyncOp
from ..dialect.tile import CreateDescriptorOp
from ..plan import CopyPlan, PlanDeclined, plan_copy, rules
from .copy_context import plan_value
from .descriptors import DescriptorPool
from .instruction_modes import im2col_offset, load_mode
from .issue_loops import Index, loop_nest, stepped
from .teams import team, then


def lower_prefetches(root: ir.Operation, pool: DescriptorPool) -> None:
    """Replaces every prefetch under ``root``; one that TMA cannot do is dropped with a remark."""
    for op in collect(root, (PrefetchAsyncOp.OPERATION_NAME,)):
        prefetch: PrefetchAsyncOp = op.opview  # type: ignore[assignment]
        with op.context, op.location, ir.InsertionPoint(op):
            _lower(prefetch, pool)
        op.erase()


def _lower(prefetch: PrefetchAsyncOp, pool: DescriptorPool) -> None:
    location = prefetch.operation.location
    argument = kernel_argument(prefetch.source)
    if argument is None:
        remark(location, "prefetch dropped: its tensor is not an argument of the kernel")
        return
    if 0 in prefetch.sizes:
        return
    try:
        chip = _chip(prefetch)
        form = rules.gather_supported(chip, Feature.GATHER4_PREFETCH)
        if mode_of(prefetch) == "gather4" and (broken := rules.broken([form])):
            raise PlanDeclined(broken)
        plan = plan_copy(prefetch_request(prefetch, chip))
    except PlanDeclined as declined:
        remark(location, f"prefetch dropped: {declined}")
        return
    if plan.guards:
        remark(location, f"prefetch dropped: {'; '.join(str(guard.finding) for guard in plan.guards)}")
        return
    if prefetch.predicate is None:
        _issue(prefetch, plan, argument, pool)
        return
    with then(prefetch.predicate):
        _issue(prefetch, plan, argument, pool)


def _chip(prefetch: PrefetchAsyncOp) -> str:
    """What ``tile-plan-copies`` was told to plan for."""
    attributes = prefetch.operation.attributes
    return ir.StringAttr(attributes[CHIP]).value if CHIP in attributes else DEFAULT_CHIP


def _issue(prefetch: PrefetchAsyncOp, plan: CopyPlan, argument: ir.BlockArgument, pool: DescriptorPool) -> None:
    i32 = ir.IntegerType.get_signless(32)
    offsets = prefetch_offset_values(prefetch)
    for group in plan.groups:
        made = pool.of(prefetch.source, argument, plan.tensor_maps[group.tensor_map], plan.host_checks)
        descriptor = builtin.unrealized_conversion_cast([ir.Type.parse("!llvm.ptr")], [made])
        starts = [plan_value(each.numerator, offsets, prefetch.source) for each in group.coordinates]

        def emit(indices: list[Index], group=group, descriptor=descriptor, starts=starts) -> None:
            coordinates = [
                stepped(start, indices, [steps[dimension] for steps in group.coordinate_steps])
                for dimension, start in enumerate(starts)
            ]
            values = [
                arith.constant(i32, each) if isinstance(each, int) else arith.index_cast(i32, each)
                for each in coordinates
            ]
            nvvm.cp_async_bulk_tensor_prefetch(
                descriptor,
                values,
                [im2col_offset(plan_value(each, offsets, prefetch.source)) for each in group.im2col_offsets],
                mode=load_mode(group.mode),
                l2_cache_hint=prefetch.cache_hint,
            )

        loop_nest(group.loops, emit)


def prefetch_descriptors(root: ir.Operation) -> None:
    """One thread of each kernel fetches its descriptors before it needs them."""
    for function in collect(root, ("gpu.func",)):
        made = collect(function, (CreateDescriptorOp.OPERATION_NAME,))
        if not made:
            continue
        block = function.regions[0].blocks[0]
        after = block.operations[len(made)]
        descriptors = [each.results[0] for each in made]
        with function.context, function.location, ir.InsertionPoint(after):
            team("cta").leader(functools.partial(_prefetch_all, descriptors))


def _prefetch_all(descriptors: list[ir.Value]) -> None:
    for descriptor in descriptors:
        nvgpu.tma_prefetch_descriptor(descriptor)
