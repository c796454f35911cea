"""How copies by threads keep the promise of a TMA copy: the same bytes complete on the same phase, once."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, llvm, nvgpu, nvvm

from .copy_context import CopyContext
from .index_builder import constant
from .pointers import mbarrier_pointer


def announce(context: CopyContext, transaction_bytes: int) -> None:
    """Arrives on the mbarrier and announces how many bytes will come."""
    assert context.mbarrier is not None
    nvgpu.mbarrier_arrive_expect_tx(context.mbarrier, constant(transaction_bytes), context.mbarrier_index)


def make_visible() -> None:
    """Orders this thread's stores before what it does next, for ordinary loads and for the async proxy.

    The release fence is for threads that wait on the mbarrier (complete_tx itself is relaxed), the proxy fence for
    tensor cores and TMA that read the tile next. Every thread that stored needs both.
    """
    nvvm.fence_proxy(
        ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"), space=ir.Attribute.parse("#nvvm.shared_space<cta>")
    )
    llvm.FenceOp(llvm.AtomicOrdering.release, syncscope="block")


def complete(context: CopyContext, transaction_bytes: int) -> None:
    """Counts ``transaction_bytes`` as arrived. What the threads stored must be visible."""
    assert context.mbarrier is not None
    assert context.mbarrier_index is not None
    pointer = mbarrier_pointer(context.mbarrier, context.mbarrier_index)
    nvvm.mbarrier_complete_tx(pointer, arith.constant(ir.IntegerType.get_signless(32), transaction_bytes))
