"""Accesses to memory, and which of them are ordered before what a warp does next.

Every access that the race checks remember has a number. Tables hold ``number << LANE_BITS | lane`` for each unit of
memory; 0 means that the kernel has not touched it. An access that many warps make of one place at once (reads, atomics)
is a *group*: a number that stands for several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import Note, warp_text

if TYPE_CHECKING:
    from .machine import Warp
    from .mbarrier import MBarrier
    from .transfer import AsyncGroups, Outcome, Transfer

LANE_BITS = 5
LANE_MASK = (1 << LANE_BITS) - 1
GROUP_LIMIT = 64
"""Concurrent readers of one place that are remembered; of more, the oldest are forgotten."""


class Access:
    """One access. It is over for whoever knows that ``component`` of ``cluster`` has reached ``value``.

    ``generic``: made through the generic proxy. ``lanes``: the lanes that made it together, None if each made its own.
    ``warp``, ``transfer`` and ``source`` (what reports the end) only where the messages need them, and only for shared
    memory, so that a finished cluster can be forgotten. ``outcome``: of an asynchronous store to global memory.
    """

    __slots__ = ("active", "block", "cluster", "component", "generic", "lanes", "location", "outcome", "source",
                 "transfer", "value", "warp", "warp_number", "what")  # fmt: skip

    def __init__(
        self, w: Warp, component: int, value: int, location: str, what: str, generic: bool,
        lanes: np.ndarray | None = None,
    ):  # fmt: skip
        self.warp_number, self.block = w.number, w.cta.block_id
        self.active = None if w.full else w.mask
        self.cluster = w.cta.cluster.key
        self.component = component
        self.value = value
        self.location = location
        self.what = what
        self.generic = generic
        self.lanes = lanes
        self.warp: Warp | None = None
        self.transfer: Transfer | None = None
        self.source: MBarrier | AsyncGroups | None = None
        self.outcome: Outcome | None = None

    @property
    def by(self) -> str:
        """Who made it."""
        return warp_text(self.warp_number, self.block, self.active)

    def own(self, w: Warp) -> bool:
        """Whether ``w`` itself made it, in its present epoch, with its own instructions."""
        return self.component == w.component and self.value == w.epoch and self.cluster == w.cta.cluster.key

    def ordered(self, w: Warp) -> bool:
        """Whether ``w`` knows that it is over."""
        return self._known(w, w.clock.seen, fenced=False)

    def fenced(self, w: Warp, shared: bool) -> bool:
        """Whether ``w`` knows that it is over, with a proxy fence since (for shared or for global memory)."""
        return self._known(w, w.clock.fenced if shared else w.clock.fenced_global, fenced=True)

    def _known(self, w: Warp, row: np.ndarray, fenced: bool) -> bool:
        if self.cluster == w.cta.cluster.key:
            return self.component < row.size and bool(row[self.component] >= self.value)
        remote = w.clock.remote
        return remote is not None and remote.knows(self.cluster, self.component, self.value, fenced)

    def note(self) -> Note:
        return (f"{self.what} by {self.by}", self.location)


class Facts:
    """What one warp has found out about the accesses of a log: ``known`` are over, ``fenced`` also behind a proxy
    fence. ``current``: the numbers of its own accesses in epoch ``epoch``."""

    __slots__ = ("current", "epoch", "fenced", "known")

    def __init__(self) -> None:
        self.known: set[int] = set()
        self.fenced: set[int] = set()
        self.current: dict[Any, int] = {}
        self.epoch = -1


class AccessLog:
    """The accesses by number. ``shared``: of a cluster's shared memory, else of global memory (of all clusters)."""

    def __init__(self, shared: bool):
        self.shared = shared
        self.accesses: list[Access | tuple[int, ...] | None] = [None]
        self.groups: dict[tuple[int, ...], int] = {}
        self.merges: dict[tuple[int, int], int] = {}

    def facts(self, w: Warp) -> Facts:
        return w.shared_facts if self.shared else w.global_facts

    def add(self, access: Access) -> int:
        self.accesses.append(access)
        return len(self.accesses) - 1

    def access(self, number: int) -> Access:
        found = self.accesses[number]
        assert isinstance(found, Access)
        return found

    def members(self, number: int) -> tuple[int, ...]:
        """The numbers that ``number`` stands for."""
        found = self.accesses[number]
        return found if found.__class__ is tuple else (number,)  # type: ignore[return-value]

    def own(self, w: Warp, what: str, location: str, location_id: int, lanes: np.ndarray | None) -> int:
        """The number of an ordinary access of ``w`` in its present epoch."""
        facts = self.facts(w)
        if facts.epoch != w.code_base:
            facts.epoch = w.code_base
            facts.current.clear()
        key = (location_id, what) if lanes is None else (location_id, what, lanes.tobytes())
        number = facts.current.get(key)
        if number is None:
            access = Access(w, w.component, w.epoch, location, what, True, lanes)
            if self.shared:
                access.warp = w
            number = facts.current[key] = self.add(access)
        return number

    def unordered(self, w: Warp, numbers: set[int]) -> list[int]:
        """Those of ``numbers`` (groups resolved) that are not known to be over for ``w``, its own apart."""
        known = self.facts(w).known
        result = []
        for number in sorted(numbers - known):
            members = self.members(number)
            late = [m for m in members if m not in known and not self._ordered(w, known, m)]
            result += late
            if not late and not any(self.access(m).own(w) for m in members):
                known.add(number)
        return result

    def _ordered(self, w: Warp, known: set[int], number: int) -> bool:
        access = self.access(number)
        if access.own(w):
            return True
        if not access.ordered(w):
            return False
        known.add(number)
        return True

    def unfenced(self, w: Warp, numbers: set[int]) -> list[int]:
        """Those of ``numbers`` made through the generic proxy that are not behind a proxy fence for ``w``."""
        fenced = self.facts(w).fenced
        result = []
        for number in sorted(numbers - fenced):
            members = self.members(number)
            late = [m for m in members if (a := self.access(m)).generic and not a.fenced(w, self.shared)]
            result += late
            if not late:
                fenced.add(number)
        return result

    def merged(self, w: Warp, old: int, new: int) -> int:
        """The number for ``new`` beside ``old`` (a group, an access or 0); what ``new`` comes after is dropped."""
        if old in (0, new):
            return new
        found = self.merges.get((old, new))
        if found is None:
            known = self.facts(w).known
            kept = [m for m in self.members(old) if m != new and not self._replaced(w, known, m)]
            members = (*kept[-GROUP_LIMIT + 1 :], new)
            found = new
            if len(members) > 1:
                found = self.groups.get(members, 0)
                if not found:
                    self.accesses.append(members)
                    found = self.groups[members] = len(self.accesses) - 1
            self.merges[old, new] = found
        return found

    def _replaced(self, w: Warp, known: set[int], number: int) -> bool:
        return number in known or self._ordered(w, known, number)


def distinct(codes: np.ndarray) -> set[int]:
    """The access numbers in a piece of a table."""
    if codes.size <= 64:
        return set((codes >> LANE_BITS).ravel().tolist())
    least, most = int(codes.min()) >> LANE_BITS, int(codes.max()) >> LANE_BITS
    if least == most:
        return {least}
    numbers = (codes >> LANE_BITS).ravel()
    ends = np.flatnonzero(numbers[1:] != numbers[:-1])
    found = set(numbers[ends].tolist())
    found.add(int(numbers[-1]))
    return found
