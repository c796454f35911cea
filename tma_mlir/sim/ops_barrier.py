"""mbarriers, CTA and cluster barriers, fences."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import NOT_YET, Compiler, Step, Waiter, operation, waiting
from .convergence import ALIGNED, ALL_LANES, converged
from .errors import SimulationError, UnsupportedError
from .machine import Cta, Front, NamedBarrier, Wait, Warp
from .mbarrier import MBarrier, Origin, find_barrier, init_barrier, invalidate_barrier
from .memory import RANK_SHIFT, SHARED_WINDOW
from .program import Instruction


def shared_place(w: Warp, address: int, location: str) -> tuple[Cta, int]:
    """The CTA and offset of a shared (or generic) address as warp ``w`` means it."""
    if SHARED_WINDOW <= address < SHARED_WINDOW + (1 << 32):
        address -= SHARED_WINDOW
    if not 0 <= address < 1 << 32:
        raise SimulationError("out of bounds", f"{address:#x} is not a shared-memory address", location)
    rank, offset = address >> RANK_SHIFT, address & ((1 << RANK_SHIFT) - 1)
    if rank == 0:
        return w.cta, offset
    if rank > w.cta.cluster.size:
        raise SimulationError("out of bounds", f"CTA rank {rank - 1} is not in the cluster", location)
    cta = w.cta.cluster.ctas[rank - 1]
    if cta.live_threads == 0:
        raise SimulationError(
            "remote CTA has exited", f"{w.describe()} uses shared memory of CTA {cta.block_id}, which has exited: "
            "put a cluster barrier before the end", location,
        )  # fmt: skip
    return cta, offset


def barrier_at(w: Warp, address: int, location: str) -> MBarrier:
    cta, offset = shared_place(w, address, location)
    return find_barrier(w, cta, offset, location)


def grouped(w: Warp, *values: Any) -> list[tuple[int, ...]]:
    """Each active lane's tuple of integer operands; one tuple stands for all lanes when every value is uniform
    (followed by the lane count)."""
    if not any(isinstance(v, np.ndarray) for v in values):
        return [(*(int(v) for v in values), w.front.count)]
    return [(*(w.lane_value(v, lane) for v in values), 1) for lane in w.active_lanes()]


def predicated(i: Instruction, predicate: int | None, step: Step) -> Step:
    """``step`` for the lanes where operand ``predicate`` holds."""
    if predicate is None:
        return step

    def run(r, w):
        with w.narrowed() as narrow:
            return step(r, w) if narrow(r[predicate]) else None

    return run


def _origin(i: Instruction, c: Compiler, address: int) -> tuple[str, int | None]:
    """Where the barrier at ``address`` was created: the place of the pointer that the operation's own steps start from,
    and its register. Empty and None if there is none."""
    value: int | None = address
    while value is not None:
        source = c.definitions.get(value)
        if source is None or not source.name.startswith("llvm."):
            break
        if source.location and source.location != i.location:
            return source.location, value
        value = source.operands[0] if source.operands else None
    return "", None


@operation("nvvm.mbarrier.init")
def _init(i: Instruction, c: Compiler) -> Step:
    address, count = i.operands[:2]
    created, base = _origin(i, c, address)

    def run(r, w):
        for where, number, _ in grouped(w, r[address], r[count]):
            cta, offset = shared_place(w, where, i.location)
            start = r[base] if base is not None else where
            origin = Origin(created, start if isinstance(start, int) else where)
            init_barrier(w, cta, offset, number, i.location, origin)

    return predicated(i, i.operands[2] if len(i.operands) > 2 else None, run)


@operation("nvvm.mbarrier.inval")
def _invalidate(i: Instruction, c: Compiler) -> Step:
    def run(r, w):
        for where, _ in grouped(w, r[i.operands[0]]):
            cta, offset = shared_place(w, where, i.location)
            invalidate_barrier(w, cta, offset, i.location)

    return run


@operation("nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive.nocomplete", "nvvm.mbarrier.arrive_drop",
           "nvvm.mbarrier.arrive_drop.nocomplete")  # fmt: skip
def _arrive(i: Instruction, c: Compiler) -> Step:
    address = i.operands[0]
    count = i.operands[1] if len(i.operands) > 1 else None
    drop = "arrive_drop" in i.name

    def run(r, w):
        state = 0
        for where, number, lanes in grouped(w, r[address], 1 if count is None else r[count]):
            barrier = barrier_at(w, where, i.location)
            state = barrier.phase
            (barrier.drop if drop else barrier.arrive)(w, number * lanes, i.location)
        return state

    return run


@operation("nvvm.mbarrier.arrive.expect_tx", "nvvm.mbarrier.arrive_drop.expect_tx")
def _arrive_expect(i: Instruction, c: Compiler) -> Step:
    address, size = i.operands[:2]
    drop = "arrive_drop" in i.name

    def run(r, w):
        state = 0
        # All lanes announce before any arrives: they execute in one instruction.
        entries = [(barrier_at(w, a, i.location), s, n) for a, s, n in grouped(w, r[address], r[size])]
        for barrier, announced, lanes in entries:
            if announced:
                barrier.expect(w, announced * lanes, i.location)
        for barrier, _, lanes in entries:
            state = barrier.phase
            (barrier.drop if drop else barrier.arrive)(w, lanes, i.location)
        return state

    return predicated(i, i.operands[2] if len(i.operands) > 2 else None, run)


@operation("nvvm.mbarrier.expect_tx")
def _expect(i: Instruction, c: Compiler) -> Step:
    address, size = i.operands

    def run(r, w):
        for where, announced, lanes in grouped(w, r[address], r[size]):
            barrier_at(w, where, i.location).expect(w, announced * lanes, i.location)

    return run


@operation("nvvm.mbarrier.complete_tx")
def _complete(i: Instruction, c: Compiler) -> Step:
    address, size = i.operands

    def run(r, w):
        for where, done, lanes in grouped(w, r[address], r[size]):
            barrier_at(w, where, i.location).complete_by_thread(w, done * lanes, i.location)

    return run


def _wait_all(w: Warp, front: Front, addresses: Any, parities: Any, location: str) -> bool:
    """Whether every lane's barrier has completed its phase; acquires them if so, else records the wait."""
    waits = {(a, p & 1) for a, p, _ in grouped(w, addresses, parities)}
    barriers = [(barrier_at(w, a, location), p) for a, p in sorted(waits)]
    for barrier, parity in barriers:
        barrier.check_visible(w, location)
        barrier.waited = True
        if not barrier.passes(parity):
            front.waiting = Wait(f"{barrier.name()} for parity {parity}", location, barrier, parity)
            return False
    for barrier, parity in barriers:
        barrier.acquire(w, parity, location)
    return True


@waiting("nvvm.mbarrier.try_wait.parity")
def _wait_parity(i: Instruction, c: Compiler) -> Waiter:
    address, parity = i.operands[:2]
    return lambda r, w, front: None if _wait_all(w, front, r[address], r[parity], i.location) else NOT_YET


@waiting("nvvm.mbarrier.test.wait", "nvvm.mbarrier.try_wait")
def _test_wait(i: Instruction, c: Compiler) -> Waiter:
    address, state = i.operands[:2]

    def run(r, w, front):
        # Once without success the front yields, so that others can change the state; then it gets its false.
        if _wait_all(w, front, r[address], r[state], i.location):
            front.token = None
            return True
        if front.token is None or (front.token == w.cluster.event and not w.unlocked):
            front.token = w.cluster.event
            if front.waiting is not None:
                front.waiting.polling = True
            return NOT_YET
        front.token = None
        return False

    return run


@waiting("nvvm.barrier0", "nvvm.barrier")
def _barrier(i: Instruction, c: Compiler) -> Waiter:
    sizes = i.attributes.get("operandSegmentSizes", [0, 0, 0])
    number = i.operands[0] if sizes[0] else None
    threads = i.operands[sizes[0]] if sizes[1] else None
    aligned = i.attributes.get("aligned", True)
    if len(sizes) > 2 and sizes[2]:
        raise UnsupportedError("nvvm.barrier with a reduction", i.location)

    def run(r, w, front):
        arrives = front.token is None
        if arrives and aligned and not converged(w, front, ALL_LANES, "the CTA barrier", i.location, ALIGNED):
            return NOT_YET
        which = 0 if number is None else w.uniform(r[number], "barrier number", i.location)
        barrier = w.cta.named_barrier(which)
        if arrives:
            front.token = barrier.generation
            _arrive_named(w, barrier, front.count, i.location)
        wanted = _threads_of(w, threads, r, i)
        if front.token == barrier.generation:
            if barrier.arrived < wanted:
                front.waiting = Wait(
                    f"CTA barrier {which} ({barrier.arrived} of {wanted} threads have arrived)", i.location
                )
                return NOT_YET
            _release_named(w, barrier)
        front.token = None
        w.clock.join(barrier.released)
        return None

    return run


def _threads_of(w: Warp, threads: int | None, r: list, i: Instruction) -> int:
    if threads is None:
        return w.cta.live_threads
    return w.uniform(r[threads], "number of threads", i.location)


def _arrive_named(w: Warp, barrier: NamedBarrier, count: int, location: str) -> None:
    barrier.clock.join(w.clock)
    barrier.arrived += count
    barrier.locations.append(location)
    w.release()
    w.cluster.event += 1


def _release_named(w: Warp, barrier: NamedBarrier) -> None:
    barrier.generation += 1
    barrier.arrived = 0
    barrier.released.join(barrier.clock)
    barrier.locations.clear()
    w.cluster.event += 1


@operation("nvvm.barrier.arrive")
def _barrier_arrive(i: Instruction, c: Compiler) -> Step:
    sizes = i.attributes.get("operandSegmentSizes")
    number, threads = (i.operands[0], i.operands[1]) if len(i.operands) == 2 else (None, i.operands[0])
    del sizes

    def run(r, w):
        which = 0 if number is None else w.uniform(r[number], "barrier number", i.location)
        barrier = w.cta.named_barrier(which)
        _arrive_named(w, barrier, w.front.count, i.location)
        if barrier.arrived >= w.uniform(r[threads], "number of threads", i.location):
            _release_named(w, barrier)

    return run


@operation("nvvm.cluster.arrive", "nvvm.cluster.arrive.relaxed")
def _cluster_arrive(i: Instruction, c: Compiler) -> Step:
    def run(r, w):
        cluster = w.cta.cluster
        if (w.cluster_arrivals[w.mask] == cluster.generation).any():
            raise SimulationError(
                "cluster.arrive without wait",
                f"{w.describe()} arrives at the cluster barrier again before it waits: each cluster.arrive needs a "
                "cluster.wait after it",
                i.location,
            )
        cluster.clock.join(w.clock)
        w.release()
        cluster.arrived += w.front.count
        w.cluster_arrivals[w.mask] = cluster.generation
        w.cluster.event += 1

    return run


@waiting("nvvm.cluster.wait")
def _cluster_wait(i: Instruction, c: Compiler) -> Waiter:
    def run(r, w, front):
        cluster = w.cta.cluster
        mine = w.cluster_arrivals[front.mask]
        if (mine < 0).any():
            raise SimulationError(
                "cluster.wait without arrive", f"{w.describe()} waits at the cluster barrier without having arrived",
                i.location,
            )  # fmt: skip
        if (mine == cluster.generation).any():
            if cluster.arrived < cluster.live_threads:
                front.waiting = Wait(
                    f"the cluster barrier ({cluster.arrived} of {cluster.live_threads} threads have arrived)",
                    i.location,
                )
                return NOT_YET
            cluster.generation += 1
            cluster.arrived = 0
            cluster.released.join(cluster.clock)
            w.cluster.event += 1
        w.clock.join(cluster.released)
        return None

    return run


@operation("nvvm.fence.proxy")
def _proxy_fence(i: Instruction, c: Compiler) -> Step:
    kind = str(i.attributes.get("kind", "async"))
    asynchronous = "async" in kind
    shared, in_global = ".global" not in kind, ".shared" not in kind

    def run(r, w):
        if asynchronous:
            w.clock.fence(shared, in_global)
            w.release()

    return run


@operation("nvvm.fence.mbarrier.init")
def _init_fence(i: Instruction, c: Compiler) -> Step:
    return lambda r, w: None
