"""Barriers that look wrong, told along with an error whose victim is somewhere else."""

from __future__ import annotations

from .errors import Note, SimulationError
from .machine import Cluster
from .mbarrier import MBarrier

EXPLAINED = {"deadlock", "stage reused too early", "too many arrivals", "wrong parity", "write during transfer"}
"""Errors whose cause is often a barrier that another thread uses wrongly."""


def with_suspects(error: SimulationError, cluster: Cluster) -> SimulationError:
    """``error``, saying which barriers of the cluster may be its cause."""
    if error.kind not in EXPLAINED:
        return error
    barriers = [b for cta in cluster.ctas for b in cta.barriers.values()]
    by_group: dict[tuple[str, str], tuple[str, MBarrier]] = {}
    for barrier in barriers:
        kind, text = _suspicion(barrier, barriers)
        if kind:
            by_group.setdefault((kind, barrier.init_location), (text, barrier))
    if not by_group:
        return _with_old_wait(error, cluster, barriers)
    found = list(by_group.values())
    notes: list[Note] = [("initialised here", b.init_location) for _, b in found[:2]]
    notes += [("arrives here", place) for _, b in found[:2] for place in list(b.arrivals)[:2]]
    message = f"{error.message}. Likely cause: {'; '.join(text for text, _ in found[:2])}"
    return SimulationError(error.kind, message, error.location, (*error.notes, *dict.fromkeys(notes)))


def _with_old_wait(error: SimulationError, cluster: Cluster, barriers: list[MBarrier]) -> SimulationError:
    """``error``, with a wait that passed again on the phase on which it had passed before, if there is one."""
    by_component = {barrier.component: barrier for barrier in barriers}
    for w in cluster.warps:
        for component, last in w.last_waits.items():
            if last.again and component in by_component:
                barrier = by_component[component]
                message = (
                    f"{error.message}. Likely cause: the wait of {w.describe()} on {barrier.name()} passed again on a "
                    f"phase that it had waited for (phase {barrier.phase} is current, its parity was {last.parity}): "
                    "flip the parity each round"
                )
                notes = (last.note(), ("initialised here", barrier.init_location))
                return SimulationError(error.kind, message, error.location, (*error.notes, *notes))
    return error


def _suspicion(barrier: MBarrier, barriers: list[MBarrier]) -> tuple[str, str]:
    """What kind of suspicion there is, and its words; both empty if there is none."""
    threads = sum(barrier.threads.values())
    if threads > barrier.count and len(barrier.threads) > 1:
        return "count", (
            f"{barrier.name()} counts {barrier.count}, but {threads} arrivals come in a round: its phases end too "
            f"early. Initialise it with {threads}, or arrive less often"
        )
    if not barrier.waited and barrier.last_transfer[0] is None:
        arrives = f"{threads} threads arrive on it" if threads else "no thread has arrived on it so far"
        return "no wait", f"no thread waits on {barrier.name()}, which counts {barrier.count} ({arrives})"
    if not barrier.threads and barrier.phase == 0 and not barrier.log.transfers:
        busy = [b for b in barriers if b.origin == barrier.origin and b.threads]
        if busy:
            return "index", (
                f"no thread has arrived on {barrier.name()}, while {busy[0].name()} of the same group completed "
                f"{busy[0].phase} phases: the index of an arrival is wrong or never changes"
            )
    return "", ""
