"""``tile-insert-proxy-fences``: ordinary writes are over before TMA reads or overwrites what they wrote.

TMA accesses shared memory through the async proxy, for which ordinary (generic proxy) writes have no order until the
writing thread has executed ``fence.proxy.async``; the thread that issues the copy cannot do it for the others (PTX
ISA, "Async proxy"). So the fence goes after the last write, in front of the barrier that orders the writing threads
before the issuing one. Ordinary reads need none. Runs after ``tile-plan-copies``, whose plan says which copies are TMA
at all, and before ``convert-tile-to-nvgpu``, while writes and copies still name their memrefs. Copies that are made by
threads fence their own writes when they are lowered.

Where the writes are not seen (a called function, memory of unknown origin) or no barrier orders them before a store the
pass warns. It does not for loads, which may write to another part of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..analysis.ir_access import collect, copies_in
from ..analysis.ordinary_writes import OrdinaryWrite, Root, may_alias, shared_root, shared_writes
from ..bindings import ir
from ..bindings.dialects import nvvm
from ..diagnostics import place_text, remark, warn
from ..dialect.plan_attr import PLAN, PlanReader
from ..dialect.tile import CopyAsyncOp
from ..plan import Variant
from .registry import Pass

_LOOPS = ("scf.for", "scf.while", "scf.parallel", "affine.for")


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    plans = PlanReader()
    for function in collect(op, ("gpu.func", "func.func")):
        stores: list[tuple[ir.Operation, Root]] = []
        loads: list[tuple[ir.Operation, Root]] = []
        for copy in copies_in(function):
            if _is_by_tma(copy, plans):
                is_load = copy.mbarrier is not None
                tile = copy.destination if is_load else copy.source
                (loads if is_load else stores).append((copy.operation, shared_root(tile)))
        if not stores and not loads:
            continue
        work = _Work(stores, loads)
        for write in shared_writes(function):
            readers = work.readers(write.root)
            if readers.copies:
                _order(work, write, readers)
            _order_before_loads(work, write)
        for place in work.before:
            _fence(place)


class _Copies:
    """TMA copies, and the first of them in each operation around them (a copy is in itself)."""

    def __init__(self, copies: list[ir.Operation]):
        self.copies = copies
        self.inside: dict[ir.Operation, ir.Operation] = {}
        for copy in copies:
            around: ir.Operation | None = copy
            while around is not None and around not in self.inside:
                self.inside[around] = copy
                around = around.parent.operation if around.parent is not None else None

    @cached_property
    def are_in_a_loop(self) -> bool:
        """Whether any of them is executed more than once by what is seen."""
        return any(op.name in _LOOPS for op in self.inside)


@dataclass
class _Work:
    """TMA copies of one function with the shared memory they read or write, and the operations that fences go in front
    of."""

    stores: list[tuple[ir.Operation, Root]]
    loads: list[tuple[ir.Operation, Root]]
    before: dict[ir.Operation, None] = field(default_factory=dict)
    _readers: dict[Root, _Copies] = field(default_factory=dict)
    _overwriters: dict[Root, _Copies] = field(default_factory=dict)
    _blocks: dict[ir.Block, tuple[list[ir.Operation], dict[ir.Operation, int]]] = field(default_factory=dict)

    def siblings(self, op: ir.Operation) -> tuple[list[ir.Operation], int]:
        """The operations of the block of ``op``, and its position among them."""
        if op.block not in self._blocks:
            ops = [each.operation for each in op.block.operations]
            self._blocks[op.block] = (ops, {each: position for position, each in enumerate(ops)})
        ops, positions = self._blocks[op.block]
        return ops, positions[op]

    def readers(self, written: Root) -> _Copies:
        """The stores that may read what is written there."""
        if written not in self._readers:
            self._readers[written] = _Copies([store for store, root in self.stores if may_alias(root, written)])
        return self._readers[written]

    def overwriters(self, written: Root) -> _Copies:
        """The loads that may write there too."""
        if written not in self._overwriters:
            self._overwriters[written] = _Copies([load for load, root in self.loads if may_alias(root, written)])
        return self._overwriters[written]

    def follows(self, op: ir.Operation, other: ir.Operation) -> bool:
        """Whether ``op`` comes after ``other`` in the text, or in another region of an operation around both."""
        around = {each.block: each for each in _ancestors(op)}
        for each in _ancestors(other):
            if each.block in around:
                mine = around[each.block]
                return mine == each or self.siblings(mine)[1] > self.siblings(each)[1]
        return False


def _ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """``op`` and the operations around it, as far as its function."""
    while op.name not in ("gpu.func", "func.func"):
        yield op
        assert op.parent is not None
        op = op.parent.operation


def _is_by_tma(copy: CopyAsyncOp, plans: PlanReader) -> bool:
    """Whether the async proxy accesses the tile; if no plan says it, it may."""
    attributes = copy.operation.attributes
    return PLAN not in attributes or plans.read(attributes[PLAN]).variant in (Variant.TMA, Variant.BULK)


def _fence(place: ir.Operation) -> None:
    with place.context, place.location, ir.InsertionPoint(place):
        nvvm.fence_proxy(
            ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"), space=ir.Attribute.parse("#nvvm.shared_space<cta>")
        )


def _order(work: _Work, write: OrdinaryWrite, readers: _Copies) -> None:
    """Finds where the fence for ``write`` goes, or warns that stores may read old data."""
    store = readers.copies[0]
    if write.root[0] == "unknown" or shared_root(store.opview.source)[0] == "unknown":
        remark(
            write.op.location,
            f"taken to write what the copy at {place_text(store.location)} reads: where the memory comes from is not "
            "seen",
        )
    if write.by_call:
        warn(
            write.op.location,
            f"may write shared memory that the copy at {place_text(store.location)} reads. It is fenced after the "
            "call; if the function ends its writes with a barrier of its own, it needs a fence.proxy.async before that",
        )
    ends = list(_ends(work, write.op, readers))
    for end in ends:
        if end.copy is not None:
            _unordered(work, write, end)
        elif end.release is not None:
            work.before[end.release] = None
    if not ends and (beside := next((each for each in readers.copies if _in_other_branch(write.op, each)), None)):
        warn(
            write.op.location,
            f"writes what the copy at {place_text(beside.location)} reads, and no barrier follows. Arrive on an "
            "mbarrier or a gpu.barrier that the copying thread waits for",
        )


def _order_before_loads(work: _Work, write: OrdinaryWrite) -> None:
    """Finds where the fence for ``write`` goes, if a load may write there later."""
    loads = work.overwriters(write.root)
    if loads.are_in_a_loop or any(work.follows(load, write.op) for load in loads.copies):
        for end in _ends(work, write.op, loads):
            place = end.release if end.release is not None else end.inner
            if place is not None:
                work.before[place] = None


@dataclass(frozen=True)
class _End:
    """How a path from a write ends: at a fence that is there, at what releases it to other threads, or at a copy of
    what was written. ``inner`` is the operation of the write's own level that the copy is in."""

    fence: ir.Operation | None = None
    release: ir.Operation | None = None
    copy: ir.Operation | None = None
    inner: ir.Operation | None = None


def _ends(work: _Work, op: ir.Operation, readers: _Copies) -> Iterator[_End]:
    """Ends of the paths from ``op`` on; a path on which nothing copies has none."""
    while True:
        ops, position = work.siblings(op)
        end = _scan(ops, range(position + 1, len(ops)), readers)
        if end is not None:
            yield end
            return
        parent = op.parent
        if parent is None or parent.operation.name in ("gpu.func", "func.func"):
            return
        loop = parent.operation
        if loop.name in _LOOPS and loop in readers.inside:
            # The next iteration comes round to the copy.
            end = _scan(ops, range(position), readers)
            if end is not None:
                yield end
        op = loop


def _scan(ops: list[ir.Operation], positions: range, readers: _Copies) -> _End | None:
    """The first end among ``ops`` at ``positions``."""
    for position in positions:
        op = ops[position]
        if _is_fence(op):
            return _End(fence=op)
        if _releases(op):
            return _End(release=op)
        if op in readers.inside:
            return _End(copy=readers.inside[op], inner=op)
    return None


def _in_other_branch(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether the two are in different regions of one operation, where different threads may run them."""
    while op.parent is not None:
        parent = op.parent.operation
        if _contains(parent, other):
            here = op.block
            around = other
            while around.parent is not None and around.parent.operation != parent:
                around = around.parent.operation
            return around.block != here
        op = parent
    return False


def _contains(op: ir.Operation, inner: ir.Operation) -> bool:
    current: ir.Operation | None = inner
    while current is not None:
        if current == op:
            return True
        current = current.parent.operation if current.parent is not None else None
    return False


def _is_fence(op: ir.Operation) -> bool:
    return op.name == "nvvm.fence.proxy" and "async" in str(op.attributes["kind"])


def _releases(op: ir.Operation) -> bool:
    """Whether other threads may go on, after this, to what the thread has written before it."""
    name = op.name
    if name in ("gpu.barrier", "nvvm.barrier0", "nvvm.barrier", "nvvm.barrier.arrive", "nvvm.bar.warp.sync"):
        return True
    return name.startswith(("nvgpu.mbarrier.arrive", "nvvm.mbarrier.arrive", "nvvm.cluster.arrive"))


def _unordered(work: _Work, write: OrdinaryWrite, end: _End) -> None:
    """The store is reached without a barrier: fine for the thread's own writes, not for those of other threads."""
    assert end.copy is not None
    assert end.inner is not None
    attributes = end.copy.attributes
    is_led = "scope" in attributes and ir.StringAttr(attributes["scope"]).value != "thread"
    if is_led or (end.inner != end.copy and end.inner.name not in _LOOPS):
        warn(
            end.copy.location,
            f"reads what is written at {place_text(write.op.location)} by threads that no barrier orders before it. "
            "Put a gpu.barrier between them",
        )
    work.before[end.inner] = None


PASS = Pass(
    "tile-insert-proxy-fences", "Fence ordinary writes to shared memory before TMA reads or overwrites them.", run
)
