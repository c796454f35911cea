"""Where the global side of a copy comes from: folding ``memref.subview`` into offsets, finding the kernel argument."""

from __future__ import annotations

from ..bindings import ir
from ..bindings.dialects import arith
from ..dialect.assumptions import ASSUME
from ..dialect.copy_modes import mode_of
from ..dialect.memrefs import read_memref
from ..dialect.rebase_op import RebaseTensorOp
from ..dialect.tile import DYNAMIC, CopyAsyncOp
from .ir_access import attribute_names, block_owner, defining_op, function_inputs
from .memref_views import TYPED_VIEWS


def kernel_argument(value: ir.Value) -> ir.BlockArgument | None:
    """The ``gpu.func`` argument that ``value`` is a view of (perhaps at another address), if the host can compute it.

    Views change the type only, so a view whose type is static, or a cast of the argument itself, will do.
    """
    while (op := defining_op(value)) is not None:
        if op.name == RebaseTensorOp.OPERATION_NAME:
            value = op.operands[0]
            continue
        if op.name not in TYPED_VIEWS:
            return None
        memref = read_memref(value.type)
        static = memref is not None and None not in (*memref.shape, *memref.strides, memref.offset)
        if not static and op.name != "memref.cast":
            return None
        value = op.operands[0]
    argument, function = ir.BlockArgument(value), block_owner(value)
    is_input = function.name == "gpu.func" and argument.arg_number < len(function_inputs(function))
    return argument if is_input else None


def viewed_argument(value: ir.Value) -> ir.BlockArgument | None:
    """The block argument that ``value`` is any view of."""
    while (op := defining_op(value)) is not None:
        if op.name not in TYPED_VIEWS:
            return None
        value = op.operands[0]
    return ir.BlockArgument(value)


def rebased_by(value: ir.Value) -> RebaseTensorOp | None:
    """The operation that has given the tensor of ``value`` another address, if one has."""
    while (op := defining_op(value)) is not None:
        if op.name == RebaseTensorOp.OPERATION_NAME:
            return op.opview  # type: ignore[return-value]
        if op.name not in TYPED_VIEWS:
            return None
        value = op.operands[0]
    return None


def fold_global_subviews(copy: CopyAsyncOp) -> CopyAsyncOp:
    """``copy`` with ``memref.subview`` producers of its global side turned into offsets; the old operation is erased.

    A subview lies inside its source, so a region inside the subview is in bounds. A region that may leave the subview
    is not folded: outside of the subview is out of bounds, wherever the source ends.
    """
    while mode_of(copy) == "tile" and (folded := _fold_once(copy)) is not None:
        copy = folded
    return copy


def _fold_once(copy: CopyAsyncOp) -> CopyAsyncOp | None:
    global_is_source = _is_global(copy.source)
    tensor = copy.source if global_is_source else copy.destination
    view = defining_op(tensor)
    if view is None or view.name != "memref.subview":
        return None
    strides = list(ir.DenseI64ArrayAttr(view.attributes["static_strides"]))
    offsets = copy.source_offsets if global_is_source else copy.destination_offsets
    view_sizes = list(ir.DenseI64ArrayAttr(view.attributes["static_sizes"]))
    kept = _kept_dimensions(view, view_sizes, tensor.type)
    if any(stride != 1 for stride in strides) or kept is None:
        return None
    for offset, size, dimension in zip(offsets, copy.sizes, kept, strict=True):
        inside = isinstance(offset, int) and offset >= 0 and offset + size <= view_sizes[dimension]
        if not inside:
            return None
    # Operand segments of memref.subview: source, offsets, sizes, strides.
    dynamic = iter(list(view.operands)[1:])
    view_offsets: list[int | ir.Value] = [
        next(dynamic) if each == DYNAMIC else each for each in ir.DenseI64ArrayAttr(view.attributes["static_offsets"])
    ]
    sizes = [1] * len(view_sizes)
    with ir.InsertionPoint(copy.operation), copy.operation.location:
        for position, dimension in enumerate(kept):
            view_offsets[dimension] = _sum(view_offsets[dimension], offsets[position])
            sizes[dimension] = copy.sizes[position]
        return _rebuild(copy, view.operands[0], global_is_source, view_offsets, sizes)


def _is_global(value: ir.Value) -> bool:
    memref = read_memref(value.type)
    return memref is not None and memref.space == "global"


def _kept_dimensions(view: ir.Operation, sizes: list[int], result: ir.Type) -> list[int] | None:
    """Source dimensions that remain in a rank-reducing subview, found by size and stride."""
    memref, source = read_memref(result), read_memref(view.operands[0].type)
    if memref is None or source is None:
        return None
    if memref.rank == source.rank:
        return list(range(memref.rank))
    kept: list[int] = []
    for dimension, (size, stride) in enumerate(zip(sizes, source.strides, strict=True)):
        position = len(kept)
        matches = (
            position < memref.rank
            and memref.shape[position] == (None if size == DYNAMIC else size)
            and memref.strides[position] == stride
        )
        if matches:
            kept.append(dimension)
        elif size != 1:
            return None
    return kept if len(kept) == memref.rank else None


def _sum(left: int | ir.Value, right: int | ir.Value) -> int | ir.Value:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(right, int) and right == 0:
        return left
    if isinstance(left, int) and left == 0:
        return right
    index = ir.IndexType.get()
    operands = [arith.constant(index, each) if isinstance(each, int) else each for each in (left, right)]
    return arith.addi(*operands)


def _rebuild(
    copy: CopyAsyncOp, tensor: ir.Value, global_is_source: bool, offsets: list[int | ir.Value], sizes: list[int]
) -> CopyAsyncOp:
    replaced = {"static_source_offsets", "static_destination_offsets", "sizes", "operandSegmentSizes"}
    attributes = copy.operation.attributes
    kept = {name: attributes[name] for name in attribute_names(copy.operation) if name not in replaced}
    if ASSUME in kept:
        # What was said of the view's offsets and sizes is not true of its source's; of strides it is, one by one.
        true_still = {f"{'destination' if global_is_source else 'source'}_offsets"}
        old = copy.source if global_is_source else copy.destination
        if ir.MemRefType(old.type).rank == ir.MemRefType(tensor.type).rank:
            true_still.add("global_strides")
        promises = ir.DictAttr(kept[ASSUME])
        kept[ASSUME] = ir.DictAttr.get({each.name: each.attr for each in promises if each.name in true_still})
    kept["in_bounds"] = ir.UnitAttr.get()
    rebuilt = CopyAsyncOp(
        tensor if global_is_source else copy.source,
        copy.destination if global_is_source else tensor,
        sizes=sizes,
        source_offsets=offsets if global_is_source else copy.source_offsets,
        destination_offsets=copy.destination_offsets if global_is_source else offsets,
        mbarrier=copy.mbarrier,
        mbarrier_index=copy.mbarrier_index,
        predicate=copy.predicate,
        multicast_mask=copy.multicast_mask,
        cache_hint=copy.cache_hint,
        attributes=kept,
    )
    copy.operation.erase()
    return rebuilt
