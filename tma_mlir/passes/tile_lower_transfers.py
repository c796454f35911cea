"""``tile-lower-transfers``: one-dimensional ``vector.transfer_read`` and ``transfer_write`` become plain accesses.

MLIR 22 does this inside convert-vector-to-llvm, which does not know what the workgroup address space is and reports an
error there; convert-gpu-to-nvvm knows it, but takes ``vector.load`` and ``vector.store`` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir
from mlir.dialects import vector

from ..analysis.ir_access import collect
from ..dialect.memrefs import read_memref
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for transfer in collect(op, ("vector.transfer_read", "vector.transfer_write")):
        is_read = transfer.name == "vector.transfer_read"
        operands = list(transfer.operands)
        value = transfer.results[0] if is_read else operands.pop(0)
        if not _is_plain(transfer, operands[0], ir.VectorType(value.type)):
            continue
        memref, *indices = operands[: 1 + ir.MemRefType(operands[0].type).rank]
        with op.context, transfer.location, ir.InsertionPoint(transfer):
            if is_read:
                value.replace_all_uses_with(vector.LoadOp(value.type, memref, indices).result)
            else:
                vector.StoreOp(value, memref, indices)
        transfer.erase()


def _is_plain(transfer: ir.Operation, base: ir.Value, type_: ir.VectorType) -> bool:
    """Whether a transfer of one vector row lies in the memref, contiguous and without a mask."""
    memref = read_memref(base.type) if isinstance(base.type, ir.MemRefType) else None
    if memref is None or type_.rank != 1 or not memref.rank or memref.strides[-1] != 1:
        return False
    attributes = transfer.attributes
    inside = "in_bounds" in attributes and all(
        ir.BoolAttr(each).value for each in ir.ArrayAttr(attributes["in_bounds"])
    )
    has_mask = bool(list(ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"]))[-1])
    map_ = ir.AffineMapAttr(attributes["permutation_map"]).value  # type: ignore[attr-defined]
    return inside and not has_mask and map_ == ir.AffineMap.get_minor_identity(map_.n_dims, 1, transfer.context)


PASS = Pass("tile-lower-transfers", "Lower vector transfers of one row to vector.load and vector.store.", run)
