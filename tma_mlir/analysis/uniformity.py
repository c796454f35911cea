"""Whether all threads of a block execute an operation together, and agree on a value."""

from __future__ import annotations

from ..bindings import ir
from .ir_access import block_owner, defining_op, is_kernel
from .memref_views import VIEWS

_UNIFORM_SOURCES = frozenset(
    ("arith.constant", "index.constant", "gpu.block_id", "gpu.grid_dim", "gpu.block_dim", "gpu.cluster_id",
     "gpu.cluster_block_id", "gpu.dynamic_shared_memory", "memref.get_global", "nvgpu.mbarrier.create")
)  # fmt: skip
_DERIVED = VIEWS | {"affine.apply", "affine.min", "affine.max", "memref.dim", "memref.extract_strided_metadata"}


def is_uniform(value: ir.Value, depth: int = 64) -> bool:
    """Whether every thread of a block has the same ``value``, as far as the IR shows."""
    if depth == 0:
        return False
    op = defining_op(value)
    if op is None:
        owner = block_owner(value)
        if owner.name == "gpu.func":
            return True
        is_counter = owner.name == "scf.for" and ir.BlockArgument(value).arg_number == 0
        return is_counter and all(is_uniform(bound, depth - 1) for bound in list(owner.operands)[:3])
    if op.name in _UNIFORM_SOURCES:
        return True
    if op.name in _DERIVED or op.name.startswith(("arith.", "index.")):
        return all(is_uniform(operand, depth - 1) for operand in op.operands)
    return False


def why_not_whole_block(op: ir.Operation) -> str | None:
    """Why it is not seen that all threads of the block execute ``op`` together; None where it is."""
    while op.parent is not None:
        parent = op.parent.operation
        if parent.name == "gpu.func":
            if len(list(parent.regions[0].blocks)) > 1:
                return "the kernel's control flow is unstructured, so threads may skip it"
            return None if is_kernel(parent) else "it is in no kernel"
        if parent.name == "scf.for":
            if not all(is_uniform(bound) for bound in list(parent.operands)[:3]):
                return "it is in a loop whose bounds may differ between threads"
        elif parent.name == "scf.if":
            if not is_uniform(parent.operands[0]):
                return "it is under a condition that may differ between threads"
        else:
            return f"it is inside {parent.name}"
        op = parent
    return "it is in no kernel"
