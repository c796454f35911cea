"""Asynchronous copies in flight, and the groups that wait for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .errors import SimulationError

if TYPE_CHECKING:
    from .machine import Cluster, Machine, Warp
    from .mbarrier import MBarrier


class Outcome:
    """What is left of an asynchronous store to global memory: whether it is done, and stores that it may have met in
    the same bytes without an order, to be compared when the later of the two writes (see ``Meeting``)."""

    __slots__ = ("done", "meetings")

    def __init__(self) -> None:
        self.done = False
        self.meetings: list[Meeting] = []


@dataclass(eq=False)
class Meeting:
    """Two stores to ``places`` of ``data`` that nothing orders: an error if they differ. ``other``: the earlier one, if
    it is asynchronous too."""

    error: SimulationError
    data: np.ndarray
    places: np.ndarray
    other: Outcome | None


@dataclass(eq=False)
class Transfer:
    """One asynchronous copy between issue and completion.

    ``execute`` moves the bytes; ``targets`` are the (barrier, bytes) pairs it completes on. ``delay`` is the number of
    scheduler rounds it stays in flight at least. ``unexpected``: at issue its bytes had not been announced.
    ``committed``: its group was, for copies that are in one. ``swizzle``: the bits of the one in which a tensor load
    writes its tile.
    """

    number: int
    what: str
    location: str
    issuer: Warp
    lane: int
    bytes_per_cta: int
    execute: Callable[[], None]
    targets: list[tuple[MBarrier, int]] = field(default_factory=list)
    delay: int = 0
    done: bool = False
    committed: bool = False
    swizzle: int | None = None
    unexpected: bool = False
    issue_step: int = 0
    shared_region: str = ""
    outcome: Outcome | None = None

    def describe(self) -> str:
        return f"{self.what} of {self.bytes_per_cta} B"


def launch(machine: Machine, transfer: Transfer) -> None:
    """Put a copy in flight; how long it stays there is the schedule's choice."""
    if machine.random is not None:
        transfer.delay = int(machine.random.integers(0, 24))
    transfer.issue_step = machine.steps
    transfer.issuer.cluster.in_flight.append(transfer)
    machine.transfers += 1
    size = transfer.bytes_per_cta * max(1, len(transfer.targets))
    machine.transfer_bytes += size
    machine.note_issue(transfer, size)
    if machine.trace is not None:
        machine.trace.issue(transfer)


def finish(machine: Machine, transfer: Transfer) -> None:
    """Move the bytes and complete on every barrier."""
    transfer.issuer.cluster.in_flight.remove(transfer)
    if transfer.outcome is None:
        transfer.execute()
    else:
        _execute_store(transfer, transfer.outcome)
    transfer.done = True
    transfer.issuer.cluster.event += 1
    for barrier, size in transfer.targets:
        barrier.complete(transfer, size)
    if machine.trace is not None:
        machine.trace.complete(transfer)


def _execute_store(transfer: Transfer, outcome: Outcome) -> None:
    """Move the bytes of a store; an error if they differ from what an unordered store has put there."""
    before = [(each, each.data[each.places]) for each in outcome.meetings if each.other is None or each.other.done]
    for each in outcome.meetings:
        if each.other is not None and not each.other.done:
            each.other.meetings.append(Meeting(each.error, each.data, each.places, outcome))
    transfer.execute()
    outcome.done = True
    for each, old in before:
        if (each.data[each.places] != old).any():
            raise each.error
    outcome.meetings.clear()


class AsyncGroups:
    """Bulk, cp.async or wgmma groups of one thread (or warp). Group n (from 1) holds what was issued before the n-th
    commit. ``component``: groups whose reads of shared memory are over (for cp.async, all of it); ``stored``: groups
    whose writes are visible."""

    __slots__ = ("component", "done", "groups", "last", "last_group", "open", "stored")

    def __init__(self, cluster: Cluster):
        self.component = cluster.new_component()
        self.stored = cluster.new_component()
        self.open: list[Transfer] = []
        self.groups: list[list[Transfer]] = []
        self.done = 0
        self.last: Transfer | None = None
        self.last_group = 0

    @property
    def current(self) -> int:
        """The number that the open group will have."""
        return len(self.groups) + 1

    def add(self, transfer: Transfer) -> None:
        """Put a copy in the open group."""
        self.open.append(transfer)
        self.last, self.last_group = transfer, self.current

    def commit(self) -> None:
        for transfer in self.open:
            transfer.committed = True
        self.groups.append(self.open)
        self.open = []

    def complete_through(self, pending_allowed: int) -> int | None:
        """Number of leading groups when at most ``pending_allowed`` of the latest may be pending; None if not yet."""
        leading = max(0, len(self.groups) - pending_allowed)
        while self.done < leading:
            group = self.groups[self.done]
            if not all(t.done for t in group):
                return None
            group.clear()
            self.done += 1
        return leading
