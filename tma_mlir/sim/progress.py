"""Whether the warps on the chip still get anywhere, or loop for ever on what none of them changes.

An endless loop: since memory last changed, or anything else happened, every warp waits or has come back to a state it
was in. What it does next depends on that state alone. (States are compared by a hash of 64 bits.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import SimulationError
from .fronts import HOLD
from .machine import Cluster, Machine, Warp
from .report import deadlock, endless_loop

QUIET_STEPS = 5_000
"""Segments that run and change nothing before states are compared."""
SURE_TURNS = 64
"""Turns before states are compared, and ``HOLD`` more for each front of a warp: by then all of them have had one, also
where the next is drawn by lot."""
QUIET_TURNS = 50_000
"""Turns in which every warp polls and nothing changes before a loop that counts them is taken to be endless."""
IDLE_STEPS = 20_000_000
"""Segments that may run without any barrier, copy or exit before a loop is taken to be endless."""
MOST_STEPS = 10_000_000_000
"""Segments that a run may take if nobody says how many: hours."""
KEPT_STATES = 1 << 16
"""States of a warp that are remembered; a loop of more of them is one that counts."""


class Progress:
    """The scheduler says here that something ``happened`` and that a warp is ``computing``: neither waits nor polls."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.computing = False
        self.active = True
        self.changes = self.steps = self.event_steps = self.turns = 0
        self.states: dict[Warp, set[int]] = {}

    def happened(self) -> None:
        """A barrier, a copy or an exit changed what warps wait for."""
        self.event_steps = self.machine.steps
        self.active = True

    def stuck(self, resident: list[Cluster]) -> bool:
        """Asked after each round of all clusters: whether they can never get on by themselves."""
        computing, self.computing = self.computing, False
        machine = self.machine
        if machine.steps - self.event_steps > IDLE_STEPS:
            raise self.error(resident)
        if self.active or machine.changes != self.changes:
            self.active = False
            self.changes, self.steps, self.turns = machine.changes, machine.steps, 0
            if self.states:
                self.states.clear()
            return False
        self.turns += 1
        if computing and machine.steps - self.steps < QUIET_STEPS:
            return False
        fronts = max((len(w.fronts) for c in resident for w in c.live), default=1)
        again = self._again(resident) and self.turns > SURE_TURNS + HOLD * fronts
        return again or (not computing and self.turns * len(resident) > QUIET_TURNS)

    def _again(self, resident: list[Cluster]) -> bool:
        """Whether every warp that does not wait is in a state it was in before."""
        again = True
        for cluster in resident:
            for w in cluster.live:
                if w.blocked_at == cluster.event and not w.unlocked:
                    continue
                seen = self.states.setdefault(w, set())
                state = _state(w)
                again = again and state in seen
                if len(seen) >= KEPT_STATES:
                    seen.clear()
                seen.add(state)
        return again

    def error(self, resident: list[Cluster]) -> SimulationError:
        """What to say of clusters that are ``stuck``."""
        polling = [c for c in resident if any(w.blocked_at != c.event and _loops(w) for w in c.live)]
        if polling:
            return endless_loop([w for c in polling for w in c.live if w.blocked_at != c.event and _loops(w)], resident)
        return deadlock(resident[0])


def _loops(w: Warp) -> bool:
    """Whether the warp runs: it is not one that waits, nor one that asks an mbarrier again and again."""
    return any(f.waiting is None for f in w.fronts)


def _state(w: Warp) -> int:
    """What a warp does next, but for memory: the places of its lanes and the registers they need."""
    segments = w.cta.kernel.segments
    fronts: list[Any] = []
    for front in w.fronts:
        values = tuple(_key(w.registers[number]) for number in sorted(segments[front.segment].live))
        fronts.append((front.segment, front.mask.tobytes(), front.token, values))
    return hash(tuple(fronts))


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes() if value.dtype != object else tuple(value.tolist())
    if isinstance(value, tuple):
        return tuple(_key(item) for item in value)
    return value
