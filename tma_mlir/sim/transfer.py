"""Asynchronous copies in flight, and the groups that wait for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .machine import Cluster, Machine, Warp
    from .mbarrier import MBarrier


@dataclass(eq=False)
class Transfer:
    """One asynchronous copy between issue and completion.

    ``execute`` moves the bytes; ``targets`` are the (barrier, bytes) pairs it completes on. ``delay`` is the number of
    scheduler rounds it stays in flight at least. ``unexpected``: at issue its bytes had not been announced.
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
    unexpected: bool = False
    issue_step: int = 0
    shared_region: str = ""

    def describe(self) -> str:
        return f"{self.what} of {self.bytes_per_cta} B"


def launch(machine: Machine, transfer: Transfer) -> None:
    """Put a copy in flight; how long it stays there is the schedule's choice."""
    if machine.random is not None:
        transfer.delay = int(machine.random.integers(0, 24))
    transfer.issue_step = machine.steps
    machine.in_flight.append(transfer)
    machine.transfers += 1
    machine.transfer_bytes += transfer.bytes_per_cta * max(1, len(transfer.targets))
    if machine.trace is not None:
        machine.trace.issue(transfer)


def finish(machine: Machine, transfer: Transfer) -> None:
    """Move the bytes and complete on every barrier."""
    machine.in_flight.remove(transfer)
    transfer.execute()
    transfer.done = True
    machine.event += 1
    for barrier, size in transfer.targets:
        barrier.complete(transfer, size)
    if machine.trace is not None:
        machine.trace.complete(transfer)


class AsyncGroups:
    """Bulk or cp.async groups of one thread (or warp). Group n (from 1) holds the copies before the n-th commit."""

    __slots__ = ("component", "done", "groups", "last", "last_group", "open")

    def __init__(self, cluster: Cluster):
        self.component = cluster.new_component()
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
