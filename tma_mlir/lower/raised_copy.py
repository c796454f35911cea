"""What stands around a raised copy: its mbarrier, the parity it waits for, barriers and fences."""

from __future__ import annotations

from ..analysis.ir_access import enclosing
from ..analysis.ordinary_writes import Root, may_alias, shared_root, shared_writes
from ..bindings import ir
from ..bindings.dialects import arith, gpu, memref, nvvm, scf
from ..dialect.completion_ops import CommitGroupOp, WaitGroupOp, WaitOp
from ..dialect.tile import CopyAsyncOp
from . import nvgpu_ops as nvgpu
from .index_builder import constant

_MBARRIER = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>"
_LOOPS = ("scf.for", "scf.while", "scf.parallel", "affine.for")


class Entry:
    """The start of a kernel, where raised loads have their mbarriers made and initialised."""

    def __init__(self, function: ir.Operation):
        self._function = function
        self._block = function.regions[0].blocks[0]
        self._location = function.location
        self._zero: ir.Value | None = None
        self._marker: ir.Operation | None = None
        self._mbarriers: list[ir.Value] = []
        self.loads: list[tuple[Root, ir.Operation]] = []
        """Tiles of raised loads, and the barrier in front of each load."""

    def here(self) -> ir.InsertionPoint:
        """Behind all that was made here so far."""
        if self._marker is None:
            with self._location, ir.InsertionPoint.at_block_begin(self._block):
                self._zero = constant(0)
                self._marker = constant(0).owner.operation
        return ir.InsertionPoint(self._marker)

    @property
    def zero(self) -> ir.Value:
        assert self._zero is not None
        return self._zero

    def mbarrier(self) -> ir.Value:
        """A new mbarrier, used at index ``zero``."""
        with self._location, self.here():
            self._mbarriers.append(nvgpu.mbarrier_create(ir.Type.parse(_MBARRIER)))
        return self._mbarriers[-1]

    def drop_mbarrier(self) -> None:
        """Takes back the last one, which nothing uses."""
        self._mbarriers.pop().owner.operation.erase()

    def variable(self) -> ir.Value:
        """A number that each thread has for itself, zero at first; LLVM keeps it in a register."""
        i32 = ir.IntegerType.get_signless(32)
        with self._location, self.here():
            place = memref.alloca(ir.MemRefType.get([], i32), [], [])
            memref.store(arith.constant(i32, 0), place, [])
        return place

    def finish(self) -> None:
        """Initialises the mbarriers by one thread, for all threads and the async proxy. Fences what is still written by
        ordinary stores before loads that write it next."""
        ordinary = [write.root for write in shared_writes(self._function)]
        for tile, barrier in self.loads:
            if any(may_alias(tile, each) for each in ordinary):
                with barrier.location, ir.InsertionPoint(barrier):
                    _fence()
        if self._marker is None:
            return
        if self._mbarriers:
            with self._location, self.here():
                branch = scf.IfOp(_is_first_thread(self.zero))
                with ir.InsertionPoint(branch.then_block):
                    for each in self._mbarriers:
                        nvgpu.mbarrier_init(each, constant(1), self.zero)
                    nvvm.fence_mbarrier_init()
                    scf.yield_([])
                gpu.BarrierOp()
        self._marker.erase()
        if not list(self.zero.uses):
            self.zero.owner.operation.erase()


def _is_first_thread(zero: ir.Value) -> ir.Value:
    total: ir.Value | None = None
    for axis in "xyz":
        is_zero = arith.cmpi(arith.CmpIPredicate.eq, gpu.thread_id(ir.Attribute.parse(f"#gpu<dim {axis}>")), zero)
        total = is_zero if total is None else arith.andi(total, is_zero)
    assert total is not None
    return total


def emit_load(copy: CopyAsyncOp, last: ir.Operation, entry: Entry) -> None:
    """Around a load: all threads are done with the tile before it starts, and wait for it in front of ``last``."""
    with copy.operation.location, ir.InsertionPoint(copy.operation):
        entry.loads.append((shared_root(copy.destination), gpu.BarrierOp().operation))
    assert copy.mbarrier is not None
    assert copy.mbarrier_index is not None
    with last.location, ir.InsertionPoint(last):
        variable, parity = _parity(last, entry)
        WaitOp(copy.mbarrier, copy.mbarrier_index, parity)
        if variable is not None:
            i32 = ir.IntegerType.get_signless(32)
            memref.store(arith.xori(memref.load(variable, []), arith.constant(i32, 1)), variable, [])


def emit_store(copy: CopyAsyncOp, last: ir.Operation) -> None:
    """Around a store: what the threads wrote is visible to it, and it is complete in front of ``last``, for all."""
    with copy.operation.location:
        with ir.InsertionPoint(copy.operation):
            _fence()
            gpu.BarrierOp()
        with ir.InsertionPoint(last):
            CommitGroupOp()
            WaitGroupOp(0)
            gpu.BarrierOp()


def _fence() -> None:
    nvvm.fence_proxy(
        ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"), space=ir.Attribute.parse("#nvvm.shared_space<cta>")
    )


def _parity(op: ir.Operation, entry: Entry) -> tuple[ir.Value | None, ir.Value]:
    """Parity of the phase that this execution of ``op`` waits for, and the variable that counts phases, if one does.

    Phases count from 0. Straight in one ``scf.for`` the number is that of the iteration.
    """
    i1 = ir.IntegerType.get_signless(1)
    loop = enclosing(op, *_LOOPS)
    if loop is None:
        return None, arith.constant(i1, 0)
    if loop.name == "scf.for" and op.parent.operation == loop and enclosing(loop, *_LOOPS) is None:  # type: ignore[union-attr]
        low, _, step = list(loop.operands)[:3]
        counter = loop.regions[0].blocks[0].arguments[0]
        iteration = arith.divui(arith.subi(counter, low), step)
        return None, arith.trunci(i1, arith.index_castui(ir.IntegerType.get_signless(64), iteration))
    variable = entry.variable()
    return variable, arith.trunci(i1, memref.load(variable, []))
