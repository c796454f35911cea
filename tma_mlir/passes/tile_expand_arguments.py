"""``tile-expand-arguments``: memref arguments of kernels with dynamic shapes become plain numbers.

Bare pointers cannot carry extents, and convert-gpu-to-nvvm decides for a whole module. So where a kernel has a dynamic
memref, all its memrefs are expanded here: allocated pointer, aligned pointer, offset, sizes, strides (MLIR's memref
descriptor, i64 each). Kernels with static memrefs keep one pointer for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..abi.signature import ARGUMENTS, BARE_POINTERS
from ..analysis.ir_access import collect, function_inputs
from ..bindings import ir
from ..bindings.dialects import builtin, llvm
from ..dialect.memrefs import MemRef, read_memref
from ..lower.pointers import descriptor_type, own_space, pointer_type
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for function in collect(op, ("gpu.func",)):
        if ARGUMENTS not in function.attributes:
            continue  # launched by host code in the module, which passes memrefs its own way
        memrefs = [_memref(type_) for type_ in function_inputs(function)]
        if any(memref and _is_dynamic(memref) for memref in memrefs):
            with function.context, function.location:
                _expand(function, memrefs)
                function.attributes[BARE_POINTERS] = ir.BoolAttr.get(False)


def _memref(type_: ir.Type) -> MemRef | None:
    return read_memref(type_) if isinstance(type_, ir.MemRefType) else None


def _is_dynamic(memref: MemRef) -> bool:
    return None in (*memref.shape, *memref.strides, memref.offset)


def _expand(function: ir.Operation, memrefs: Sequence[MemRef | None]) -> None:
    """Appends the new arguments and copies of the workgroup attributions, then erases the old ones."""
    block = function.regions[0].blocks[0]
    old = list(block.arguments)
    inputs: list[ir.Type] = []
    with ir.InsertionPoint.at_block_begin(block):
        for argument, memref in zip(old[: len(memrefs)], memrefs, strict=True):
            types = [argument.type] if memref is None else _expanded_types(memref.rank)
            inputs += types
            values = [block.add_argument(type_, function.location) for type_ in types]
            replacement = values[0] if memref is None else _assemble(argument.type, memref.rank, values)
            argument.replace_all_uses_with(replacement)
    for attribution in old[len(memrefs) :]:
        attribution.replace_all_uses_with(block.add_argument(attribution.type, function.location))
    count = len(old)
    del old, argument
    for _ in range(count):
        block.erase_argument(0)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    if "arg_attrs" in function.attributes:
        del function.attributes["arg_attrs"]


def _expanded_types(rank: int) -> list[ir.Type]:
    pointer, i64 = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    return [pointer, pointer, *[i64] * (1 + 2 * rank)]


def _assemble(type_: ir.Type, rank: int, values: Sequence[ir.Value]) -> ir.Value:
    """The memref of ``type_`` made of its numbers; the cast disappears when memrefs are lowered."""
    space = own_space(type_)
    struct = llvm.PoisonOp(descriptor_type(rank, space)).result
    if space:
        values = [*(llvm.addrspacecast(pointer_type(space), each) for each in values[:2]), *values[2:]]
    places = [[0], [1], [2], *([3, d] for d in range(rank)), *([4, d] for d in range(rank))]
    for value, place in zip(values, places, strict=True):
        struct = llvm.insertvalue(struct, value, place)
    return builtin.unrealized_conversion_cast([type_], [struct])


PASS = Pass("tile-expand-arguments", "Expand dynamic memref arguments of kernels into pointers, sizes, strides.", run)
