"""Packing static shared memory in front of dynamic shared memory, so that the dynamic part is aligned.

Assemblers place dynamic shared memory right after the static variables. Some honour its alignment (nvJitLink 13.5,
ptxas 13.0); nvJitLink 13.0 aligns it to 16 bytes whatever is asked, and TMA faults. One static block whose size is a
multiple of the alignment puts it right everywhere, without a byte more than an honoured alignment takes.
"""

from __future__ import annotations

import math
import re

from ..analysis.ir_access import collect
from ..bindings import ir
from ..bindings.dialects import llvm

STATIC = "__static_shmem"
_SHARED = 3
_BITS = re.compile(r"(?:b?f|i)(\d+)$")


def pack_static_shared(module: ir.Operation, alignment_bytes: int) -> None:
    """Merges the static shared globals of a lowered ``gpu.module`` into one of whole ``alignment_bytes``."""
    variables = [each for each in collect(module, ("llvm.mlir.global",)) if _is_static_shared(each)]
    if not variables:
        return
    places: dict[str, int] = {}
    end = 0
    # Widest alignment first: no gaps between variables whose sizes are multiples of their alignments.
    for variable in sorted(variables, key=lambda each: -_alignment(each)):
        end = math.ceil(end / _alignment(variable)) * _alignment(variable)
        places[_name(variable)] = end
        end += size_bytes(ir.TypeAttr(variable.attributes["global_type"]).value)
    total = math.ceil(end / alignment_bytes) * alignment_bytes
    merged = ir.Operation.parse(
        f"llvm.mlir.global internal @{STATIC}() {{addr_space = 3 : i32, alignment = {alignment_bytes} : i64}} : "
        f"!llvm.array<{total} x i8>"
    )
    ir.InsertionPoint(variables[0]).insert(merged)
    for address in collect(module, ("llvm.mlir.addressof",)):
        name = ir.FlatSymbolRefAttr(address.attributes["global_name"]).value
        if name in places:
            _redirect(address, places[name])
    for variable in variables:
        variable.erase()


def _redirect(address: ir.Operation, offset: int) -> None:
    pointer = ir.Type.parse("!llvm.ptr<3>")
    with ir.InsertionPoint(address), address.location:
        base = llvm.AddressOfOp(pointer, STATIC).result
        if offset:
            base = llvm.getelementptr(pointer, base, [], [offset], ir.IntegerType.get_signless(8), 0)
    address.results[0].replace_all_uses_with(base)
    address.erase()


def _is_static_shared(global_: ir.Operation) -> bool:
    attributes = global_.attributes
    space = ir.IntegerAttr(attributes["addr_space"]).value if "addr_space" in attributes else 0
    return space == _SHARED and size_bytes(ir.TypeAttr(attributes["global_type"]).value) > 0


def _name(global_: ir.Operation) -> str:
    return ir.StringAttr(global_.attributes["sym_name"]).value


def _alignment(global_: ir.Operation) -> int:
    attributes = global_.attributes
    return max(16, ir.IntegerAttr(attributes["alignment"]).value if "alignment" in attributes else 16)


def size_bytes(type_: ir.Type) -> int:
    """Size of the types that memref globals lower to: arrays and vectors of numbers."""
    text = str(type_).removeprefix("!llvm.")
    count = 1
    while match := re.match(r"(?:array|vector)<(\d+) ?x ?(.*)>$", text):
        count *= int(match[1])
        text = match[2].removeprefix("!llvm.")
    if bits := _BITS.match(text):
        return count * math.ceil(int(bits[1]) / 8)
    if text.startswith(("f8", "f6", "f4")):
        return count
    if text.startswith("ptr"):
        return count * 8
    raise ValueError(f"size of {type_} is not known")
