"""Data races between ordinary accesses: what is common to shared and global memory, and the messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LANE_BITS, LANE_MASK, Access, AccessLog
from .errors import SimulationError

if TYPE_CHECKING:
    from .machine import Warp
    from .memory import Site

NEVER = 1 << 62
"""A clock value that is not reached."""


@dataclass(frozen=True)
class Clash:
    """A store that is an error if it changes what is there: at the lanes of ``conflicts`` another thread's store is not
    ordered before it (``error``). ``repeats``: several lanes store to one place, which must be equal values."""

    error: SimulationError | None
    conflicts: np.ndarray | None
    repeats: SimulationError | None

    def check(self, before: np.ndarray, after: np.ndarray, value: np.ndarray) -> None:
        """``before``, ``after``, ``value``: ``[lanes]`` or ``[elements, lanes]``, all of the memory's type."""
        if self.error is not None and self.conflicts is not None:
            changed = _differ(before, after)
            if (changed & self.conflicts).any():
                raise self.error
        if self.repeats is not None and _differ(after, value).any():
            raise self.repeats


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """For each lane, whether any byte differs."""
    lanes = one.shape[-1]
    rows = [np.ascontiguousarray(x.T).reshape(lanes, -1).view(np.uint8) for x in (one, other)]
    return (rows[0] != rows[1]).any(axis=1)


def lane_conflicts(
    w: Warp, log: AccessLog, codes: np.ndarray, lanes: np.ndarray | None
) -> tuple[int, np.ndarray] | None:
    """Where lanes touch what another lane of the warp wrote since the warp last synchronised: number, ``[lanes]``.

    ``codes``: ``[lanes]`` or ``[lanes, units]``; ``lanes``: the lane of each row, None if all active lanes touch one
    place together.
    """
    numbers = codes >> LANE_BITS
    who = lanes
    if lanes is None:
        who = w.mask.argmax() if np.count_nonzero(w.mask) == 1 else np.int64(-1)
    elif codes.ndim == 2:
        who = lanes[:, None]
    for number in set(numbers.ravel().tolist()):
        if not number or not log.access(number).own(w):
            continue
        made = log.access(number).lanes
        if made is None:
            others = (codes & LANE_MASK) != who
        elif lanes is None:
            others = np.full(codes.shape, (w.mask & ~made).any())
        else:
            others = np.broadcast_to(~made[who], codes.shape)
        rows = (others & (numbers == number)).reshape(codes.shape[0], -1).any(axis=1)
        if rows.any():
            return number, rows
    return None


def lanes_error(w: Warp, access: Access, verb: str, place: str, location: str) -> SimulationError:
    """A lane touches what another lane of its warp wrote, without bar.warp.sync in between."""
    return SimulationError(
        "race between lanes",
        f"{w.describe()} {verb}s {place}, which another lane of the warp wrote without synchronising since: lanes may "
        "run apart. Put bar.warp.sync (or a CTA barrier) in between",
        location,
        (access.note(),),
    )


def repeats_error(w: Warp, site: Site, place: str) -> SimulationError:
    """Several lanes store different values to one place in one instruction."""
    return SimulationError(
        "race between lanes",
        f"several lanes of {w.describe()} store different values to {place} at once: which of them stays is undefined. "
        "Let one lane store, or use an atomic",
        site.location,
    )


def check_equal(w: Warp, values: np.ndarray, site: Site, place: str) -> None:
    """Lanes that store ``[..., lanes]`` to one place in one instruction must store the same bytes."""
    if _differ(values, np.broadcast_to(values[..., :1], values.shape)).any():
        raise repeats_error(w, site, place)


def race(kind: str, who: str, access: Access, verb: str, place: str, location: str, hint: str) -> SimulationError:
    """``who`` touches (``verb``: read, write, update) what ``access`` also touches, and nothing orders the two."""
    return SimulationError(
        kind,
        f"{who} {verb}s {place}, and nothing orders this after the {access.what} by {access.by}: {hint}",
        location,
        (access.note(),),
    )
