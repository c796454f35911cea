"""Running a grid: clusters one after the other, their warps in turns, copies completing in between.

Schedule 0 runs each warp until it waits and completes copies only when no warp can run (the latest moment). Other
seeds choose the warp, how long it runs and when each copy completes at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .compile import Segment, blend
from .errors import SimulationError
from .hazards import EarlyRead
from .machine import BLOCKED, EXIT, SPLIT, Cluster, Front, Machine, Warp
from .report import deadlock, endless_loop, exit_during_transfer
from .transfer import finish

if TYPE_CHECKING:
    from collections.abc import Callable

QUANTUM = 20_000
"""Segments one warp may run in one turn of schedule 0."""
NOTHING: frozenset[int] = frozenset()
IDLE_STEPS = 20_000_000
"""Segments that may run without any barrier, copy or atomic before a loop is taken to be endless."""
STALLS = 64
"""Rounds in which only polling warps run before they are taken to wait for ever."""


def run_grid(machine: Machine, prepare: Callable[[Cluster], None], progress: Callable[[int, int], None] | None) -> None:
    """Run every cluster of the grid. ``prepare`` fills the argument registers of a new cluster's warps."""
    gx, gy, gz = machine.grid
    cx, cy, cz = machine.cluster_shape
    total = (gx // cx) * (gy // cy) * (gz // cz)
    done = 0
    for z in range(0, gz, cz):
        for y in range(0, gy, cy):
            for x in range(0, gx, cx):
                members = [
                    (x + i, y + j, z + k) for k in range(cz) for j in range(cy) for i in range(cx)
                ]  # rank order: x fastest
                cluster = Cluster(machine, members)
                prepare(cluster)
                _run_reporting_reads(machine, cluster)
                done += 1
                if progress is not None:
                    progress(done, total)


GARBAGE_FAULTS = {"out of bounds", "misaligned address", "illegal address", "illegal instruction", "internal"}
"""Errors that using an uninitialised value may lead to."""


def _run_reporting_reads(machine: Machine, cluster: Cluster) -> None:
    """``run_cluster``; a read of uninitialised shared memory is reported at the end, or when it leads to a fault."""

    def first_read() -> EarlyRead | None:
        for cta in cluster.ctas:
            if cta.shared.shadow is not None and cta.shared.shadow.early_reads:
                return next(iter(cta.shared.shadow.early_reads.values()))
        return None

    try:
        run_cluster(machine, cluster)
    except SimulationError as error:
        read = first_read()
        if read is None or error.kind not in GARBAGE_FAULTS:
            raise
        raise read.error() from error
    read = first_read()
    if read is not None:
        raise read.error()


def run_cluster(machine: Machine, cluster: Cluster) -> None:
    """Run until every warp has exited; ``SimulationError`` for a deadlock."""
    live = list(cluster.warps)
    random = machine.random
    stalls = 0
    last_event, last_steps = machine.event, machine.steps
    while live:
        before = machine.event
        ran = False
        order = live if random is None else [live[k] for k in random.permutation(len(live))]
        for w in order:
            if w.blocked_at == machine.event and not w.unlocked:
                continue
            ran = True
            start = machine.steps
            run_warp(w, QUANTUM if random is None else int(random.integers(1, 12)))
            if machine.trace is not None:
                machine.trace.ran(w, start)
            if random is not None:
                _complete_due(machine)
        live = [w for w in live if w.fronts]
        if machine.event != last_event:
            last_event, last_steps = machine.event, machine.steps
        elif machine.steps - last_steps > IDLE_STEPS:
            raise endless_loop(live)
        if machine.event != before:
            stalls = 0
        elif ran and any(w.blocked_at != machine.event for w in live):
            continue
        elif machine.in_flight:
            _complete_some(machine)
        elif live:
            stalls += 1
            if stalls > STALLS or not _unlock(live):
                raise deadlock(cluster)
    if machine.check:
        _check_exit(cluster)


def _complete_due(machine: Machine) -> None:
    """Let time pass for copies in flight (random schedules)."""
    for transfer in list(machine.in_flight):
        transfer.delay -= 1
        if transfer.delay <= 0:
            finish(machine, transfer)


def _complete_some(machine: Machine) -> None:
    """No warp can run: complete the oldest copy, or a random one."""
    pick = 0 if machine.random is None else int(machine.random.integers(len(machine.in_flight)))
    finish(machine, machine.in_flight[pick])


def _unlock(live: list[Warp]) -> bool:
    """Let diverged fronts past a waiting one, and polling fronts go on with "not yet". Whether there are any."""
    found = False
    for w in live:
        if any(f.waiting is not None and f.waiting.kind == "divergent operation" for f in w.fronts):
            continue
        polling = any(f.waiting is not None and f.waiting.polling for f in w.fronts)
        if polling or any(f.waiting is None for f in w.fronts):
            w.unlocked = True
            found = True
    return found


def run_warp(w: Warp, budget: int) -> None:
    """Run the warp's fronts, lowest segment first, until it waits, exits or has used its budget."""
    segments = w.cta.kernel.segments
    r = w.registers
    machine = w.machine
    while w.fronts:
        front = _pick(w)
        w.front = front
        w.mask, w.all, w.first, w.last = front.mask, front.all, front.first, front.last
        front.full = front.count == w.alive_count
        w.protected = NOTHING if len(w.fronts) == 1 else _protected(w, front)
        w.full = front.full
        segment = segments[front.segment]
        if segment.code:
            _execute(segment, r, w, front)
        following = _terminate(segment, r, w, front)
        machine.steps += following != BLOCKED
        if following >= 0:
            front.segment = following
            if len(w.fronts) > 1:
                _merge(w, front)
            budget -= 1
            if budget <= 0:
                w.blocked_at = -1
                return
        elif following == BLOCKED:
            if machine.trace is not None:
                machine.trace.blocked(w, front)
            if len(w.fronts) == 1 or not w.unlocked:
                w.blocked_at = machine.event
                w.unlocked = False
                return
        elif following == SPLIT:
            assert w.split is not None
            first, first_mask, second, second_mask = w.split
            front.segment = first
            front.set_mask(first_mask)
            w.fronts.append(Front(second, second_mask))
            _merge(w, w.fronts[-1])
            if front in w.fronts:
                _merge(w, front)
        else:
            assert following == EXIT
            _exit(w, front)


def _pick(w: Warp) -> Front:
    """The front to run: the lowest segment, so that paths meet again; if the warp is unlocked, one that can run."""
    fronts = w.fronts
    if len(fronts) == 1:
        return fronts[0]
    ordered = sorted(fronts, key=lambda f: (f.segment, f.token is not None))
    if not w.unlocked:
        return ordered[0]
    for front in ordered:
        if front.waiting is None:
            return front
    w.unlocked = False
    return ordered[0]


def _protected(w: Warp, front: Front) -> frozenset[int]:
    """Registers that the warp's other fronts still need."""
    segments = w.cta.kernel.segments
    others = tuple(f.segment for f in w.fronts if f is not front)
    if len(others) == 1:
        return segments[others[0]].live
    return frozenset().union(*(segments[index].live for index in others))


def _merge(w: Warp, front: Front) -> None:
    """Join ``front`` with another front at the same segment that has not arrived at a barrier yet."""
    if front.token is not None:
        return
    for other in w.fronts:
        if other is not front and other.segment == front.segment and other.token is None:
            other.set_mask(other.mask | front.mask)
            other.waiting = None
            w.fronts.remove(front)
            return


def _execute(segment: Segment, r: list, w: Warp, front: Front) -> None:
    code: Any = iter(segment.code)
    try:
        protected = w.protected
        if not protected:
            for step, target, _ in code:
                r[target] = step(r, w)
        else:
            mask = front.mask
            for step, target, kind in code:
                value = step(r, w)
                r[target] = blend(r[target], value, mask, kind) if target in protected else value
    except SimulationError:
        raise
    except Exception as error:
        index = len(segment.code) - code.__length_hint__() - 1
        raise SimulationError("internal", f"the simulator failed here: {error!r}", segment.places[index]) from error


def _terminate(segment: Segment, r: list, w: Warp, front: Front) -> int:
    assert segment.terminator is not None
    try:
        return segment.terminator(r, w, front)
    except SimulationError:
        raise
    except Exception as error:
        raise SimulationError("internal", f"the simulator failed here: {error!r}", segment.place) from error


def _exit(w: Warp, front: Front) -> None:
    w.fronts.remove(front)
    w.alive = w.alive & ~front.mask
    w.alive_count = int(np.count_nonzero(w.alive))
    w.cta.live_threads -= front.count
    w.cta.cluster.live_threads -= front.count
    w.machine.event += 1


def _check_exit(cluster: Cluster) -> None:
    """At the end no copy may still use the shared memory of a CTA that is gone: each must have been waited for."""
    for w in cluster.warps:
        for groups in w.groups.values():
            if groups.last is not None and groups.last_group > groups.done and groups.last.number:
                raise exit_during_transfer(groups.last, committed=groups.last not in groups.open)
    for cta in cluster.ctas:
        for barrier in cta.barriers.values():
            transfer, need = barrier.last_transfer
            if transfer is not None and not any(w.clock.knows(barrier.component, need) for w in cluster.warps):
                raise exit_during_transfer(transfer, committed=True)
