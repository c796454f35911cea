"""What the checks of shared and global memory have in common: recording ordinary accesses, and races between lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import races
from .accesses import LANE_BITS, AccessLog, distinct
from .races import Clash
from .units import Place, Units

if TYPE_CHECKING:
    from .machine import Warp
    from .memory import Site


class OrdinaryAccesses:
    """``units``: tables over the memory. ``log``: the accesses that they name by number."""

    units: Units
    log: AccessLog

    def _place(self, offset: int) -> str:
        """The byte at ``offset`` for a message."""
        raise NotImplementedError

    def _memory(self, place: str) -> str:
        """``place`` with what memory it is in, where its name does not say it."""
        return place

    def _unit_place(self, at: Place, codes: np.ndarray, number: int) -> str:
        """Where in the units ``at`` with ``codes`` access ``number`` is."""
        position = int((codes >> LANE_BITS == number).ravel().argmax())
        unit = at.start + position if isinstance(at, slice) else int(at.ravel()[position])
        return self._place(unit << self.units.shift)

    def _record_read(self, w: Warp, at: np.ndarray, site: Site) -> None:
        number = self.log.own(w, "read", site.location, site.location_id, None)
        old = distinct(self.units.read.take(at))
        if old != {number}:
            self.units.mark(w, self.units.read, at, number, old)

    def _record_write(
        self, w: Warp, at: np.ndarray, offset: np.ndarray, site: Site, lanes: np.ndarray | None, clash: Clash | None
    ) -> Clash | None:
        """``clash`` of the store, with what several lanes that store to one place add to it."""
        written = self.units.written
        if lanes is None:
            written[at] = self.log.own(w, "write", site.location, site.location_id, w.mask) << LANE_BITS
            return clash
        number = self.log.own(w, "write", site.location, site.location_id, None) << LANE_BITS
        mine = number | lanes if at.ndim == 1 else (number | lanes)[:, None]
        written[at] = mine
        if (written.take(at) == mine).all():
            return clash
        # Several lanes store to one place: no single lane owns it.
        written[at] = self.log.own(w, "write", site.location, site.location_id, w.mask) << LANE_BITS
        repeats = races.repeats_error(w, site, self._memory(self._place(int(offset[0]))))
        return Clash(clash.error if clash else None, clash.conflicts if clash else None, repeats)

    def check_equal(self, w: Warp, offset: int, values: np.ndarray, site: Site) -> None:
        """Several lanes store ``values`` to one place."""
        races.check_equal(w, values, site, self._memory(self._place(offset)))

    def _check_lanes(self, w: Warp, codes: np.ndarray, at: Place, location: str, lanes: np.ndarray | None) -> None:
        """Lanes that read must not meet what another lane wrote since the warp last synchronised."""
        clash = self._lane_clash(w, codes, at, location, lanes, "read")
        if clash is not None and clash.error is not None:
            raise clash.error

    def _lane_clash(
        self, w: Warp, codes: np.ndarray, at: Place, location: str, lanes: np.ndarray | None, verb: str
    ) -> Clash | None:
        mine = races.lane_conflicts(w, self.log, codes, lanes)
        if mine is None:
            return None
        number, bad = mine
        place = self._memory(self._unit_place(at, codes, number))
        return Clash(races.lanes_error(w, self.log.access(number), verb, place, location), bad, None)
