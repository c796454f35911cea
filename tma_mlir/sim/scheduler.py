"""Running a grid: several clusters at once, their warps in turns, copies completing in between.

Schedule 0 takes clusters and warps round robin, runs each warp until it waits, and completes copies only when no warp
of their cluster can run (the latest moment). Other seeds choose the order of clusters and warps, how long each runs and
when each copy completes at random. Clusters start in the order of their blocks, as others end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from .errors import SimulationError
from .fronts import run_warp, unlock
from .hazards import EarlyRead
from .machine import Cluster, Machine, Warp
from .occupancy import resident_clusters
from .progress import Progress
from .report import deadlock, exit_during_transfer, too_few_resident, too_many_steps
from .suspects import with_suspects
from .transfer import finish

QUANTUM = 4_000
"""Segments one warp may run in one turn of schedule 0."""
ROUNDS = 16
"""Turns of all its warps that a cluster has before the next one's, as long as they get on (schedule 0)."""
WINDOW = 8
"""CTAs that are on the chip at first; more, up to what it holds, once these only wait for others."""
GARBAGE_FAULTS = {"out of bounds", "misaligned address", "illegal address", "illegal instruction", "internal"}
"""Errors that using an uninitialised value may lead to."""


def run_grid(
    machine: Machine,
    prepare: Callable[[Cluster], None],
    progress: Callable[[int, int], None] | None,
    max_steps: int,
) -> None:
    """Run every cluster of the grid. ``prepare`` fills the argument registers of a new cluster's warps.

    ``SimulationError`` once more than ``max_steps`` segments have run, at the end of a warp's turn.
    """
    _Grid(machine, prepare, progress, max_steps).run()


class _Grid:
    """A launch as it runs. ``waiting``: clusters that have not started; ``resident``: those on the chip."""

    def __init__(
        self,
        machine: Machine,
        prepare: Callable[[Cluster], None],
        report: Callable[[int, int], None] | None,
        max_steps: int,
    ):
        self.machine = machine
        self.max_steps = max_steps
        self.prepare = prepare
        self.report = report
        sizes = [extent // step for extent, step in zip(machine.grid, machine.cluster_shape, strict=True)]
        self.total = sizes[0] * sizes[1] * sizes[2]
        self.started = self.done = 0
        self.waiting = _clusters(machine)
        self.resident: list[Cluster] = []
        self.capacity = resident_clusters(machine)
        x, y, z = machine.cluster_shape
        self.window = min(self.capacity, max(2, WINDOW // (x * y * z)))
        self.progress = Progress(machine)

    def run(self) -> None:
        """Until every cluster has ended; ``SimulationError`` if none of the resident ones can."""
        random = self.machine.random
        while self._start():
            order = self.resident
            if random is not None:
                order = [order[k] for k in random.permutation(len(order))]
            for cluster in list(order):
                try:
                    # Some rounds at a time: its memory stays in the cache.
                    for _ in range(ROUNDS if random is None else 1):
                        if not self._round(cluster):
                            break
                except SimulationError as error:
                    read = _first_read(cluster)
                    if read is None or error.kind not in GARBAGE_FAULTS:
                        raise with_suspects(error, cluster) from error
                    raise read.error() from error
                if not cluster.live:
                    self._end(cluster)
            if self.progress.stuck(self.resident):
                self._grow()

    def _start(self) -> bool:
        """Fill the window; whether there is anything to run."""
        while len(self.resident) < self.window and self.started < self.total:
            cluster = Cluster(self.machine, next(self.waiting))
            self.prepare(cluster)
            self.resident.append(cluster)
            self.started += 1
        return bool(self.resident)

    def _round(self, cluster: Cluster) -> bool:
        """One turn for every warp of the cluster that can run; a copy completes, or an error, if none can.

        Whether something happened, and the cluster still runs.
        """
        machine, random = self.machine, self.machine.random
        event = cluster.event
        live = cluster.live
        for w in live if random is None else [live[k] for k in random.permutation(len(live))]:
            if w.blocked_at == cluster.event and not w.unlocked:
                continue
            start = machine.steps
            run_warp(w, QUANTUM if random is None else int(random.integers(1, 12)))
            if machine.steps > self.max_steps:
                raise too_many_steps(w, self.max_steps, self.done, self.total)
            if machine.trace is not None:
                machine.trace.ran(w, start)
            if random is not None:
                _complete_due(cluster)
        cluster.live = live = [w for w in live if w.fronts]
        if cluster.event != event:
            self.progress.happened()
            return bool(live)
        if any(_runs(w) and w.polled is None for w in live):
            self.progress.computing = True
        elif cluster.in_flight:
            _complete_some(cluster)
            self.progress.happened()
            return True
        elif live and not unlock(live) and not any(_runs(w) for w in live):
            raise deadlock(cluster)
        return False

    def _end(self, cluster: Cluster) -> None:
        self.resident.remove(cluster)
        if self.machine.check:
            _check_exit(cluster)
        while cluster.in_flight:
            finish(self.machine, cluster.in_flight[0])
        read = _first_read(cluster)
        if read is not None:
            raise read.error()
        self.done += 1
        if self.report is not None:
            self.report(self.done, self.total)

    def _grow(self) -> None:
        """The resident clusters wait for something that none of them does: others may, if the chip has room."""
        if self.started == self.total:
            raise self.progress.error(self.resident)
        if self.window >= self.capacity:
            raise too_few_resident(self.progress.error(self.resident), self.started, self.total, self.machine)
        self.window = min(self.capacity, 2 * self.window)
        self.progress.happened()


def _clusters(machine: Machine) -> Iterator[list[tuple[int, int, int]]]:
    """The block ids of each cluster in rank order (x fastest), clusters in the order in which they start."""
    gx, gy, gz = machine.grid
    cx, cy, cz = machine.cluster_shape
    for z, y, x in product(range(0, gz, cz), range(0, gy, cy), range(0, gx, cx)):
        yield [(x + i, y + j, z + k) for k in range(cz) for j in range(cy) for i in range(cx)]


def _runs(w: Warp) -> bool:
    """Its turn ended before it had to wait."""
    return w.blocked_at != w.cluster.event


def _first_read(cluster: Cluster) -> EarlyRead | None:
    """A read of uninitialised shared memory: reported at the end, or when it leads to a fault."""
    for cta in cluster.ctas:
        if cta.shared.shadow is not None and cta.shared.shadow.early_reads:
            return next(iter(cta.shared.shadow.early_reads.values()))
    return None


def _complete_due(cluster: Cluster) -> None:
    """Let time pass for copies in flight (random schedules)."""
    for transfer in list(cluster.in_flight):
        transfer.delay -= 1
        if transfer.delay <= 0:
            finish(cluster.machine, transfer)


def _complete_some(cluster: Cluster) -> None:
    """No warp of the cluster can run: complete its oldest copy, or a random one."""
    random = cluster.machine.random
    pick = 0 if random is None else int(random.integers(len(cluster.in_flight)))
    finish(cluster.machine, cluster.in_flight[pick])


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
