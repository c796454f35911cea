"""``tile-finish-kernels``: puts back what the lowering to LLVM drops or gets wrong.

convert-gpu-to-nvvm drops argument attributes, without which a descriptor is copied to local memory, where TMA faults;
and it makes dynamic shared memory an internal global, which ptxas places on top of the static ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..abi.signature import DESCRIPTORS
from ..analysis.ir_access import collect
from ..analysis.shared_tiles import MAX_ALIGNMENT
from ..bindings import ir
from ..hardware import DESCRIPTOR_BYTES
from ..lower.static_shared import pack_static_shared
from .registry import Pass

_PARAMETER = (
    f"{{llvm.align = {DESCRIPTOR_BYTES} : i32, llvm.byval = !llvm.array<{DESCRIPTOR_BYTES} x i8>, nvvm.grid_constant}}"
)
"""A descriptor by value in constant memory."""


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    with op.context:
        for function in collect(op, ("llvm.func",)):
            if DESCRIPTORS in function.attributes:
                _mark_descriptors(function)
        for module in [op] if op.name == "gpu.module" else collect(op, ("gpu.module",)):
            _separate_dynamic_shared_memory(module)


def _mark_descriptors(function: ir.Operation) -> None:
    attributes = function.attributes
    count = len(ir.ArrayAttr(attributes[DESCRIPTORS]))
    if not count:
        return
    total = len(function.regions[0].blocks[0].arguments)
    each = list(ir.ArrayAttr(attributes["arg_attrs"])) if "arg_attrs" in attributes else [ir.DictAttr.get({})] * total
    attributes["arg_attrs"] = ir.ArrayAttr.get([ir.Attribute.parse(_PARAMETER)] * count + each[count:])


def _separate_dynamic_shared_memory(module: ir.Operation) -> None:
    dynamic = [
        each
        for each in collect(module, ("llvm.mlir.global",))
        if ir.StringAttr(each.attributes["sym_name"]).value.startswith("__dynamic_shmem__")
    ]
    for global_ in dynamic:
        global_.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
        global_.attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), MAX_ALIGNMENT)
    if dynamic:
        pack_static_shared(module, MAX_ALIGNMENT)


PASS = Pass("tile-finish-kernels", "Mark descriptor parameters and separate dynamic shared memory.", run)
