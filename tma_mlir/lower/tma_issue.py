"""One TMA instruction, in nvgpu where it can say it, else in nvvm."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, builtin, llvm, memref, nvgpu, nvvm

from ..dialect.memrefs import read_memref
from ..dtypes import dtype
from ..plan import TensorMap
from .descriptors import nvgpu_says
from .index_builder import add, exact_divide, materialize
from .pointers import element_offset, element_pointer, mbarrier_pointer


@dataclass(frozen=True)
class Issue:
    """Operands of one instruction. ``coordinates`` are in driver order; loads have an mbarrier, stores have none."""

    tensor_map: TensorMap
    descriptor: ir.Value
    coordinates: list[int | ir.Value]
    tile: ir.Value
    shared_offset_bytes: int | ir.Value
    mbarrier: ir.Value | None
    mbarrier_index: ir.Value | None


def emit_issue(issue: Issue) -> None:
    """Builds the operation at the current insertion point."""
    layout = read_memref(issue.tile.type)
    assert layout is not None
    if nvgpu_says(issue.tensor_map, layout.element):
        _emit_nvgpu(issue, layout.element)
    else:
        _emit_nvvm(issue, dtype(layout.element).bytes)


def _emit_nvgpu(issue: Issue, element: str) -> None:
    view = _box_view(issue, element)
    coordinates = [materialize(each) for each in issue.coordinates]
    if issue.mbarrier is None:
        nvgpu.tma_async_store(view, issue.descriptor, coordinates)
        return
    nvgpu.tma_async_load(view, issue.mbarrier, issue.descriptor, coordinates, issue.mbarrier_index)


def _box_view(issue: Issue, element: str) -> ir.Value:
    """The shared box as the dense memref, in memref order, that the nvgpu operations take."""
    shape = list(reversed(issue.tensor_map.box))
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    offset = add(element_offset(issue.tile), exact_divide(issue.shared_offset_bytes, dtype(element).bytes))
    static = isinstance(offset, int)
    place = f", offset: {offset if static else '?'}" if not static or offset else ""
    type_ = ir.Type.parse(
        f"memref<{'x'.join(map(str, shape))}x{element}, strided<{strides}{place}>, #gpu.address_space<workgroup>>"
    )
    return memref.ReinterpretCastOp(
        type_,
        issue.tile,
        [] if static else [offset],
        [],
        [],
        [offset] if static else [ir.ShapedType.get_dynamic_size()],
        shape,
        strides,
    ).result


def _emit_nvvm(issue: Issue, element_bytes: int) -> None:
    i32 = ir.IntegerType.get_signless(32)
    pointer = element_pointer(issue.tile, element_bytes, 3, issue.shared_offset_bytes)
    descriptor = builtin.unrealized_conversion_cast([ir.Type.parse("!llvm.ptr")], [issue.descriptor])
    coordinates = [
        arith.constant(i32, each) if isinstance(each, int) else arith.index_cast(i32, each)
        for each in issue.coordinates
    ]
    if issue.mbarrier is None:
        nvvm.cp_async_bulk_tensor_global_shared_cta(descriptor, pointer, coordinates)
        return
    cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), pointer)
    assert issue.mbarrier_index is not None
    barrier = mbarrier_pointer(issue.mbarrier, issue.mbarrier_index)
    nvvm.cp_async_bulk_tensor_shared_cluster_global(cluster, descriptor, coordinates, barrier, [])
