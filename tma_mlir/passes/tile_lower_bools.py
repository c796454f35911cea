"""``tile-lower-bools``: accesses to memrefs of ``i1`` become accesses to bytes.

A memref has a byte for each ``i1``. MLIR 22 aborts at a load of less than a byte, and lowers a vector of them to as
many bits, which lie elsewhere. Any byte but zero is true, as in NumPy and C; stores write 0 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.ir_access import collect
from ..bindings import ir
from ..bindings.dialects import arith, builtin
from ..dialect.memrefs import as_bytes, has_bools
from .registry import Pass

_LOADS = ("memref.load", "vector.load")
_STORES = ("memref.store", "vector.store")


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for function in collect(op, ("gpu.func",)):
        for access in collect(function, (*_LOADS, *_STORES)):
            memref_at = 0 if access.name in _LOADS else 1
            if not has_bools(access.operands[memref_at].type):
                continue
            with access.context, access.location, ir.InsertionPoint(access):
                _rewrite(access, memref_at)


def _rewrite(access: ir.Operation, memref_at: int) -> None:
    operands = list(access.operands)
    memref = operands[memref_at]
    operands[memref_at] = builtin.unrealized_conversion_cast([as_bytes(memref.type)], [memref])
    kept = {name: access.attributes[name] for name in ("nontemporal", "alignment") if name in access.attributes}
    if memref_at == 0:
        value = access.results[0]
        made = ir.Operation.create(access.name, [_byte(value.type)], operands, kept)
        zero = arith.constant(_byte(value.type), _zero(value.type))
        value.replace_all_uses_with(arith.cmpi(arith.CmpIPredicate.ne, made.results[0], zero))
    else:
        operands[0] = arith.extui(_byte(operands[0].type), operands[0])
        ir.Operation.create(access.name, [], operands, kept)
    access.erase()


def _byte(type_: ir.Type) -> ir.Type:
    """``i8``, or a vector of them, for ``i1`` or a vector of those."""
    i8 = ir.IntegerType.get_signless(8)
    return ir.VectorType.get(ir.VectorType(type_).shape, i8) if isinstance(type_, ir.VectorType) else i8


def _zero(type_: ir.Type) -> ir.Attribute:
    zero = ir.IntegerAttr.get(ir.IntegerType.get_signless(8), 0)
    return ir.DenseElementsAttr.get_splat(_byte(type_), zero) if isinstance(type_, ir.VectorType) else zero


PASS = Pass("tile-lower-bools", "Lower loads and stores of i1 in kernels to those of bytes.", run)
