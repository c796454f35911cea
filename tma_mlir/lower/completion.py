"""How copies by threads keep the promise of a TMA copy: the same bytes complete on the same phase, once."""

from __future__ import annotations

from ..bindings import ir
from ..bindings.dialects import arith, llvm, nvvm
from ..plan.enums import MbarrierCta
from . import nvgpu_ops as nvgpu
from .clusters import mbarrier_of_pair
from .copy_context import CopyContext
from .index_builder import materialize
from .pointers import mbarrier_pointer


def announce(context: CopyContext, transaction_bytes: int | ir.Value) -> None:
    """Announces how many bytes will come on the mbarrier that the copy names, and arrives there (unless another copy of
    the phase does)."""
    assert context.mbarrier is not None
    assert context.mbarrier_index is not None
    number = materialize(transaction_bytes)
    named = context.cluster.mbarrier_cta
    arrives = not context.has("announce_only")
    if arrives and named is MbarrierCta.OWN:
        nvgpu.mbarrier_arrive_expect_tx(context.mbarrier, number, context.mbarrier_index)
        return
    size = arith.index_cast(ir.IntegerType.get_signless(32), number)
    pointer = mbarrier_pointer(context.mbarrier, context.mbarrier_index)
    if named is MbarrierCta.OWN:
        nvvm.mbarrier_expect_tx(pointer, size)
        return
    pointer = mbarrier_of_pair(named, pointer)
    cluster = ir.Attribute.parse("#nvvm.mem_scope<cluster>")
    if arrives:
        # Relaxed: the arrival publishes nothing, and a release of cluster scope is a fence of the whole GPU in SASS.
        nvvm.mbarrier_arrive_expect_tx(None, pointer, size, scope=cluster, relaxed=True)
    else:
        nvvm.mbarrier_expect_tx(pointer, size, scope=cluster)


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
