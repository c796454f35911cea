"""One TMA instruction, in nvgpu where it can say it, else in nvvm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..bindings import ir
from ..bindings.dialects import arith, builtin, llvm, memref, nvvm
from ..dtypes import dtype
from ..plan.enums import InstructionMode, MbarrierCta
from ..plan.tensor_map import TensorMap
from . import nvgpu_ops as nvgpu
from .cache_policy import cache_policy
from .clusters import as_shared, mbarrier_of_pair
from .copy_context import CopyContext
from .descriptors import nvgpu_says
from .index_builder import add, exact_divide, materialize
from .instruction_modes import im2col_offset, load_mode, store_mode
from .pointers import element_offset, element_pointer, mbarrier_pointer


@dataclass(frozen=True)
class Issue:
    """Operands of one instruction. ``coordinates`` are in driver order, of the descriptor's elements; ``mode`` and
    ``im2col_offsets`` as in ``IssueGroup``."""

    tensor_map: TensorMap
    descriptor: ir.Value
    coordinates: list[int | ir.Value]
    shared_offset_bytes: int | ir.Value
    mode: InstructionMode = InstructionMode.TILE
    im2col_offsets: Sequence[int | ir.Value] = ()


def emit_issue(context: CopyContext, issue: Issue) -> None:
    """Builds the operation at the current insertion point."""
    if (
        issue.mode is InstructionMode.TILE
        and nvgpu_says(issue.tensor_map, context.tile_layout.element)
        and _plain(context)
    ):
        _emit_nvgpu(context, issue)
    else:
        _emit_nvvm(context, issue)


def _plain(context: CopyContext) -> bool:
    """Whether the copy has no option that nvgpu lacks. It has multicast."""
    return not any(context.has(each) for each in ("reduce", "cache")) and (
        context.cache_hint is None and context.integer("cta_group", 1) == 1
    )


def _emit_nvgpu(context: CopyContext, issue: Issue) -> None:
    view = _box_view(context, issue)
    coordinates = [materialize(each) for each in issue.coordinates]
    if not context.is_load:
        nvgpu.tma_async_store(view, issue.descriptor, coordinates)
        return
    nvgpu.tma_async_load(
        view,
        context.mbarrier,
        issue.descriptor,
        coordinates,
        context.mbarrier_index,
        multicast_mask=context.multicast_mask,
    )


def _box_view(context: CopyContext, issue: Issue) -> ir.Value:
    """The shared box as the dense memref, in memref order, that the nvgpu operations take."""
    element = context.tile_layout.element
    shape = list(reversed(issue.tensor_map.box))
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    own = context.tile_layout.offset
    offset = element_offset(context.tile) if own is None else own
    offset = add(offset, exact_divide(issue.shared_offset_bytes, dtype(element).bytes))
    static = isinstance(offset, int)
    place = f", offset: {offset if static else '?'}" if not static or offset else ""
    type_ = ir.Type.parse(
        f"memref<{'x'.join(map(str, shape))}x{element}, strided<{strides}{place}>, #gpu.address_space<workgroup>>"
    )
    return memref.ReinterpretCastOp(
        type_,
        context.tile,
        [] if static else [offset],
        [],
        [],
        [offset] if static else [ir.ShapedType.get_dynamic_size()],
        shape,
        strides,
    ).result


def _emit_nvvm(context: CopyContext, issue: Issue) -> None:
    i32 = ir.IntegerType.get_signless(32)
    pointer = element_pointer(context.tile, context.element_bytes, 3, issue.shared_offset_bytes)
    descriptor = builtin.unrealized_conversion_cast([ir.Type.parse("!llvm.ptr")], [issue.descriptor])
    coordinates = [
        arith.constant(i32, each) if isinstance(each, int) else arith.index_cast(i32, each)
        for each in issue.coordinates
    ]
    hint = cache_hint(context)
    if context.is_load:
        _emit_nvvm_load(context, issue, pointer, descriptor, coordinates, hint)
    elif context.has("reduce"):
        kind = ir.Attribute.parse(f"#nvvm.tma_redux_kind<{context.string('reduce')}>")
        nvvm.cp_async_bulk_tensor_reduce(descriptor, pointer, kind, coordinates, l2_cache_hint=hint)
    else:
        nvvm.cp_async_bulk_tensor_global_shared_cta(
            descriptor, pointer, coordinates, l2_cache_hint=hint, mode=store_mode(issue.mode)
        )


def cache_hint(context: CopyContext) -> ir.Value | None:
    """The copy's L2 policy as an i64, from its operand or its attribute."""
    if context.cache_hint is not None:
        return context.cache_hint
    return cache_policy(context.string("cache")) if context.has("cache") else None


def _emit_nvvm_load(
    context: CopyContext,
    issue: Issue,
    pointer: ir.Value,
    descriptor: ir.Value,
    coordinates: list[ir.Value],
    hint: ir.Value | None,
) -> None:
    assert context.mbarrier is not None
    assert context.mbarrier_index is not None
    barrier = mbarrier_pointer(context.mbarrier, context.mbarrier_index)
    if context.cluster.mbarrier_cta is not MbarrierCta.OWN:
        barrier = as_shared(mbarrier_of_pair(context.cluster.mbarrier_cta, barrier))
    pair = context.integer("cta_group", 1) == 2
    cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), pointer)
    nvvm.cp_async_bulk_tensor_shared_cluster_global(
        cluster,
        descriptor,
        coordinates,
        barrier,
        [im2col_offset(each) for each in issue.im2col_offsets],
        multicast_mask=context.multicast_mask,
        l2_cache_hint=hint,
        mode=load_mode(issue.mode),
        group=ir.Attribute.parse("#nvvm.cta_group<cta_2>") if pair else None,
    )
