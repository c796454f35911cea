"""``tile-lower-transfers``: one-dimensional ``vector.transfer_read`` and ``transfer_write`` become plain accesses.

MLIR 22 does this inside convert-vector-to-llvm, which does not know what the workgroup address space is and reports an
error there; convert-gpu-to-nvvm knows it, but takes ``vector.load`` and ``vector.store`` only. A transfer that may
leave the memref, or has a mask, accesses the elements one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.ir_access import collect
from ..bindings import ir
from ..bindings.dialects import arith, memref, scf, vector
from ..dialect.memrefs import read_memref
from ..lower.index_builder import add, constant, materialize
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for transfer in collect(op, ("vector.transfer_read", "vector.transfer_write")):
        is_read = transfer.name == "vector.transfer_read"
        operands = list(transfer.operands)
        value = transfer.results[0] if is_read else operands.pop(0)
        if not _is_unit_row(transfer, operands[0], ir.VectorType(value.type)):
            continue
        base, *rest = operands
        rank = ir.MemRefType(base.type).rank
        indices, rest = rest[:rank], rest[rank:]
        mask = rest[-1] if _has_mask(transfer) else None
        plain = mask is None and _is_inside(transfer)
        with op.context, transfer.location, ir.InsertionPoint(transfer):
            if is_read:
                loaded = (
                    vector.LoadOp(value.type, base, indices).result
                    if plain
                    else _read_each(ir.VectorType(value.type), base, indices, rest[0], mask)
                )
                value.replace_all_uses_with(loaded)
            elif plain:
                vector.StoreOp(value, base, indices)
            else:
                _write_each(value, base, indices, mask)
        transfer.erase()


def _read_each(
    type_: ir.VectorType, base: ir.Value, indices: Sequence[ir.Value], padding: ir.Value, mask: ir.Value | None
) -> ir.Value:
    """The vector, ``padding`` where the memref ends or the mask is off."""
    result = vector.broadcast(type_, padding)
    for lane in range(type_.shape[0]):
        place, inside = _lane(base, indices, mask, lane)
        branch = scf.IfOp(inside, [type_.element_type], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.yield_([memref.load(base, place)])
        with ir.InsertionPoint(branch.else_block):
            scf.yield_([padding])
        result = vector.insert(branch.results[0], result, dynamic_position=[], static_position=[lane])
    return result


def _write_each(value: ir.Value, base: ir.Value, indices: Sequence[ir.Value], mask: ir.Value | None) -> None:
    for lane in range(ir.VectorType(value.type).shape[0]):
        place, inside = _lane(base, indices, mask, lane)
        branch = scf.IfOp(inside)
        with ir.InsertionPoint(branch.then_block):
            element = vector.extract(value, dynamic_position=[], static_position=[lane])
            memref.store(element, base, place)
            scf.yield_([])


def _lane(
    base: ir.Value, indices: Sequence[ir.Value], mask: ir.Value | None, lane: int
) -> tuple[list[ir.Value], ir.Value]:
    """Where one element lies, and whether it is accessed. Indices of the other dimensions are inside by definition."""
    last = materialize(add(indices[-1], lane))
    extent = memref.dim(base, constant(len(indices) - 1))
    inside = arith.cmpi(arith.CmpIPredicate.slt, last, extent)
    if mask is not None:
        inside = arith.andi(inside, vector.extract(mask, dynamic_position=[], static_position=[lane]))
    return [*indices[:-1], last], inside


def _is_unit_row(transfer: ir.Operation, base: ir.Value, type_: ir.VectorType) -> bool:
    """Whether a transfer is of one vector along the last, contiguous dimension of a memref."""
    memref_ = read_memref(base.type) if isinstance(base.type, ir.MemRefType) else None
    if memref_ is None or type_.rank != 1 or not memref_.rank or memref_.strides[-1] != 1:
        return False
    map_ = ir.AffineMapAttr(transfer.attributes["permutation_map"]).value  # type: ignore[attr-defined]
    return map_ == ir.AffineMap.get_minor_identity(map_.n_dims, 1, transfer.context)


def _is_inside(transfer: ir.Operation) -> bool:
    attributes = transfer.attributes
    return "in_bounds" in attributes and all(ir.BoolAttr(each).value for each in ir.ArrayAttr(attributes["in_bounds"]))


def _has_mask(transfer: ir.Operation) -> bool:
    return bool(list(ir.DenseI32ArrayAttr(transfer.attributes["operandSegmentSizes"]))[-1])


PASS = Pass("tile-lower-transfers", "Lower vector transfers of one row to plain loads and stores.", run)
