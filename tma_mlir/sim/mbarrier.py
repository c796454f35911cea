"""mbarrier objects: phase, pending arrivals and transaction count exactly as the PTX ISA defines them.

A phase completes when no arrival is pending and the transaction count is zero; the next one starts with the initial
count. Protocol errors (re-initialisation, bytes never expected, too many arrivals) raise here, with both ends.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .clock import Clock
from .errors import Note, SimulationError
from .names import short, source_name

if TYPE_CHECKING:
    from .machine import Cta, Warp
    from .transfer import Transfer

MAX_COUNT = (1 << 20) - 1
"""Largest arrival count and magnitude of the transaction count (PTX ISA, mbarrier.init / expect_tx)."""


@dataclass
class PhaseLog:
    """What happened in one phase, for messages."""

    arrivals: list[str] = field(default_factory=list)
    arrived: Counter[Warp] = field(default_factory=Counter)
    issued_by: Counter[Warp] = field(default_factory=Counter)
    expected: list[tuple[int, str]] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    expected_bytes: int = 0
    completed_bytes: int = 0
    issued_bytes: int = 0
    late: Late | None = None


@dataclass(frozen=True)
class Late:
    """Bytes that warp ``w`` announced in its ``epoch``, after it issued the ``copy`` that brings them."""

    w: Warp
    epoch: int
    size: int
    location: str
    copy: str


@dataclass(frozen=True)
class Origin:
    """Where a barrier, or the group it is one of, was created: ``address`` of the first. ``location`` may be empty."""

    location: str
    address: int


@dataclass(frozen=True)
class LastWait:
    """A warp's latest successful wait on a barrier. Not ``fresh``: it already knew of every completed phase, so the
    wait passed on an old one. ``again``: so did its wait before, at the same place."""

    parity: int
    phase: int
    location: str
    fresh: bool
    again: bool

    def note(self) -> Note:
        return (
            f"this wait for parity {self.parity} passed at once: the barrier was in phase {self.phase}, and the phase "
            "before had been waited for already",
            self.location,
        )


class MBarrier:
    """One barrier at shared address ``address`` of ``cta``. ``component`` is its place in clocks; ``phase`` counts
    completed phases, so the current parity is ``phase & 1``."""

    def __init__(self, cta: Cta, address: int, count: int, w: Warp, location: str, origin: Origin):
        self.cta = cta
        self.address = address
        self.count = count
        self.pending = count
        self.tx = 0
        self.phase = 0
        self.component = cta.cluster.new_component()
        self.inits = [(w, w.epoch)]
        self.init_location = location
        self.origin = origin
        self.used = False
        self.waited = False
        self.threads: dict[Warp, int] = {}
        """Most threads of each warp that arrived in one phase."""
        self.arrivals: dict[str, None] = {}
        """Places of arrivals in any phase."""
        self.last_transfer: tuple[Transfer | None, int] = (None, 0)
        self.arriving = Clock(w.clock.seen.size)
        self.released = Clock(w.clock.seen.size)
        self.log = PhaseLog()
        self.previous: PhaseLog | None = None

    def name(self) -> str:
        label = f"mbarrier {self._label()}"
        return label if self.cta.cluster.size == 1 else f"{label} of CTA {self.cta.rank} of the cluster"

    def _label(self) -> str:
        symbol = self.cta.shared_symbol(self.address)
        created = self.origin.location
        if not created:
            return symbol
        index = (self.address - self.origin.address) // 8
        group = sum(b.origin == self.origin for b in self.cta.barriers.values())
        name = source_name(created)
        at = f"created at {short(created)}"
        if name is not None:
            return f"{name}[{index}] ({at})" if group > 1 else f"{name} ({at})"
        return f"{symbol} (number {index} of {group} {at})" if group > 1 else f"{symbol} ({at})"

    def state(self) -> str:
        """One line for reports: phase, pending arrivals and bytes."""
        return (
            f"phase {self.phase} (parity {self.phase & 1}), pending arrivals {self.pending} of {self.count}, "
            f"expected {self.log.expected_bytes} B, completed {self.log.completed_bytes} B, "
            f"transaction count {self.tx}"
        )

    def arrive(self, w: Warp, count: int, location: str, expect: int = 0) -> None:
        """``count`` arrivals by warp ``w``, after announcing ``expect`` bytes (arrive.expect_tx)."""
        self.check_visible(w, location)
        if expect:
            self.expect(w, expect, location)
        late = self.log.late
        if late is not None and (late.w is w or w.clock.knows(late.w.component, late.epoch)):
            # The phase cannot have completed before the announcement: it had to wait for this arrival.
            self.log.late = None
        self.arriving.join(w.clock)
        w.release()
        if count > self.pending:
            raise SimulationError(
                "too many arrivals",
                f"{count} arrivals on {self.name()} where {self.pending} are pending: {self.state()}",
                location,
                (("initialised here", self.init_location), *self._arrival_notes()),
            )
        self.pending -= count
        self.log.arrivals.append(location)
        self.log.arrived[w] += count
        self.arrivals[location] = None
        self.threads[w] = max(self.threads.get(w, 0), self.log.arrived[w])
        self._settle(location)

    def drop(self, w: Warp, count: int, location: str, expect: int = 0) -> None:
        """arrive_drop: arrive, and expect ``count`` fewer in every later phase."""
        self.count -= count
        self.arrive(w, count, location, expect)

    def expect(self, w: Warp, size: int, location: str) -> None:
        """Announce ``size`` bytes in the current phase.

        Legal after the issue too, as long as an arrival that comes later is pending: until then the phase cannot
        complete, and the transaction count may be negative.
        """
        self.check_visible(w, location)
        late = next((t for t in self.log.transfers if t.unexpected and t.issuer is w), None)
        if late is not None:
            self.log.late = Late(w, w.epoch, size, location, late.location)
        self.tx += size
        self.log.expected.append((size, location))
        self.log.expected_bytes += size
        if self.log.expected_bytes >= self.log.issued_bytes:
            for transfer in self.log.transfers:
                transfer.unexpected = False
        if abs(self.tx) > MAX_COUNT:
            raise SimulationError(
                "expect_tx too large", f"transaction count {self.tx} of {self.name()} exceeds {MAX_COUNT}", location
            )

    def issued(self, transfer: Transfer, size: int) -> None:
        """A copy that will complete ``size`` bytes here has been issued."""
        log = self.log
        log.transfers.append(transfer)
        log.issued_by[transfer.issuer] += 1
        self.last_transfer = (transfer, self.phase + 1)
        log.issued_bytes += size
        remote = transfer.issuer.cta is not self.cta
        if log.issued_bytes <= log.expected_bytes or remote:
            return
        if self.pending == 0:
            raise SimulationError(
                "expect_tx too small",
                f"copies of {log.issued_bytes} B complete on {self.name()}, which expects {log.expected_bytes} B in "
                f"phase {self.phase}: the phase can end before the data is there",
                transfer.location,
                (*self._expect_notes(), ("initialised here", self.init_location)),
            )
        transfer.unexpected = True

    def complete(self, transfer: Transfer, size: int) -> None:
        """``size`` bytes of a copy have arrived (complete_tx)."""
        self.tx -= size
        self.log.completed_bytes += size
        if self.tx < 0 and self.pending == 0:
            raise SimulationError(
                "expect_tx too small",
                f"{self.log.completed_bytes} B arrived on {self.name()}, which expects {self.log.expected_bytes} B in "
                f"phase {self.phase}",
                transfer.location,
                (*self._expect_notes(), ("initialised here", self.init_location)),
            )
        self._settle(transfer.location)

    def complete_by_thread(self, w: Warp, size: int, location: str) -> None:
        """mbarrier.complete_tx executed by a thread: the count sinks as if bytes had arrived.

        It is relaxed; taken as a release, which it is with the fence that belongs before it.
        """
        self.check_visible(w, location)
        self.arriving.join(w.clock)
        w.release()
        self.tx -= size
        self.log.completed_bytes += size
        self._settle(location)

    def _settle(self, location: str) -> None:
        if self.pending or self.tx:
            self.cta.cluster.event += 1
            return
        flying = [t for t in self.log.transfers if not t.done]
        if flying:
            missing = not self.log.expected
            raise SimulationError(
                "expect_tx missing" if missing else "expect_tx too small",
                f"phase {self.phase} of {self.name()} completes while a copy of {flying[0].bytes_per_cta} B into it is "
                f"in flight: {self.log.expected_bytes} B were expected, {self.log.issued_bytes} B were issued. "
                "Waiters pass before the data is there",
                location,
                (("the copy was issued here", flying[0].location), *self._expect_notes()),
            )
        late = self.log.late
        if late is not None:
            raise SimulationError(
                "expect_tx after issue",
                f"{late.size} B are announced on {self.name()} after the copy they cover was issued, and no arrival "
                "comes after that: the phase may complete without the copy. Announce before the issue, or with the "
                "arrival (arrive.expect_tx)",
                late.location,
                (("the copy was issued here", late.copy), *self._arrival_notes()),
            )
        self.phase += 1
        self.pending = self.count
        self.previous, self.log = self.log, PhaseLog()
        self.released.join(self.arriving)
        self.released.advance(self.component, self.phase)
        self.cta.cluster.event += 1
        self.cta.machine.trace_phase(self)

    def passes(self, parity: int) -> bool:
        """Whether try_wait.parity returns true: the phase with that parity has completed."""
        return (self.phase & 1) != (parity & 1)

    def acquire(self, w: Warp, parity: int, location: str) -> None:
        """A successful wait: everything released into completed phases is seen."""
        fresh = not w.clock.knows(self.component, self.phase)
        w.clock.join(self.released)
        last = w.last_waits.get(self.component)
        again = last is not None and not fresh and (last.phase, last.location) == (self.phase, location)
        w.last_waits[self.component] = LastWait(parity, self.phase, location, fresh, again)

    def check_visible(self, w: Warp, location: str) -> None:
        """Another warp may use the barrier only after a synchronisation that follows its initialisation."""
        self.used = True
        unseen = next((x for x, epoch in self.inits if x is not w and not w.clock.knows(x.component, epoch)), None)
        if unseen is None:
            return
        wide = w.cta is not self.cta
        raise SimulationError(
            "barrier used before init is visible",
            f"{self.name()} is used by {w.describe()}, which has not synchronised with {unseen.describe()} since it "
            f"initialised the barrier. Put {'cluster.arrive and cluster.wait' if wide else 'a CTA barrier'} after the "
            "initialisation",
            location,
            (("initialised here", self.init_location),),
        )

    def _expect_notes(self) -> tuple[Note, ...]:
        return tuple((f"expects {size} B", place) for size, place in self.log.expected[-3:])

    def _arrival_notes(self) -> tuple[Note, ...]:
        return tuple(("arrival in this phase", place) for place in self.log.arrivals[-3:])


def init_barrier(w: Warp, cta: Cta, address: int, count: int, location: str, origin: Origin) -> None:
    """mbarrier.init. Initialising a live barrier again is an error."""
    _check_place(cta, address, location)
    if not 1 <= count <= MAX_COUNT:
        raise SimulationError("barrier count", f"mbarrier.init with count {count}, legal are 1..{MAX_COUNT}", location)
    old = cta.barriers.get(address)
    if old is not None and not old.used and old.count == count:
        # Several threads run the one initialisation before anybody uses the barrier: as good as one.
        old.inits.append((w, w.epoch))
        return
    if old is not None:
        raise SimulationError(
            "barrier re-initialised",
            f"{old.name()} is initialised again while it is live: {old.state()}. Initialise once before the loop and "
            "flip the parity, or mbarrier.inval first",
            location,
            (("initialised here", old.init_location), *old._arrival_notes(), *old._expect_notes()),
        )
    if cta.shared.shadow is not None:
        cta.shared.shadow.barrier_made(w, address, location)
    cta.barriers[address] = MBarrier(cta, address, count, w, location, origin)


def invalidate_barrier(w: Warp, cta: Cta, address: int, location: str) -> None:
    """mbarrier.inval: the memory may be used for something else. Legal only between phases."""
    barrier = find_barrier(w, cta, address, location)
    barrier.check_visible(w, location)
    if barrier.tx or any(not t.done for t in barrier.log.transfers):
        raise SimulationError(
            "barrier invalidated in use", f"{barrier.name()} is invalidated with copies in flight: {barrier.state()}",
            location, (("initialised here", barrier.init_location),),
        )  # fmt: skip
    if cta.shared.shadow is not None:
        cta.shared.shadow.barrier_gone(w, address, location)
    del cta.barriers[address]


def find_barrier(w: Warp, cta: Cta, address: int, location: str) -> MBarrier:
    """The live barrier at ``address``; an error that says who else initialised what if there is none."""
    barrier = cta.barriers.get(address)
    if barrier is None:
        _check_place(cta, address, location)
        known = ", ".join(cta.shared_symbol(a) for a in sorted(cta.barriers)) or "none"
        raise SimulationError(
            "barrier not initialised",
            f"no mbarrier at shared {cta.shared_symbol(address)} when {w.describe()} uses it (initialised so far: "
            f"{known})",
            location,
        )
    return barrier


def _check_place(cta: Cta, address: int, location: str) -> None:
    if address % 8:
        raise SimulationError("misaligned address", f"mbarrier at {address:#x} is not 8-byte aligned", location)
    if not cta.shared_start <= address <= cta.shared.data.size - 8:
        raise SimulationError("out of bounds", f"mbarrier at shared address {address:#x} is not allocated", location)
