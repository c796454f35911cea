"""A copy by ordinary instructions: vectors through registers, or ``cp.async``.

The copying thread (or threads) walk the region in row-major order of its sizes, one vector at a time. A vector is never
half outside the tensor; one outside is filled (loads) or skipped (stores).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..bindings import ir
from ..bindings.dialects import arith, llvm, nvvm, scf
from ..hardware import NAN_PATTERN
from ..layout.layout import AddressSwizzle, Layout
from ..layout.swizzle import Swizzle, address_swizzle
from ..plan.copy_request import CopyRequest
from ..plan.tensor_map import OobFill
from .copy_context import CopyContext
from .index_builder import add, constant, materialize, multiply
from .pointers import base_pointer, element_pointer
from .teams import Team, then

Index = int | ir.Value


def emit_thread_copy(
    context: CopyContext, request: CopyRequest, vector_bytes: int, team: Team, *, cp_async: bool
) -> None:
    """Copies every element of ``request`` with accesses of ``vector_bytes``. Waits for its own ``cp.async``."""
    width = vector_bytes // request.dtype.bytes
    sizes = request.global_region.extents
    vectors = math.prod(sizes) // width
    # A region of rank 0 is one element: one vector, at no position.
    shape = [*sizes[:-1], sizes[-1] // width] if sizes else []

    def one(vector: Index) -> None:
        position = _delinearize(vector, shape)
        if position:
            position[-1] = multiply(position[-1], width)
        _copy_vector(context, request, position, vector_bytes, cp_async=cp_async)

    _loop(team.rank, vectors, team.size, one)
    if cp_async:
        nvvm.cp_async_commit_group()
        nvvm.cp_async_wait_group(0)


def _loop(start: Index, count: int, step: Index, body: Callable[[Index], None]) -> None:
    if isinstance(start, int) and isinstance(step, int) and count <= 1:
        for index in range(start, count, step):
            body(index)
        return
    loop = scf.ForOp(materialize(start), constant(count), materialize(step))
    with ir.InsertionPoint(loop.body):
        body(loop.induction_variable)
        scf.yield_([])


def _delinearize(flat: Index, shape: Sequence[int]) -> list[Index]:
    """Row-major index of ``flat`` in ``shape``."""
    index: list[Index] = []
    for extent in reversed(shape):
        if extent == 1:
            index.insert(0, 0)
            continue
        index.insert(0, _remainder(flat, extent))
        flat = _quotient(flat, extent)
    return index


def _remainder(value: Index, divisor: int) -> Index:
    return value % divisor if isinstance(value, int) else arith.remui(value, constant(divisor))


def _quotient(value: Index, divisor: int) -> Index:
    return value // divisor if isinstance(value, int) else arith.divui(value, constant(divisor))


def _copy_vector(
    context: CopyContext, request: CopyRequest, position: list[Index], vector_bytes: int, *, cp_async: bool
) -> None:
    global_index = [
        add(context.value(start), each) for start, each in zip(request.global_region.starts, position, strict=True)
    ]
    inside = _inside(context, request, global_index)
    # The offset of a vector outside is not computed: it may leave the address space of the tensor.
    shared = _shared_pointer(context, request, position)
    type_ = _vector_type(vector_bytes)
    if context.is_load:
        _load_vector(context, request, global_index, inside, shared, type_, vector_bytes, cp_async=cp_async)
        return

    def store() -> None:
        value = llvm.load(type_, shared, alignment=vector_bytes)
        llvm.store(value, _global_pointer(context, request, global_index), alignment=vector_bytes)

    if inside is None:
        store()
        return
    with then(inside):
        store()


def _load_vector(
    context: CopyContext,
    request: CopyRequest,
    global_index: list[Index],
    inside: ir.Value | None,
    shared: ir.Value,
    type_: ir.Type,
    vector_bytes: int,
    *,
    cp_async: bool,
) -> None:
    def copy() -> None:
        pointer = _global_pointer(context, request, global_index)
        if not cp_async:
            llvm.store(llvm.load(type_, pointer, alignment=vector_bytes), shared, alignment=vector_bytes)
            return
        source = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<1>"), pointer)
        # Only 16-byte copies can bypass L1.
        kind = nvvm.LoadCacheModifierKind
        modifier = kind.CG if vector_bytes == 16 else kind.CA
        nvvm.cp_async_shared_global(shared, source, vector_bytes, modifier)

    def fill() -> None:
        llvm.store(_fill(request, type_, vector_bytes), shared, alignment=vector_bytes)

    if inside is None:
        copy()
        return
    branch = scf.IfOp(inside, has_else=True)
    for block, build in ((branch.then_block, copy), (branch.else_block, fill)):
        with ir.InsertionPoint(block):
            build()
            scf.yield_([])


def _inside(context: CopyContext, request: CopyRequest, index: Sequence[Index]) -> ir.Value | None:
    """Whether the vector that starts at ``index`` lies in the tensor; None where that is certain."""
    if request.in_bounds:
        return None
    condition: ir.Value | None = None
    region = request.global_region
    for start, extent, dim, each in zip(region.starts, region.extents, request.global_shape, index, strict=True):
        if isinstance(start, int) and isinstance(dim, int) and start >= 0 and start + extent <= dim:
            continue
        # One unsigned comparison is both: a negative index is a huge one.
        below = arith.cmpi(arith.CmpIPredicate.ult, materialize(each), materialize(context.value(dim)))
        condition = below if condition is None else arith.andi(condition, below)
    return condition


def _global_pointer(context: CopyContext, request: CopyRequest, index: Sequence[Index]) -> ir.Value:
    layout = request.global_layout
    offset = _offset(context, layout, request.global_shape, index)
    bytes_ = multiply(add(offset, context.value(layout.offset)), request.dtype.bytes)
    return base_pointer(context.tensor, 0, bytes_)


def _shared_pointer(context: CopyContext, request: CopyRequest, position: Sequence[Index]) -> ir.Value:
    kept = _matched(request.global_region.extents, request.shared_region.extents, position)
    index = [add(context.value(start), each) for start, each in zip(request.shared_region.starts, kept, strict=True)]
    offset = multiply(_offset(context, request.shared_layout, request.shared_shape, index), request.dtype.bytes)
    swizzle = request.shared_swizzle
    if isinstance(swizzle, Swizzle):
        swizzle = address_swizzle(swizzle)
    pointer = element_pointer(context.tile, request.dtype.bytes, 3, offset)
    return pointer if swizzle is None or not swizzle.bits else _swizzled(pointer, swizzle)


def _matched(global_sizes: Sequence[int], shared_sizes: Sequence[int], position: Sequence[Index]) -> list[Index]:
    """The position in the shared region: sizes above one match in order, unit sizes are position 0."""
    above_one = iter([each for each, size in zip(position, global_sizes, strict=True) if size != 1])
    return [0 if size == 1 else next(above_one) for size in shared_sizes]


def _offset(context: CopyContext, layout: Layout, shape: Sequence, index: Sequence[Index]) -> Index:
    """Elements from the layout's start, without its own offset."""
    if tuple(layout.extents) == tuple(shape):
        parts: Sequence[Index] = index
    else:
        flat: Index = 0
        for each, extent in zip(index, shape, strict=True):
            flat = add(multiply(flat, context.value(extent)), each)
        parts = _delinearize(flat, [int(extent) for extent in layout.extents])  # type: ignore[arg-type]
    offset: Index = 0
    for part, stride in zip(parts, layout.strides, strict=True):
        offset = add(offset, multiply(part, context.value(stride)))
    return offset


def _swizzled(pointer: ir.Value, swizzle: AddressSwizzle) -> ir.Value:
    """The pointer with the XOR of the swizzle applied to its address."""
    i64 = ir.IntegerType.get_signless(64)

    def number(value: int) -> ir.Value:
        return arith.constant(i64, value)

    address = llvm.ptrtoint(i64, pointer)
    high = arith.andi(address, number(((1 << swizzle.bits) - 1) << (swizzle.base + swizzle.shift)))
    return llvm.inttoptr(pointer.type, arith.xori(address, arith.shrui(high, number(swizzle.shift))))


def _vector_type(vector_bytes: int) -> ir.Type:
    if vector_bytes == 16:
        return ir.Type.parse("vector<4xi32>")
    return ir.IntegerType.get_signless(8 * vector_bytes)


def _fill(request: CopyRequest, type_: ir.Type, vector_bytes: int) -> ir.Value:
    if request.oob_fill is OobFill.ZERO:
        pattern = 0
    else:
        pattern = int.from_bytes(NAN_PATTERN.to_bytes(2, "little") * (min(vector_bytes, 4) // 2), "little")
    if vector_bytes == 16:
        return llvm.mlir_constant(ir.Attribute.parse(f"dense<{pattern}> : vector<4xi32>"))
    if vector_bytes == 8 and pattern:
        pattern |= pattern << 32
    return llvm.mlir_constant(ir.IntegerAttr.get(type_, pattern))
