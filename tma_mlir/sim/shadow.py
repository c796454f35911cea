"""What the checks remember of one CTA's shared memory: who last wrote, read and updated every byte.

Ordinary accesses end at once and are known through barriers; a copy's write is known to be over through its mbarrier or
group, a copy's read through its bulk group, a wgmma's through its wait. What a warp touches must be known to be over
for it; what the asynchronous proxy touches must also be behind a proxy fence if the generic proxy wrote it. A rule
broken raises with both ends' locations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import hazards, races
from .accesses import LANE_BITS, Access, distinct
from .errors import SimulationError
from .ordinary_accesses import OrdinaryAccesses
from .races import NEVER, Clash
from .transfer import AsyncGroups, Transfer
from .units import Place, Units

if TYPE_CHECKING:
    from .machine import Cta, Warp
    from .mbarrier import MBarrier
    from .memory import Site

CHUNK_SHIFT = 4
BARRIER_BYTES = 8

Chunks = slice | np.ndarray
"""Numbers of 16-byte chunks of shared memory."""


class SharedShadow(OrdinaryAccesses):
    """Attached to the CTA's shared ``Region``."""

    def __init__(self, cta: Cta):
        self.cta = cta
        self.log = cta.cluster.shared_accesses
        self.units = Units(cta.shared.data.size, self.log)
        self.barriers: dict[int, int] = {}
        """Addresses of live mbarriers by access number."""
        self.early_reads: dict[int, hazards.EarlyRead] = {}

    # Generic proxy -------------------------------------------------------------------------------------------------

    def generic_read(self, w: Warp, offset: np.ndarray, site: Site, lanes: np.ndarray | None) -> None:
        """Warp ``w`` loads ``site.size`` bytes at each offset; ``lanes`` of them, None if all active ones at one."""
        units = self.units
        at = units.places(offset, site.size, site.unit_shift)
        codes = units.written.take(at)
        found = distinct(codes)
        if not found <= w.shared_facts.known:
            self._check_read(w, at, codes, found, site.location, lanes)
        if site.strong:
            return
        if units.updated is not None:
            self._check_others(w, units.updated, at, "read", site.location)
        self._record_read(w, at, site)

    def generic_write(self, w: Warp, offset: np.ndarray, site: Site, lanes: np.ndarray | None) -> Clash | None:
        """Warp ``w`` stores ``site.size`` bytes at each offset, one a lane of ``lanes``."""
        units = self.units
        at = units.places(offset, site.size, site.unit_shift)
        codes = units.written.take(at)
        found = distinct(codes)
        clash = None
        if not found <= w.shared_facts.known:
            clash = self._check_write(w, at, codes, found, site.location, lanes)
        if units.marked and (old := distinct(units.read.take(at))) != {0}:
            self._check_reads(w, old, at, "write", site.location)
            units.read[at] = 0
        if site.strong:
            units.mark(w, units.updates(), at, self.log.own(w, "atomic", site.location, site.location_id, None))
            return clash
        if units.updated is not None:
            self._check_others(w, units.updated, at, "write", site.location)
            units.updated[at] = 0
        return self._record_write(w, at, offset, site, lanes, clash)

    def generic_update(self, w: Warp, offset: int, site: Site, lane: int) -> None:
        """An atomic of one lane: it does not race with other atomics."""
        units = self.units
        at = units.interval(offset, site.size)
        codes = units.written[at]
        found = distinct(codes)
        if not found <= w.shared_facts.known:
            self._check_read(w, at, codes, found, site.location, np.array([lane]))
        old = distinct(units.read[at])
        if old != {0}:
            self._check_reads(w, old, at, "update", site.location)
        table = units.updates()
        units.mark(w, table, at, self.log.own(w, "atomic", site.location, site.location_id, None))

    def _check_read(
        self, w: Warp, at: Place, codes: np.ndarray, found: set[int], location: str, lanes: np.ndarray | None
    ) -> None:
        if 0 in found:
            self._note_early_read(w, at, codes, location)
        for number in self.log.unordered(w, found - {0}):
            place = self._unit_place(at, codes, number)
            raise self._late_write(w, number, place, location, "read")
        self._check_lanes(w, codes, at, location, lanes)

    def _check_write(
        self, w: Warp, at: np.ndarray, codes: np.ndarray, found: set[int], location: str, lanes: np.ndarray | None
    ) -> Clash | None:
        for number in self.log.unordered(w, found - {0}):
            error = self._late_write(w, number, self._unit_place(at, codes, number), location, "write")
            if number in self.barriers or self.log.access(number).transfer is not None:
                raise error
            bad = codes >> LANE_BITS == number
            return Clash(error, bad.reshape(bad.shape[0], -1).any(axis=1), None)
        return self._lane_clash(w, codes, at, location, lanes, "overwrite")

    def _late_write(self, w: Warp, number: int, place: str, location: str, verb: str) -> SimulationError:
        """The write ``number`` is not known to be over when ``w`` touches ``place``."""
        if number in self.barriers:
            return self._barrier_touched(number, verb, location)
        access = self.log.access(number)
        if access.transfer is not None:
            return hazards.unfilled(w, access.transfer, access.source, access.value, place, location, verb)
        hint = "put a barrier in between"
        return races.race("shared data race", w.describe(), access, verb, f"shared memory at {place}", location, hint)

    def _check_reads(self, w: Warp, found: set[int], at: Place, verb: str, location: str) -> None:
        """Every read of the units must be over for ``w``, which writes them."""
        if found <= w.shared_facts.known:
            return
        for number in self.log.unordered(w, found - {0}):
            access = self.log.access(number)
            place = self._group_place(self.units.read, at, number)
            if access.transfer is not None:
                raise hazards.undrained(w, access, place, location, verb)
            hint = "the reader may still be under way. Put a barrier in between"
            raise races.race(
                "shared data race", w.describe(), access, verb, f"shared memory at {place}", location, hint
            )

    def _check_others(self, w: Warp, table: np.ndarray, at: Place, verb: str, location: str) -> None:
        """Every atomic on the units must be over for ``w``."""
        found = distinct(table[at])
        if found == {0}:
            return
        for number in self.log.unordered(w, found - {0}):
            place = f"shared memory at {self._group_place(table, at, number)}"
            hint = "synchronise in between, or use an atomic"
            raise races.race("shared data race", w.describe(), self.log.access(number), verb, place, location, hint)

    def _note_early_read(self, w: Warp, at: Place, codes: np.ndarray, location: str) -> None:
        """Reported at the end, or as soon as a copy that fills the place shows what the reader did not wait for."""
        units = np.arange(at.start, at.stop) if isinstance(at, slice) else at
        untouched = codes == 0
        if self.units.updated is not None:
            untouched &= self.units.updated[at] == 0
            if not untouched.any():
                return
        empty = units[untouched] << self.units.shift
        read = hazards.EarlyRead(w, self._place(int(empty[0])), location, dict(w.last_waits))
        for number in np.unique(empty >> CHUNK_SHIFT).tolist():
            self.early_reads.setdefault(number, read)

    # mbarriers -----------------------------------------------------------------------------------------------------

    def barrier_made(self, w: Warp, address: int, location: str) -> None:
        """An mbarrier is initialised: from now on its bytes are opaque."""
        at = self.units.interval(address, BARRIER_BYTES)
        codes = self.units.written[at]
        for number in self.log.unordered(w, distinct(codes) - {0}):
            raise self._late_write(w, number, self._place(address), location, "write")
        self._check_reads(w, distinct(self.units.read[at]), at, "write", location)
        number = self.log.add(Access(w, 0, NEVER, location, "mbarrier.init", True))
        self.barriers[number] = address
        self.units.written[at] = number << LANE_BITS
        self.units.clear(at)

    def barrier_gone(self, w: Warp, address: int, location: str) -> None:
        """An mbarrier is invalidated: its bytes are ordinary memory, which ``w`` has written."""
        at = self.units.interval(address, BARRIER_BYTES)
        for number in [n for n, place in self.barriers.items() if place == address]:
            del self.barriers[number]
        access = Access(w, w.component, w.epoch, location, "mbarrier.inval", True, w.mask)
        access.warp = w
        self.units.written[at] = self.log.add(access) << LANE_BITS

    def _barrier_touched(self, number: int, verb: str, location: str, what: str = "") -> SimulationError:
        barrier = self.cta.barriers[self.barriers[number]]
        text = f"plain {verb} of {barrier.name()}, an opaque object"
        if what:
            text = f"{what} {verb}s over {barrier.name()}: dynamic and static shared memory overlap?"
        return SimulationError(
            "barrier read" if verb == "read" else "barrier overwritten",
            text,
            location,
            (("initialised here", barrier.init_location),),
        )

    # Copies and wgmma ----------------------------------------------------------------------------------------------

    def check_async(
        self, w: Warp, at: Place, location: str, what: str, writes: bool, barrier: MBarrier | None = None,
        generic: bool = False,
    ) -> bool:  # fmt: skip
        """``w`` issues an asynchronous access to the units: order with everything before it must be known.

        ``barrier``: where it will complete. ``generic``: of the generic proxy, as cp.async is (no proxy fence needed).
        Whether every unit has been written by something.
        """
        if writes and self.early_reads:
            self._check_early_reads(w, at, location, what, barrier)
        codes = self.units.written[at]
        found = distinct(codes)
        touched = 0 not in found
        found.discard(0)
        verb = "overwrite" if writes else "read"
        if not found <= w.shared_facts.known:
            for number in self.log.unordered(w, found):
                place = self._unit_place(at, codes, number)
                access = self.log.access(number)
                if number in self.barriers:
                    raise self._barrier_touched(number, "write" if writes else "read", location, what)
                if access.transfer is not None:
                    raise self._late_write(w, number, place, location, verb)
                raise hazards.unsynchronised(w, access, place, location, what)
        if not generic and not found <= w.shared_facts.fenced:
            for number in self.log.unfenced(w, found):
                place = self._unit_place(at, codes, number)
                raise hazards.missing_fence(w, self.log.access(number), f"shared memory at {place}", location, what)
        if self.units.updated is not None:
            self._check_others(w, self.units.updated, at, verb, location)
        if not writes or not self.units.marked:
            return touched
        found = distinct(self.units.read[at]) - {0}
        if found <= w.shared_facts.known:
            return touched
        for number in self.log.unordered(w, found):
            access = self.log.access(number)
            place = self._group_place(self.units.read, at, number)
            if isinstance(access.source, AsyncGroups) and access.transfer is not None:
                raise hazards.undrained(w, access, place, location, verb)
            raise hazards.reused_too_early(w, access, place, location, what, barrier)
        return touched

    def _check_early_reads(self, w: Warp, at: Place, location: str, what: str, barrier: MBarrier | None) -> None:
        scale = CHUNK_SHIFT - self.units.shift
        units = range(at.start, at.stop) if isinstance(at, slice) else at.tolist()
        for unit in units:
            if unit >> scale in self.early_reads:
                raise hazards.read_before_issue(self.early_reads[unit >> scale], w, what, location, barrier)

    def async_write(
        self, w: Warp, at: Place, component: int, value: int, transfer: Transfer, source: MBarrier | AsyncGroups,
        generic: bool = False,
    ) -> None:  # fmt: skip
        """The units are being filled; whoever knows ``component`` at ``value`` may touch them."""
        access = self._copy(w, component, value, transfer, source, generic)
        self.units.written[at] = self.log.add(access) << LANE_BITS
        self.units.clear(at)

    def async_read(
        self, w: Warp, at: Place, component: int, value: int, transfer: Transfer, source: MBarrier | AsyncGroups
    ) -> None:
        """The units are being read by a copy; whoever knows ``component`` at ``value`` may write them."""
        access = self._copy(w, component, value, transfer, source, False)
        self.units.mark(w, self.units.read, at, self.log.add(access))

    def _copy(
        self, w: Warp, component: int, value: int, transfer: Transfer, source: MBarrier | AsyncGroups, generic: bool
    ) -> Access:
        access = Access(w, component, value, transfer.location, transfer.what, generic)
        access.warp, access.transfer, access.source = w, transfer, source
        return access

    def check_initialised(self, at: Place, location: str, what: str) -> None:
        """Bytes an asynchronous read takes must have been written by something."""
        codes = self.units.written[at]
        if codes.min(initial=1):
            return
        place = self._unit_place(at, codes, 0)
        raise SimulationError(
            "uninitialised read", f"{what} reads shared memory at {place} that nothing has written", location
        )

    def wgmma_read(self, w: Warp, chunks: Chunks, groups: AsyncGroups, location: str) -> None:
        """``w`` reads an operand until its open wgmma group is waited for."""
        at = self.units.chunks(chunks)
        if not self.check_async(w, at, location, "wgmma", writes=False):
            self._note_early_read(w, at, self.units.written[at], location)
        current = w.shared_facts.current
        key = (location, groups.current)
        number = current.get(key)
        if number is None:
            access = Access(w, groups.component, groups.current, location, "wgmma", False)
            access.warp, access.source = w, groups
            number = current[key] = self.log.add(access)
        self.units.mark(w, self.units.read, at, number)

    # Places --------------------------------------------------------------------------------------------------------

    def _place(self, offset: int) -> str:
        return self.cta.shared_symbol(offset)

    def _memory(self, place: str) -> str:
        return f"shared memory at {place}"

    def _group_place(self, table: np.ndarray, at: Place, number: int) -> str:
        """Where in a piece of a table access ``number`` is, alone or in a group."""
        codes = table[at]
        holder = next((each for each in distinct(codes) if each and number in self.log.members(each)), 0)
        return self._unit_place(at, codes, holder)
