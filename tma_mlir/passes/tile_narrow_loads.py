"""``tile-narrow-loads``: TMA loads that stay in their CTA use the ``shared::cta`` form.

nvgpu always lowers to the cluster form, which was seen to be very slow on sm_121 and costs an address conversion
everywhere. The narrow form needs PTX ISA 8.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.ir_access import collect, defining_op
from ..bindings import ir
from .registry import Pass

_LOADS = ("nvvm.cp.async.bulk.tensor.shared.cluster.global",)
# Operand segments: destination, descriptor, coordinates, mbarrier, im2col offsets, multicast mask, hint, predicate.
_MULTICAST, _PREDICATE = 5, 7


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for load in collect(op, _LOADS):
        segments = list(ir.DenseI32ArrayAttr(load.attributes["operandSegmentSizes"]))
        cast = defining_op(load.operands[0])
        if segments[_MULTICAST] or segments[_PREDICATE] or "group" in load.attributes:
            continue
        if cast is None or cast.name != "llvm.addrspacecast" or str(cast.operands[0].type) != "!llvm.ptr<3>":
            continue
        load.operands[0] = cast.operands[0]
        load.attributes["isCTAOnly"] = ir.BoolAttr.get(True, op.context)
        if not any(True for _ in cast.results[0].uses):
            cast.erase()


PASS = Pass("tile-narrow-loads", "Use the shared::cta form of TMA loads that do not multicast.", run)
