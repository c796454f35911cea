"""What the checks remember of an array in global memory that the kernel writes.

As in shared memory, every access must be known to be over for whoever touches its bytes in another way. A bulk store's
writes are over after ``wait_group`` without ``.read``. Other clusters learn of anything only through memory: a release
and an acquire of one location. Arrays that the kernel only reads are not watched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from . import hazards, races
from .accesses import LANE_BITS, Access, AccessLog, distinct
from .engine import Window
from .errors import SimulationError
from .ordinary_accesses import OrdinaryAccesses
from .races import Clash
from .transfer import Meeting, Outcome, Transfer
from .units import Units, unit_shift

if TYPE_CHECKING:
    from .machine import Warp
    from .memory import Region, Site

KIND = "global data race"
HINT = (
    "a barrier orders threads of one CTA, the cluster barrier those of a cluster; others need a fence (or release) and "
    "an atomic by the first, and an atomic (or acquire) of the same location by the second"
)


class GlobalShadow(OrdinaryAccesses):
    """Attached to a global ``Region``. The tables are made when the kernel first touches it."""

    def __init__(self, region: Region, log: AccessLog):
        self.region = region
        self.log = log
        self._units: Units | None = None

    @property
    def units(self) -> Units:
        units = self._units
        if units is None:
            units = self._units = Units(self.region.data.size, self.log)
        return units

    # Ordinary accesses ---------------------------------------------------------------------------------------------

    def generic_read(self, w: Warp, offset: np.ndarray, site: Site, lanes: np.ndarray | None) -> None:
        """Warp ``w`` loads ``site.size`` bytes at each offset; ``lanes`` of them, None if all active ones at one."""
        units = self.units
        at = units.places(offset, site.size, site.unit_shift)
        codes = units.written.take(at)
        found = distinct(codes)
        found.discard(0)
        if not found <= w.global_facts.known:
            self._check_late(w, found, "read", codes, at, site.location)
            self._check_lanes(w, codes, at, site.location, lanes)
        if site.strong:
            return
        if units.updated is not None:
            codes = units.updated.take(at)
            self._check_late(w, distinct(codes) - {0}, "read", codes, at, site.location)
        self._record_read(w, at, site)

    def generic_write(self, w: Warp, offset: np.ndarray, site: Site, lanes: np.ndarray | None) -> Clash | None:
        """Warp ``w`` stores ``site.size`` bytes at each offset, one a lane of ``lanes``."""
        units = self.units
        at = units.places(offset, site.size, site.unit_shift)
        codes = units.written.take(at)
        found = distinct(codes)
        found.discard(0)
        clash = None
        if not found <= w.global_facts.known:
            clash = self._check_write(w, found, codes, at, site.location, lanes)
        if units.marked and (old := distinct(units.read.take(at))) != {0}:
            self._check_late(w, old - {0}, "write", units.read.take(at), at, site.location)
            units.read[at] = 0
        if site.strong:
            self._update(w, at, site)
            return clash
        if units.updated is not None:
            codes = units.updated.take(at)
            self._check_late(w, distinct(codes) - {0}, "write", codes, at, site.location)
            units.updated[at] = 0
        return self._record_write(w, at, offset, site, lanes, clash)

    def generic_update(self, w: Warp, offset: int, site: Site, lane: int) -> None:
        """An atomic of one lane: it does not race with other atomics or reductions, and learns of those it follows."""
        units = self.units
        at = np.arange(*_bounds(units.interval(offset, site.size)))
        codes = units.written.take(at)
        self._check_late(w, distinct(codes) - {0}, "update", codes, at, site.location)
        self._check_lanes(w, codes, at, site.location, np.array([lane]))
        codes = units.read.take(at)
        self._check_late(w, distinct(codes) - {0}, "update", codes, at, site.location)
        self._update(w, at, site)

    def _update(self, w: Warp, at: np.ndarray, site: Site) -> None:
        table = self.units.updates()
        known = w.global_facts.known
        for number in distinct(table.take(at)) - {0}:
            known.update(m for m in self.log.members(number) if self.log.access(m).generic)
        self.units.mark(w, table, at, self.log.own(w, "atomic", site.location, site.location_id, None))

    def _check_write(
        self, w: Warp, found: set[int], codes: np.ndarray, at: np.ndarray, location: str, lanes: np.ndarray | None
    ) -> Clash | None:
        for number in self.log.unordered(w, found):
            error = self._late(w.describe(), number, "write", self._unit_place(at, codes, number), location)
            outcome = self.log.access(number).outcome
            bad = codes >> LANE_BITS == number
            if outcome is not None and not outcome.done:
                # Compared when the copy's bytes arrive over those of this store.
                starts = at[bad].ravel() << self.units.shift
                places = (starts[:, None] + np.arange(1 << self.units.shift)).ravel()
                outcome.meetings.append(Meeting(error, self.region.data, places, None))
                return None
            return Clash(error, bad.reshape(bad.shape[0], -1).any(axis=1), None)
        return self._lane_clash(w, codes, at, location, lanes, "overwrite")

    # Copies --------------------------------------------------------------------------------------------------------

    def async_read(
        self, w: Warp, pieces: Iterable[Piece], component: int, value: int, location: str, what: str,
        generic: bool = False,
    ) -> None:  # fmt: skip
        """A load is issued; whoever knows ``component`` at ``value`` may write what it reads."""
        number = 0
        for piece in pieces:
            written, read, updated = self._tables(piece)
            self._check_copy(w, written, piece, "read", location, what, generic)
            if updated is not None:
                self._check_copy(w, updated, piece, "read", location, what, generic)
            number = number or self.log.add(Access(w, component, value, location, what, generic))
            self.units.mark(w, read, (), number)

    def async_write(
        self, w: Warp, pieces: Iterable[Piece], component: int, value: int, transfer: Transfer, reduction: bool
    ) -> None:
        """A store or reduction is issued; whoever knows ``component`` at ``value`` sees what it writes."""
        outcome = Outcome()
        location, what = transfer.location, transfer.what
        verb = "update" if reduction else "write"
        number = 0
        for piece in pieces:
            written, read, updated = self._tables(piece)
            self._check_copy(w, written, piece, verb, location, what, False, None if reduction else outcome)
            if self.units.marked:
                self._check_copy(w, read, piece, verb, location, what, True)
            if not number:
                access = Access(w, component, value, location, what, False)
                access.outcome, access.transfer = outcome, transfer
                number = self.log.add(access)
            if reduction:
                self.units.updates()
                self.units.mark(w, self._tables(piece)[2], (), number)  # type: ignore[arg-type]
                continue
            if updated is not None:
                self._check_copy(w, updated, piece, verb, location, what, False)
                updated[()] = 0
            written[()] = number << LANE_BITS
            if self.units.marked:
                read[()] = 0
        if number and not reduction:
            transfer.outcome = outcome

    def _tables(self, piece: Piece) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        units = self.units
        offset, shape, strides = piece
        units.refine(unit_shift(offset, shape[-1], *(strides[i] for i in range(len(shape) - 1) if shape[i] > 1)))
        updated = units.updated
        return (
            units.window(units.written, *piece),
            units.window(units.read, *piece),
            None if updated is None else units.window(updated, *piece),
        )

    def _check_copy(
        self, w: Warp, codes: np.ndarray, piece: Piece, verb: str, location: str, what: str, generic: bool,
        outcome: Outcome | None = None,
    ) -> None:  # fmt: skip
        found = distinct(codes)
        found.discard(0)
        facts = w.global_facts
        if not found <= facts.known:
            for number in self.log.unordered(w, found):
                place = self._piece_place(codes, piece, number)
                error = self._late(f"{what} by {w.describe()}", number, verb, place, location)
                if outcome is None:
                    raise error
                places = _bytes_of(codes >> LANE_BITS == number, piece, self.units.shift)
                earlier = self.log.access(number).outcome
                outcome.meetings.append(Meeting(error, self.region.data, places, earlier))
        if not generic and not found <= facts.fenced:
            for number in self.log.unfenced(w, found):
                access = self.log.access(number)
                if outcome is not None and not access.ordered(w):
                    continue
                place = self._piece_place(codes, piece, number)
                raise hazards.missing_fence(w, access, place, location, what)

    # Messages ------------------------------------------------------------------------------------------------------

    def _check_late(
        self, w: Warp, found: set[int], verb: str, codes: np.ndarray, at: np.ndarray, location: str
    ) -> None:
        if found <= w.global_facts.known:
            return
        for number in self.log.unordered(w, found):
            holder = next(n for n in distinct(codes) if n and number in self.log.members(n))
            raise self._late(w.describe(), number, verb, self._unit_place(at, codes, holder), location)

    def _late(self, who: str, number: int, verb: str, place: str, location: str) -> SimulationError:
        """Access ``number`` is not known to be over for ``who``, which touches ``place``."""
        access = self.log.access(number)
        if access.outcome is None:
            return races.race(KIND, who, access, verb, place, location, HINT)
        commit = "" if access.transfer is None or access.transfer.committed else "commit its group, then "
        return SimulationError(
            "store not complete",
            f"{who} {verb}s {place}, and the {access.what} by {access.by} is not known to be complete: "
            f"{commit}wait for its bulk group without .read (which waits for the tile in shared memory alone), then "
            "synchronise",
            location,
            (access.note(),),
        )

    def _place(self, offset: int) -> str:
        return f"{self.region.name}+{offset:#x}"

    def _piece_place(self, codes: np.ndarray, piece: Piece, number: int) -> str:
        holders = [n for n in distinct(codes) if n and number in self.log.members(n)]
        places = _bytes_of(np.isin(codes >> LANE_BITS, holders), piece, self.units.shift)
        return self._place(int(places[0]))


Piece = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A strided piece of a region: offset, shape and strides in bytes, the last dimension contiguous."""


def pieces_of(region: Region, windows: Iterable[Window | None]) -> list[Piece]:
    """The bytes of windows in a region; one that sticks out faults when the copy executes."""
    found = []
    for window in windows:
        if window is not None and window.address >= region.base and window.end <= region.end:
            found.append((window.address - region.base, window.shape, window.strides))
    return found


def _bytes_of(units: np.ndarray, piece: Piece, shift: int) -> np.ndarray:
    """Offsets in the region of the bytes in the units of a piece where ``units`` holds."""
    offset, _, strides = piece
    where = np.argwhere(units)
    starts = offset + where @ np.array([*strides[:-1], 1 << shift], np.int64)
    return (starts[:, None] + np.arange(1 << shift)).ravel()


def _bounds(at: slice) -> tuple[int, int]:
    return at.start, at.stop
