"""LLVM pointers behind memrefs and mbarriers, for operations of the nvvm dialect.

``unrealized_conversion_cast`` to the LLVM descriptor is what convert-nvgpu-to-nvvm itself emits; the casts cancel once
memrefs are lowered, and no pointer passes through an integer.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.fatal_ir import GEP_DYNAMIC, GEP_LIMIT
from ..bindings import ir
from ..bindings.dialects import arith, builtin, llvm, memref
from ..dialect.memrefs import read_memref
from .index_builder import add, materialize, multiply


def descriptor_type(rank: int, space: int) -> ir.Type:
    """MLIR's memref descriptor with pointers to LLVM address space ``space``."""
    pointer = f"ptr<{space}>" if space else "ptr"
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    return ir.Type.parse(f"!llvm.struct<({pointer}, {pointer}, i64{arrays})>")


def pointer_type(space: int) -> ir.Type:
    return ir.Type.parse(f"!llvm.ptr<{space}>" if space else "!llvm.ptr")


def own_space(type_: ir.Type) -> int:
    """The LLVM address space of a memref's pointers: that of the space it names, generic where it names none."""
    layout = read_memref(type_)
    assert layout is not None
    if layout.space == "shared":
        return 3
    return 0 if str(ir.MemRefType(type_).memory_space) == "None" else 1


def _at(pointer: ir.Value, offset: int | ir.Value, element: ir.Type) -> ir.Value:
    if isinstance(offset, int) and offset == 0:
        return pointer
    if isinstance(offset, int) and -GEP_LIMIT <= offset < GEP_LIMIT:
        return llvm.getelementptr(pointer.type, pointer, [], [offset], element, 0)
    i64 = ir.IntegerType.get_signless(64)
    if isinstance(offset, int):
        index = llvm.mlir_constant(ir.IntegerAttr.get(i64, offset))
    else:
        index = arith.index_cast(i64, offset)
    return llvm.getelementptr(pointer.type, pointer, [index], [GEP_DYNAMIC], element, 0)


def element_offset(value: ir.Value) -> int | ir.Value:
    """Offset in elements of a memref's first element from its aligned pointer."""
    layout = read_memref(value.type)
    assert layout is not None
    return layout.offset if layout.offset is not None else memref.extract_strided_metadata(value)[1]


def base_pointer(value: ir.Value, space: int, offset_bytes: int | ir.Value = 0) -> ir.Value:
    """Pointer (to LLVM address space ``space``) to byte ``offset_bytes`` of the memory a memref is a view of."""
    layout = read_memref(value.type)
    assert layout is not None
    own = own_space(value.type)
    struct = builtin.unrealized_conversion_cast([descriptor_type(layout.rank, own)], [value])
    base = llvm.extractvalue(pointer_type(own), struct, [1])
    if own != space:
        base = llvm.addrspacecast(pointer_type(space), base)
    return _at(base, offset_bytes, ir.IntegerType.get_signless(8))


def element_pointer(value: ir.Value, element_bytes: int, space: int, offset_bytes: int | ir.Value = 0) -> ir.Value:
    """Pointer (to LLVM address space ``space``) to byte ``offset_bytes`` of a memref's first element."""
    return base_pointer(value, space, add(multiply(element_offset(value), element_bytes), offset_bytes))


def memref_at(
    type_: ir.Type, pointer: ir.Value, sizes: Sequence[int | ir.Value], strides: Sequence[int | ir.Value]
) -> ir.Value:
    """A memref of ``type_`` (in global memory, without offset) whose first element ``pointer`` (generic) is."""
    space = own_space(type_)
    if space:
        pointer = llvm.addrspacecast(pointer_type(space), pointer)
    i64 = ir.IntegerType.get_signless(64)
    struct = llvm.mlir_poison(descriptor_type(len(sizes), space))
    numbers = [((2,), 0), *(((3, d), size) for d, size in enumerate(sizes))]
    numbers += [((4, d), stride) for d, stride in enumerate(strides)]
    for position in ((0,), (1,)):
        struct = llvm.insertvalue(struct, pointer, position)
    for position, number in numbers:
        value = arith.constant(i64, number) if isinstance(number, int) else arith.index_cast(i64, number)
        struct = llvm.insertvalue(struct, value, position)
    return builtin.unrealized_conversion_cast([type_], [struct])


def mbarrier_pointer(group: ir.Value, index: ir.Value) -> ir.Value:
    """``!llvm.ptr<3>`` to one mbarrier of a group."""
    struct = builtin.unrealized_conversion_cast([descriptor_type(1, 3)], [group])
    base = llvm.extractvalue(pointer_type(3), struct, [1])
    return _at(base, materialize(index), ir.IntegerType.get_signless(64))
