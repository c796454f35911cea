"""``tile.prefetch_async`` as tensor prefetches to L2, and descriptor prefetches at the top of kernels."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..analysis.copy_requests import prefetch_offset_values
from ..analysis.ir_access import collect
from ..bindings import ir
from ..bindings.dialects import arith, builtin, nvvm
from ..dialect.prefetch_op import PrefetchAsyncOp
from ..dialect.tile import CreateDescriptorOp
from ..plan.copy_plan import CopyPlan
from ..plan.enums import Scope
from . import nvgpu_ops as nvgpu
from .copy_context import coordinate_value, plan_value
from .descriptors import DescriptorPool
from .guards import guard_condition
from .instruction_modes import im2col_offset, load_mode
from .issue_loops import Index, loop_nest, stepped_start
from .teams import team, then


def lower_prefetches(planned: Sequence[tuple[PrefetchAsyncOp, CopyPlan]], pool: DescriptorPool) -> None:
    """Replaces every prefetch by the instructions of its plan."""
    for prefetch, plan in planned:
        op = prefetch.operation
        with op.context, op.location, ir.InsertionPoint(op):
            conditions = [] if prefetch.predicate is None else [prefetch.predicate]
            if plan.guards:
                offsets = prefetch_offset_values(prefetch)
                value = functools.partial(plan_value, offsets=offsets, tensor=prefetch.source)
                conditions.append(guard_condition(value, plan.guards))
            if conditions:
                with then(functools.reduce(arith.andi, conditions)):
                    _issue(prefetch, plan, pool)
            else:
                _issue(prefetch, plan, pool)
        op.erase()


def _issue(prefetch: PrefetchAsyncOp, plan: CopyPlan, pool: DescriptorPool) -> None:
    argument = pool.argument_of(prefetch.source)
    assert argument is not None or not plan.groups, "tile-plan-copies drops the prefetches of other tensors"
    i32 = ir.IntegerType.get_signless(32)
    offsets = prefetch_offset_values(prefetch)
    for group in plan.groups:
        made = pool.of(prefetch.source, argument, plan.tensor_maps[group.tensor_map], plan)
        descriptor = builtin.unrealized_conversion_cast([ir.Type.parse("!llvm.ptr")], [made])
        starts = [coordinate_value(each, offsets, prefetch.source) for each in group.coordinates]

        def emit(indices: list[Index], group=group, descriptor=descriptor, starts=starts) -> None:
            coordinates = stepped_start(starts, indices, group.loops)
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

        loop_nest([loop.extent for loop in group.loops], emit)


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
            team(Scope.CTA).leader(functools.partial(_prefetch_all, descriptors))


def _prefetch_all(descriptors: list[ir.Value]) -> None:
    for descriptor in descriptors:
        nvgpu.tma_prefetch_descriptor(descriptor)
