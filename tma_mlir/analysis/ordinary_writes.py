"""Ordinary writes to memory: which operations make them, and to what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..bindings import ir
from ..dialect.memrefs import read_memref
from .ir_access import block_owner, collect, defining_op
from .memref_views import VIEWS

Root = tuple[Any, ...]
"""What reserves a piece of shared memory, comparable. ``("unknown", value)`` may be any of them."""

_TARGETS: dict[str, int] = {
    "memref.store": 1,
    "memref.atomic_rmw": 1,
    "memref.generic_atomic_rmw": 0,
    "memref.copy": 1,
    "affine.store": 1,
    "affine.vector_store": 1,
    "vector.store": 1,
    "vector.transfer_write": 1,
    "vector.maskedstore": 0,
    "vector.compressstore": 0,
    "vector.scatter": 0,
    "nvgpu.device_async_copy": 0,
    "nvgpu.warpgroup.mma.store": 1,
    "gpu.subgroup_mma_store_matrix": 1,
    "llvm.store": 1,
    "llvm.atomicrmw": 0,
    "llvm.cmpxchg": 0,
    "nvvm.stmatrix": 0,
    "nvvm.cp.async.shared.global": 0,
}
"""Position of the operand written through. Copies by ``cp.async`` write through the generic proxy too."""

CALLS = ("func.call", "llvm.call", "llvm.inline_asm", "nvvm.inline_ptx")

_THROUGH = VIEWS | {
    "memref.transpose", "memref.memory_space_cast", "memref.extract_strided_metadata",
    "memref.extract_aligned_pointer_as_index", "builtin.unrealized_conversion_cast", "llvm.getelementptr",
    "llvm.extractvalue", "llvm.addrspacecast", "llvm.inttoptr", "llvm.ptrtoint", "llvm.bitcast",
    "arith.index_cast", "arith.index_castui", "nvvm.mapa",
}  # fmt: skip


@dataclass(frozen=True)
class OrdinaryWrite:
    """An operation that writes, or may write, memory through the generic proxy."""

    op: ir.Operation
    root: Root
    by_call: bool = False


def shared_root(value: ir.Value) -> Root:
    """The memory behind a shared memref or a pointer into one."""
    while (op := defining_op(value)) is not None:
        if op.name == "memref.get_global":
            return ("global", ir.FlatSymbolRefAttr(op.attributes["name"]).value)
        if op.name == "llvm.mlir.addressof":
            return ("global", ir.FlatSymbolRefAttr(op.attributes["global_name"]).value)
        if op.name == "gpu.dynamic_shared_memory":
            return ("dynamic",)
        if op.name in ("memref.alloc", "memref.alloca"):
            return ("allocation", value)
        if op.name not in _THROUGH or not len(op.operands):
            return ("unknown", value)
        value = op.operands[0]
    if block_owner(value).name == "gpu.func":
        return ("attribution", value)
    return ("unknown", value)


def may_alias(one: Root, other: Root) -> bool:
    """Whether two roots can be the same memory. Distinct reservations never are."""
    return one == other or "unknown" in (one[0], other[0])


def shared_writes(function: ir.Operation) -> Iterator[OrdinaryWrite]:
    """Every ordinary write to shared memory in ``function``, calls that get shared memory among them."""
    for op in collect(function, (*_TARGETS, *CALLS)):
        if op.name in CALLS:
            shared = [operand for operand in op.operands if _is_shared(operand)]
            if shared:
                yield OrdinaryWrite(op, shared_root(shared[0]), by_call=True)
            continue
        target = op.operands[_TARGETS[op.name]]
        if _is_shared(target):
            yield OrdinaryWrite(op, shared_root(target))
    for op in _linalg(function):
        if _is_shared(op.operands[-1]):
            yield OrdinaryWrite(op, shared_root(op.operands[-1]))


def global_writes(function: ir.Operation) -> Iterator[OrdinaryWrite]:
    """Every ordinary write to memory that is not seen to be shared, calls that get such memory among them."""
    for op in collect(function, (*_TARGETS, *CALLS)):
        targets = list(op.operands) if op.name in CALLS else [op.operands[_TARGETS[op.name]]]
        for target in targets:
            is_memory = isinstance(target.type, ir.MemRefType) or str(target.type).startswith("!llvm.ptr")
            if is_memory and not _is_shared(target) and shared_root(target)[0] != "allocation":
                yield OrdinaryWrite(op, shared_root(target), by_call=op.name in CALLS)
    for op in _linalg(function):
        if isinstance(op.operands[-1].type, ir.MemRefType) and not _is_shared(op.operands[-1]):
            yield OrdinaryWrite(op, shared_root(op.operands[-1]))


def _linalg(function: ir.Operation) -> list[ir.Operation]:
    """Structured operations on memrefs; what they write comes last among their operands."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("linalg.") and not len(op.results) and len(op.operands):
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def _is_shared(value: ir.Value) -> bool:
    """By its type; a generic pointer is shared when it is seen to come from shared memory."""
    memref = read_memref(value.type) if isinstance(value.type, ir.MemRefType) else None
    if memref is not None:
        return memref.space == "shared"
    text = str(value.type)
    if text in ("!llvm.ptr<3>", "!llvm.ptr<7>"):
        return True
    return text == "!llvm.ptr" and shared_root(value)[0] in ("global", "dynamic") and _crosses_shared(value)


def _crosses_shared(value: ir.Value) -> bool:
    """Whether a pointer was derived from a shared memref or pointer (a global can be in any memory)."""
    while (op := defining_op(value)) is not None:
        if op.name in _THROUGH and len(op.operands):
            value = op.operands[0]
            memref = read_memref(value.type) if isinstance(value.type, ir.MemRefType) else None
            if str(value.type) == "!llvm.ptr<3>" or (memref is not None and memref.space == "shared"):
                return True
            continue
        return False
    return False
