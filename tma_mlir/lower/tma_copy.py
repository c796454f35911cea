"""A copy as TMA instructions: descriptors, coordinates, issue loops, and the bulk copies that go with them."""

from __future__ import annotations

from ..bindings import ir
from ..bindings.dialects import arith, llvm, nvvm
from ..errors import TileError
from ..plan.copy_plan import BulkGroup, CopyPlan, IssueGroup
from .copy_context import CopyContext
from .descriptors import DescriptorPool
from .index_builder import materialize
from .issue_loops import Index, loop_nest, stepped, stepped_start
from .pointers import base_pointer, element_pointer, mbarrier_pointer
from .tma_issue import Issue, cache_hint, emit_issue


def emit_tma_copy(context: CopyContext, plan: CopyPlan, pool: DescriptorPool) -> None:
    """Builds every instruction of a ``tma`` or ``bulk`` plan at the current insertion point."""
    for group in plan.groups:
        _emit_group(context, plan, group, pool)
    for bulk in plan.bulk_groups:
        _emit_bulk(context, bulk)


def _emit_group(context: CopyContext, plan: CopyPlan, group: IssueGroup, pool: DescriptorPool) -> None:
    argument = pool.argument_of(context.tensor)
    if argument is None:
        raise TileError(
            context.location,
            "'tile.copy_async' op needs a descriptor that the host can encode, but its global side is not an argument "
            "of a gpu.func (nor a static view of one). Pass the tensor to the kernel and give offsets to the copy",
        )
    map_ = plan.tensor_maps[group.tensor_map]
    descriptor = pool.of(context.tensor, argument, map_, plan)
    starts = [context.coordinate(each) for each in group.coordinates]
    offset = context.value(group.shared_offset_bytes)
    filter_offsets = [context.value(each) for each in group.im2col_offsets]

    def emit(indices: list[Index]) -> None:
        coordinates = stepped_start(starts, indices, group.loops)
        shared = stepped(offset, indices, [loop.shared_step_bytes for loop in group.loops])
        emit_issue(context, Issue(map_, descriptor, coordinates, shared, group.mode, filter_offsets))

    loop_nest([loop.extent for loop in group.loops], emit)


def _emit_bulk(context: CopyContext, group: BulkGroup) -> None:
    global_offset = context.value(group.global_offset_bytes)
    shared_offset = context.value(group.shared_offset_bytes)

    def emit(indices: list[Index]) -> None:
        # The global offset contains the memref's own; the shared one is from the tile's first element.
        (start,) = stepped_start([global_offset], indices, group.loops)
        pointer = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<1>"), base_pointer(context.tensor, 0, start))
        shared = stepped(shared_offset, indices, [loop.shared_step_bytes for loop in group.loops])
        tile = element_pointer(context.tile, context.element_bytes, 3, shared)
        size = arith.constant(ir.IntegerType.get_signless(32), group.size_bytes)
        hint = cache_hint(context)
        if not context.is_load:
            nvvm.cp_async_bulk_global_shared_cta(pointer, tile, size, l2_cache_hint=hint)
            return
        cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), tile)
        assert context.mbarrier is not None
        assert context.mbarrier_index is not None
        barrier = mbarrier_pointer(context.mbarrier, materialize(context.mbarrier_index))
        nvvm.cp_async_bulk_shared_cluster_global(cluster, pointer, barrier, size, l2_cache_hint=hint)

    loop_nest([loop.extent for loop in group.loops], emit)
