"""Who issues a copy: the one thread that arrives, or a thread that the lowering elects from a warp or a CTA."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..bindings import ir
from ..bindings.dialects import arith, gpu, nvvm, scf
from ..plan.enums import Scope
from .index_builder import constant

Index = int | ir.Value


@dataclass(frozen=True)
class Team:
    """The threads that execute a copy together: this one is ``rank`` of ``size``.

    ``leader`` runs a builder under the condition that this is the elected thread; ``synchronise`` waits for all of the
    team. A single thread is its own leader and waits for nobody.
    """

    rank: Index
    size: Index
    leader: Callable[[Callable[[], None]], None]
    synchronise: Callable[[], None]


def team(scope: Scope) -> Team:
    """The team for ``scope``, its ids built at the current insertion point.

    Exactly the threads of the team must arrive here, a warp or CTA converged.
    """
    if scope is Scope.THREAD:
        return Team(0, 1, lambda build: build(), lambda: None)
    if scope is Scope.WARP:
        lane = nvvm.read_ptx_sreg_laneid(ir.IntegerType.get_signless(32))
        return Team(arith.index_castui(ir.IndexType.get(), lane), 32, _elected, _synchronise_warp)
    rank, size = thread_rank()
    first_warp = arith.cmpi(arith.CmpIPredicate.ult, rank, constant(32))

    def leader(build: Callable[[], None]) -> None:
        # elect.sync needs all lanes of a warp, so the warp is chosen first.
        with then(first_warp):
            _elected(build)

    return Team(rank, size, leader, lambda: gpu.BarrierOp() and None)


@contextlib.contextmanager
def then(condition: ir.Value) -> Iterator[None]:
    """What is built inside runs where ``condition`` holds."""
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        yield
        scf.yield_([])


def elected() -> ir.Value:
    """Whether this is the thread of its warp that is elected; all of its threads must ask. The generated builder has
    other parameters in each build of MLIR."""
    return ir.Operation.create("nvvm.elect.sync", results=[ir.IntegerType.get_signless(1)]).result


def _elected(build: Callable[[], None]) -> None:
    with then(elected()):
        build()


def _synchronise_warp() -> None:
    nvvm.bar_warp_sync(arith.constant(ir.IntegerType.get_signless(32), -1))


def thread_rank() -> tuple[ir.Value, ir.Value]:
    """This thread's number in its CTA, x fastest, and the CTA's size."""
    x, y, z = (gpu.thread_id(ir.Attribute.parse(f"#gpu<dim {axis}>")) for axis in "xyz")
    width, height, depth = (gpu.block_dim(ir.Attribute.parse(f"#gpu<dim {axis}>")) for axis in "xyz")
    rank = arith.addi(arith.muli(arith.addi(arith.muli(z, height), y), width), x)
    return rank, arith.muli(arith.muli(width, height), depth)
