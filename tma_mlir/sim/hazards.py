"""Messages for races on shared memory: what happened, the likely cause, both places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import Note, SimulationError
from .transfer import AsyncGroups, Transfer

if TYPE_CHECKING:
    from .accesses import Access
    from .machine import Warp
    from .mbarrier import LastWait, MBarrier


@dataclass(frozen=True)
class EarlyRead:
    """A read of shared memory that nothing had written. ``waits``: the reader's latest wait by barrier component."""

    reader: Warp
    place: str
    location: str
    waits: dict[int, LastWait]

    def error(self) -> SimulationError:
        return SimulationError(
            "uninitialised read",
            f"{self.reader.describe()} reads shared memory at {self.place} that nothing has written",
            self.location,
        )


def unfilled(
    w: Warp,
    transfer: Transfer,
    source: MBarrier | AsyncGroups | None,
    need: int,
    place: str,
    location: str,
    verb: str,
) -> SimulationError:
    """``w`` touches (``verb``: read, write, overwrite) what ``transfer`` fills without having seen its completion,
    which ``source`` reports at phase or group ``need``."""
    notes: list[Note] = [(f"the {transfer.what} was issued here by {transfer.issuer.describe()}", transfer.location)]
    if verb == "overwrite":
        return SimulationError(
            "stage reused too early",
            f"{w.describe()} overwrites shared memory at {place} that {transfer.describe()} still fills, as far as it "
            "knows: wait for every reader (an empty barrier, cluster-wide for multicast) before it refills the stage",
            location,
            tuple(notes),
        )
    kind = "read before completion" if verb == "read" else "write during transfer"
    hint = "wait for its completion first"
    if source is not None and not isinstance(source, AsyncGroups):
        if transfer.unexpected and source.phase < need:
            return _never_expected(w, transfer, source, location, verb)
        hint = f"wait on {source.name()} for phase {need - 1} (parity {(need - 1) & 1}) first"
        last = w.last_waits.get(source.component)
        if last is not None and last.phase < need:
            if last.fresh and verb == "read":
                before = source.previous
                if source.phase == last.phase and before is not None and not before.transfers:
                    return _issued_too_late(w, transfer, source, location, last)
                return _refilled(w, transfer, place, location, last)
            notes.append(last.note())
            if verb == "read":
                kind = "wrong parity"
                hint = f"the wait must use parity {(need - 1) & 1} for phase {need - 1}; flip it each round"
    return SimulationError(
        kind,
        f"{w.describe()} {verb}s shared memory at {place}, which {transfer.describe()} fills and whose completion it "
        f"has not observed; {hint}",
        location,
        tuple(notes),
    )


def _refilled(w: Warp, transfer: Transfer, place: str, location: str, last: LastWait) -> SimulationError:
    return SimulationError(
        "stage reused too early",
        f"{transfer.describe()} by {transfer.issuer.describe()} overwrites shared memory at {place} before "
        f"{w.describe()} has read what it waited for: the issuer must wait for every reader (an empty barrier) before "
        "it refills the stage",
        transfer.location,
        ((f"read here by {w.describe()}", location), ("after this wait", last.location)),
    )


def _issued_too_late(w: Warp, transfer: Transfer, barrier: MBarrier, location: str, last: LastWait) -> SimulationError:
    """The phase that the reader waited for completed before the copy was issued."""
    before = barrier.previous.arrivals if barrier.previous else []
    return SimulationError(
        "expect_tx missing",
        f"phase {last.phase - 1} of {barrier.name()} completed before {transfer.describe()} was issued on it, so "
        f"{w.describe()} does not wait for the copy: announce its bytes before the phase's last arrival",
        transfer.location,
        (
            ("this wait passed without the copy", last.location),
            *(("arrival in that phase", place) for place in before[-3:]),
            (f"{w.describe()} reads the tile here", location),
        ),
    )


def _never_expected(w: Warp, transfer: Transfer, barrier: MBarrier, location: str, verb: str) -> SimulationError:
    """The phase a copy reports to never announced its bytes, so waits pass without it."""
    log = barrier.log
    before = barrier.previous.arrivals if barrier.previous else []
    return SimulationError(
        "expect_tx too small" if log.expected else "expect_tx missing",
        f"{transfer.describe()} was issued on {barrier.name()}, which expects {log.expected_bytes} B in phase "
        f"{barrier.phase}: waits pass before the data is there. Do arrive.expect_tx with the bytes before the issue",
        transfer.location,
        (
            (f"{w.describe()} {verb}s the tile here", location),
            *(("arrival in the phase before", place) for place in before[-3:]),
            ("initialised here", barrier.init_location),
        ),
    )


def read_before_issue(read: EarlyRead, w: Warp, what: str, location: str, barrier: MBarrier | None) -> SimulationError:
    """The copy that fills a place comes after somebody has read it."""
    notes: list[Note] = [(f"the {what} is issued here by {w.describe()}", location)]
    waited = read.waits.get(barrier.component) if barrier is not None else None
    if barrier is None or waited is None:
        hint = f"it must wait on {barrier.name()} first" if barrier is not None else "it must wait first"
        return SimulationError(
            "read before completion",
            f"{read.reader.describe()} reads shared memory at {read.place} before the {what} that fills it is issued; "
            f"{hint}",
            read.location,
            tuple(notes),
        )
    if not waited.phase:
        return SimulationError(
            "wrong parity",
            f"{read.reader.describe()} reads shared memory at {read.place} before the {what} that fills it is issued: "
            f"its wait for parity {waited.parity} passes at once, since no phase of {barrier.name()} has completed. "
            "The wait for the first phase needs parity 0",
            read.location,
            (*notes, ("this wait passed without the copy", waited.location)),
        )
    phase = barrier.previous
    expected = phase.expected_bytes if phase is not None else 0
    notes += [(f"expects {size} B", place) for size, place in (phase.expected[-2:] if phase is not None else [])]
    notes.append((f"this wait of {read.reader.describe()} passed without the copy", waited.location))
    return SimulationError(
        "expect_tx too small" if expected else "expect_tx missing",
        f"{barrier.name()} completed phase {waited.phase - 1} with {expected} B expected, before the {what} that also "
        "reports to it: expect every byte that arrives here, also of copies that other CTAs multicast",
        read.location,
        tuple(notes),
    )


def undrained(w: Warp, access: Access, place: str, location: str, verb: str) -> SimulationError:
    """``w`` writes what the asynchronous store of ``access`` may still read."""
    transfer = access.transfer
    assert transfer is not None
    wait = "Wait" if transfer.committed else "Its group is not committed: commit it and wait"
    return SimulationError(
        "write during transfer",
        f"{w.describe()} {verb}s shared memory at {place} while {transfer.describe()} may still read it. {wait} "
        "for its bulk group (wait_group.read) first, then put a barrier between the wait and this; if the copy is "
        "to take what is written here, the barrier belongs before the copy",
        location,
        ((f"the {transfer.what} was issued here", transfer.location),),
    )


def unsynchronised(w: Warp, access: Access, place: str, location: str, what: str) -> SimulationError:
    """``w`` issues ``what`` on shared memory that another warp wrote without having synchronised."""
    return SimulationError(
        "unsynchronised write",
        f"{what} by {w.describe()} uses shared memory at {place} that {access.by} wrote without synchronising: "
        "fence.proxy.async by the writer, then a barrier, then the copy",
        location,
        (("written here", access.location),),
    )


def missing_fence(w: Warp, access: Access, place: str, location: str, what: str) -> SimulationError:
    """``w`` issues ``what`` on bytes that were written through the generic proxy, without a proxy fence."""
    return SimulationError(
        "missing proxy fence",
        f"{what} by {w.describe()} uses {place} that {access.by} wrote through the generic proxy, with no "
        "fence.proxy.async in between: the copy may see stale bytes",
        location,
        (("written here", access.location),),
    )


def reused_too_early(
    w: Warp, access: Access, place: str, location: str, what: str, barrier: MBarrier | None
) -> SimulationError:
    """``w`` issues a copy into shared memory that a warp reads (or still reads with wgmma)."""
    reader = access.warp
    assert reader is not None
    pending = access.source is not None and not reader.clock.knows(access.component, access.value)
    last = reader.last_waits.get(barrier.component) if barrier is not None else None
    if last is not None and not last.fresh and not pending:
        return SimulationError(
            "wrong parity",
            f"{reader.describe()} reads shared memory at {place} too early, before this round's {what} is issued: "
            f"its wait for parity {last.parity} passed on an old phase; flip the parity each round",
            access.location,
            (last.note(), (f"the {what} is issued here", location)),
        )
    how = "still reads it with wgmma" if pending else "read it and has not released it"
    return SimulationError(
        "stage reused too early",
        f"{what} by {w.describe()} overwrites shared memory at {place}, but {reader.describe()} {how}: the issuer "
        "must wait for every reader (an empty barrier) before it refills the stage",
        location,
        ((f"last read here by {reader.describe()}", access.location),),
    )
