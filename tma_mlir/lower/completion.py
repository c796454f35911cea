"""How copies by threads keep the promise of a TMA copy: the same bytes complete on the same phase, once."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, llvm, nvgpu, nvvm

from .copy_context import CopyContext
from .index_builder import constant
from .pointers import mbarrier_pointer


def announce(context: CopyContext, transaction_bytes: int) -> None:
    """Arrives on the mbarrier and tells it how many bytes will come."""
    assert context.op.mbarrier is not None
    nvgpu.mbarrier_arrive_expect_tx(context.op.mbarrier, constant(transaction_bytes), context.op.mbarrier_index)


def complete(context: CopyContext, transaction_bytes: int) -> None:
    """Counts ``transaction_bytes`` that this thread's stores have written.

    The release fence orders the stores before the relaxed complete_tx, for threads that wait on the mbarrier; the proxy
    fence does so for tensor cores and TMA that read the tile next.
    """
    assert context.op.mbarrier is not None
    assert context.op.mbarrier_index is not None
    nvvm.fence_proxy(
        ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"), space=ir.Attribute.parse("#nvvm.shared_space<cta>")
    )
    llvm.FenceOp(llvm.AtomicOrdering.release, syncscope="block")
    pointer = mbarrier_pointer(context.op.mbarrier, context.op.mbarrier_index)
    nvvm.mbarrier_complete_tx(pointer, arith.constant(ir.IntegerType.get_signless(32), transaction_bytes))
