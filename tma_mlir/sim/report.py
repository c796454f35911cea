"""Deadlock reports: who waits for what, the state of every barrier involved, and the likely cause."""

from __future__ import annotations

from collections import defaultdict

from . import occupancy
from .convergence import REMEDY
from .errors import Note, SimulationError, lanes_text
from .machine import Cluster, Machine, Wait, Warp
from .mbarrier import MBarrier
from .occupancy import resident_clusters
from .transfer import Transfer


def deadlock(cluster: Cluster) -> SimulationError:
    """No warp can run and nothing is in flight: say why."""
    waits: list[tuple[Warp, str, Wait]] = []
    for w in cluster.warps:
        for front in w.fronts:
            if front.waiting is not None:
                lanes = "" if front.count == 32 else f" lanes {lanes_text(front.mask)}"
                waits.append((w, f"warp {w.number} of CTA {w.cta.block_id}{lanes}", front.waiting))
    divergent = next((x for x in waits if x[2].kind == "divergent operation" and not _comes_later(x[0], x[2])), None)
    if divergent is not None:
        _, who, wait = divergent
        return SimulationError(
            "divergent operation",
            f"{who} waits at {wait.what}; those lanes took another path and do not come here. {REMEDY}",
            wait.location,
        )
    by_barrier: dict[MBarrier, list[tuple[str, Wait]]] = defaultdict(list)
    others: list[tuple[str, Wait]] = []
    for _, who, wait in waits:
        if wait.missing is not None:
            continue
        if wait.barrier is not None:
            by_barrier[wait.barrier].append((who, wait))
        else:
            others.append((who, wait))
    if not by_barrier:
        who, wait = others[0]
        also = tuple((f"{w} waits for {x.what}", x.location) for w, x in others[1:6])
        return SimulationError("deadlock", f"deadlock: {who} waits for {wait.what}", wait.location, also)
    roots = _roots(cluster, by_barrier)
    ranked = sorted(by_barrier, key=lambda b: (b not in roots, -_weight(b, by_barrier[b])))
    first = ranked[0]
    who, wait = by_barrier[first][0]
    waiters = _unique(n for n, _ in by_barrier[first])
    message = (
        f"deadlock: {', '.join(waiters)} {'waits' if len(waiters) == 1 else 'wait'} on {first.name()} for parity "
        f"{wait.parity}: {first.state()}. {cause(first, wait)}"
    )
    notes: list[Note] = [("initialised here", first.init_location)]
    log = first.log
    notes += [(f"expects {size} B in this phase", place) for size, place in log.expected[-4:]]
    notes += [
        (f"{t.what} of {t.bytes_per_cta} B completed on it in this phase", t.location) for t in log.transfers[-4:]
    ]
    notes += [("arrival in this phase", place) for place in _unique(log.arrivals)[-4:]]
    if first.previous is not None:
        notes += [("arrival in the phase before", place) for place in _unique(first.previous.arrivals)[-2:]]
    for barrier in ranked[1:4]:
        for name, entry in by_barrier[barrier][:1]:
            hint = "; a first wait for an empty stage needs parity 1" if _untouched(barrier) else ""
            text = f"{name} waits on {barrier.name()} for parity {entry.parity}: {barrier.state()}{hint}"
            notes.append((text, entry.location))
    notes += [(f"{name} waits for {entry.what}", entry.location) for name, entry in others[:4]]
    return SimulationError("deadlock", message, wait.location, tuple(_unique(notes)))


def _comes_later(w: Warp, wait: Wait) -> bool:
    """Whether a lane that ``wait`` misses waits for something other than its warp, and may come after that."""
    assert wait.missing is not None
    return any(
        front.waiting is not None and front.waiting.missing is None and (front.mask & wait.missing).any()
        for front in w.fronts
    )


def exit_during_transfer(transfer: Transfer, committed: bool) -> SimulationError:
    """A kernel ended without having waited for a copy that uses its shared memory."""
    what = "a wait on its mbarrier" if transfer.targets else "wait_group"
    hint = "" if committed else " (its group was never committed)"
    return SimulationError(
        "exit during transfer",
        f"the CTA of {transfer.issuer.describe()} exits without waiting for {transfer.describe()}, which uses its "
        f"shared memory{hint}: put {what} before the end",
        transfer.location,
    )


def endless_loop(looping: list[Warp], clusters: list[Cluster]) -> SimulationError:
    """``looping`` warps run on and on, and nothing that could end their loops happens."""
    w = looping[0]
    place = w.polled or w.cta.kernel.segments[next(f for f in w.fronts if f.waiting is None).segment].place
    others = len(looping) - 1
    also = f", like {others} other warp{'s' if others > 1 else ''}," if others else ""
    what = "polls memory that nothing changes any more" if w.polled else "changes nothing that could end the loop"
    notes: list[Note] = []
    for cluster in clusters:
        for other in cluster.live:
            for front in other.fronts:
                if front.waiting is not None:
                    notes.append((f"{other.describe()} waits for {front.waiting.what}", front.waiting.location))
    return SimulationError(
        "endless loop",
        f"{w.describe()}{also} loops for ever: it {what}; every other warp waits or has ended",
        place,
        tuple(_unique(notes)[:4]),
    )


def too_many_steps(w: Warp, most: int, done: int, total: int) -> SimulationError:
    """The run takes longer than its limit; ``w`` ran last."""
    front = next((f for f in w.fronts if f.waiting is None), None)
    waits = next((f.waiting.location for f in w.fronts if f.waiting is not None), "")
    place = w.polled or (w.cta.kernel.segments[front.segment].place if front is not None else waits)
    return SimulationError(
        "step limit",
        f"more than {most} steps, with {done} of {total} clusters done; {w.describe()} ran last. Either a loop never "
        "ends, or the run is long: allow more steps (max_steps=, --max-steps), or simulate a part (a smaller grid)",
        place,
    )


def too_few_resident(error: SimulationError, started: int, total: int, machine: Machine) -> SimulationError:
    """``error`` of the blocks on the chip, where ``total - started`` clusters find no room on it."""
    x, y, z = machine.cluster_shape
    unit = x * y * z
    return SimulationError(
        "deadlock",
        f"deadlock: {(total - started) * unit} of {total * unit} blocks have not started, and the others wait: "
        f"{error.message}. A chip with {occupancy.MULTIPROCESSORS} multiprocessors holds "
        f"{resident_clusters(machine) * unit} blocks of this kernel at once, and a block may wait only for blocks on "
        "the chip with it (they start in the order of their numbers): launch no more, or let blocks wait only for "
        "earlier ones",
        error.location,
        error.notes,
    )


def cause(barrier: MBarrier, wait: Wait) -> str:
    """The most likely reason that the barrier's phase does not complete."""
    log = barrier.log
    if barrier.pending == 0 and barrier.tx > 0:
        if log.completed_bytes == 0 and not log.transfers:
            return (
                f"All have arrived but none of the {log.expected_bytes} expected bytes came: no copy was issued on "
                "this barrier in this phase (a copy that reports to another barrier, or an expect_tx without a copy)"
            )
        return (
            f"All have arrived, but expect_tx announced {log.expected_bytes} B and the copies bring only "
            f"{log.completed_bytes} B: expect_tx is too large by {barrier.tx} B, or a copy is missing"
        )
    if barrier.tx < 0:
        return (
            f"{log.completed_bytes} B arrived and {log.expected_bytes} B were expected: expect_tx is missing or too "
            "small"
        )
    if barrier.pending == barrier.count and not log.transfers and not log.expected:
        if barrier.phase > 0 and wait.parity == barrier.phase & 1:
            return (
                f"No thread arrives in phase {barrier.phase}; the phase before, with parity {(barrier.phase - 1) & 1}, "
                "has completed: the parity of the wait did not flip with the phase, or an arrival is missing"
            )
        return "No thread has arrived: the arrival (arrive.expect_tx) is missing or not reached"
    arrived = barrier.count - barrier.pending
    return (
        f"{arrived} of {barrier.count} arrivals came: the count of mbarrier.init is too large or an arrival is missing"
    )


def _roots(cluster: Cluster, waited: dict[MBarrier, list[tuple[str, Wait]]]) -> set[MBarrier]:
    """Barriers that do not merely wait for a warp which itself waits on another barrier."""
    blocked: dict[Warp, set[MBarrier]] = {
        w: {f.waiting.barrier for f in w.fronts if f.waiting is not None and f.waiting.barrier is not None}
        for w in cluster.warps
    }
    return {barrier for barrier in waited if not any(blocked[w] - {barrier} for w in _owing(barrier))}


def _owing(barrier: MBarrier) -> set[Warp]:
    """Warps that arrived (or issued copies) in the phase before and have not done so as often in this one."""
    if barrier.previous is None:
        return set()
    before, now = (
        (barrier.previous.arrived, barrier.log.arrived)
        if barrier.pending
        else (barrier.previous.issued_by, barrier.log.issued_by)
    )
    return {w for w, count in before.items() if now[w] < count}


def _untouched(barrier: MBarrier) -> bool:
    """Nothing has happened on the barrier since it was initialised."""
    log = barrier.log
    return barrier.phase == 0 and barrier.pending == barrier.count and not log.transfers and not log.expected


def _weight(barrier: MBarrier, waits: list[tuple[str, Wait]]) -> int:
    """Barriers with something wrong in their counts explain more than those where no thread arrived."""
    score = len(waits)
    if barrier.tx:
        score += 1000
    if 0 < barrier.pending < barrier.count:
        score += 500
    return score


def _unique(items) -> list:
    return list(dict.fromkeys(items))
