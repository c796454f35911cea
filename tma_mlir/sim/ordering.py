"""Synchronisation through memory: atomics, acquire and release accesses, volatile flags, fences.

A release on a location leaves there what its warp knows; an access that reads the location takes it up. Within a
cluster this is a join of clocks. Between clusters clocks are sparse: a location numbers its releases, and a warp knows
a location up to a number. So a grid of thousands of CTAs costs no more than the releases it executes.

Two approximations, both towards silence. A relaxed read of a location is taken as an acquire (the fence after it is not
asked for). A fence covers what the warp knew by then, also what it learned of others.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from .clock import Clock

if TYPE_CHECKING:
    from .machine import Warp
    from .memory import Region

RELEASING = (5, 6, 7)
"""``LLVM::AtomicOrdering`` of release, acq_rel and seq_cst; 2 is monotonic (relaxed), 4 acquire."""
NARROW_SCOPES = ("block", "workgroup", "cluster", "singlethread", "cta")
"""Scopes of atomics and fences that other clusters do not see."""

ClusterKey = tuple[int, int, int]


class Remote:
    """Releases of other clusters that are known: how many of each location. ``fenced``: those behind a
    proxy fence for global memory. ``far`` as in ``Clock``."""

    __slots__ = ("far", "fenced", "seen")

    def __init__(self) -> None:
        self.seen: dict[Location, int] = {}
        self.fenced: dict[Location, int] = {}
        self.far: dict[Location, int] = {}

    def copy(self) -> Remote:
        other = Remote()
        other.join(self)
        return other

    def join(self, other: Remote) -> None:
        _join(self.seen, other.seen)
        _join(self.fenced, other.fenced)
        _join(self.far, other.far)

    def fence(self) -> None:
        _join(self.fenced, self.seen)

    def publish(self) -> None:
        _join(self.far, self.seen)

    def knows(self, cluster: ClusterKey, component: int, value: int, fenced: bool) -> bool:
        """Whether a release of ``cluster`` is known that covers ``component`` at ``value``."""
        for location, count in self.seen.items():
            entry = location.entry(cluster, count)
            if entry is not None and _covers(entry[1 if fenced else 0], component, value):
                return True
        if fenced:
            for location, count in self.fenced.items():
                entry = location.entry(cluster, count)
                if entry is not None and _covers(entry[0], component, value):
                    return True
        return False


def _join(mine: dict[Location, int], other: dict[Location, int]) -> None:
    for location, count in other.items():
        if mine.get(location, 0) < count:
            mine[location] = count


def _covers(row: np.ndarray, component: int, value: int) -> bool:
    return component < row.size and bool(row[component] >= value)


class Location:
    """One address that atomics, volatile or acquire/release accesses use.

    ``near``: what each cluster left for its own warps. ``entries``: for each cluster, the numbers of its releases and
    what the cluster had released by each, as rows ``seen`` and ``fenced_global``.
    """

    __slots__ = ("count", "entries", "near", "remote")

    def __init__(self) -> None:
        self.count = 0
        self.near: dict[ClusterKey, Clock] = {}
        self.entries: dict[ClusterKey, tuple[list[int], list[np.ndarray]]] = {}
        self.remote = Remote()

    def entry(self, cluster: ClusterKey, count: int) -> np.ndarray | None:
        """What ``cluster`` had released by release number ``count``."""
        found = self.entries.get(cluster)
        if found is None:
            return None
        numbers, rows = found
        index = bisect_right(numbers, count)
        return rows[index - 1] if index else None

    def leave(self, cluster: ClusterKey, rows: np.ndarray) -> None:
        """``cluster`` releases ``rows`` to everybody."""
        self.count += 1
        numbers, old = self.entries.setdefault(cluster, ([], []))
        if old:
            last = old[-1]
            if last.shape[1] < rows.shape[1]:
                last = np.pad(last, ((0, 0), (0, rows.shape[1] - last.shape[1])))
            np.maximum(rows[:, : last.shape[1]], last[:, : rows.shape[1]], out=rows[:, : last.shape[1]])
        numbers.append(self.count)
        old.append(rows)


def location_at(region: Region, offset: int) -> Location:
    """The synchronisation location at a byte of a region."""
    locations = region.locations
    found = locations.get(offset)
    if found is None:
        found = locations[offset] = Location()
    return found


def acquire(w: Warp, location: Location) -> None:
    """``w`` reads the location: it learns what was released there."""
    near = location.near.get(w.cta.cluster.key)
    if near is not None:
        w.clock.join(near)
    if location.count:
        remote = w.clock.remote
        if remote is None:
            remote = w.clock.remote = Remote()
        remote.join(location.remote)
        remote.seen[location] = location.count


def release(w: Warp, location: Location, releasing: bool, far: bool) -> None:
    """``w`` writes the location: it publishes all it knows if ``releasing``, else what is behind a fence.

    ``far``: the scope of the access is the GPU or the system, so that other clusters see it too. The caller starts a
    new epoch of the warp (``release``) when it has done so for all lanes.
    """
    clock = w.clock
    known = clock.seen if releasing else clock.near
    key = w.cta.cluster.key
    if known.any():
        near = location.near.get(key)
        if near is None:
            near = location.near[key] = Clock(clock.seen.size)
        published = Clock(clock.seen.size)
        for row, new in zip(published.rows, clock.rows, strict=True):
            np.minimum(new, known, out=row)
        published.remote = clock.remote
        near.join(published)
    if not far or w.machine.cluster_count == 1:
        return
    known = clock.seen if releasing else clock.far
    remote = clock.remote
    if known.any():
        location.leave(key, np.stack([known, np.minimum(clock.fenced_global, known)]))
        if remote is not None:
            public = remote.seen if releasing else remote.far
            _join(location.remote.seen, public)
            _join(location.remote.far, public)
            _join(location.remote.fenced, {k: min(n, public[k]) for k, n in remote.fenced.items() if k in public})


def is_far(scope: str) -> bool:
    """Whether a scope (of LLVM or PTX) reaches beyond the cluster."""
    return scope not in NARROW_SCOPES
