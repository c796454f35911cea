"""``tile.wait``, ``tile.commit_group`` and ``tile.wait_group`` as nvgpu and nvvm operations."""

from __future__ import annotations

from ..analysis.ir_access import collect
from ..bindings import ir
from ..bindings.dialects import nvvm
from ..dialect.completion_ops import COMPLETION_OPS, CommitGroupOp, WaitOp
from . import nvgpu_ops as nvgpu
from .index_builder import constant

WAIT_HINT_NS = 10_000_000
"""How long one try_wait may suspend the thread; nvvm loops around it until the phase has completed."""


def lower_completion_ops(root: ir.Operation) -> None:
    """Replaces every one of them under ``root``."""
    for op in collect(root, COMPLETION_OPS):
        with op.context, op.location, ir.InsertionPoint(op):
            if op.name == WaitOp.OPERATION_NAME:
                mbarrier, index, parity = op.operands
                nvgpu.mbarrier_try_wait_parity(mbarrier, parity, constant(WAIT_HINT_NS), index)
            elif op.name == CommitGroupOp.OPERATION_NAME:
                nvvm.cp_async_bulk_commit_group()
            else:
                nvvm.cp_async_bulk_wait_group(op.opview.pending, read="read" in op.attributes)
        op.erase()
