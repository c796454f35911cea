"""One turn of a warp: which of its diverged fronts runs, where they split, meet and exit.

Fronts run the lowest segment first, so that lanes meet again where their paths do; but where ``Warp.apart`` is set, in
any order, and they meet only at operations that the whole warp executes: more is not guaranteed from compute capability
7.0 on (independent thread scheduling).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import Segment, blend
from .errors import SimulationError
from .machine import BLOCKED, EXIT, SPLIT, Front, Warp

NOTHING: frozenset[int] = frozenset()
MOST_APART = 4
"""Fronts of a warp that run in any order; where there are more, they run lowest first and meet, or a loop whose trip
counts differ by lane would take 32 times as long."""

HOLD = 16
"""Turns after which another front of the warp has one, whatever the first still does."""


def run_warp(w: Warp, budget: int) -> None:
    """Run the warp's fronts until all of them wait or are gone, or ``budget`` segments have run."""
    segments = w.cta.kernel.segments
    r = w.registers
    machine = w.machine
    cluster = w.cluster
    w.budget = budget
    w.polled = None
    w.turns += 1
    while w.fronts:
        front = w.fronts[0] if len(w.fronts) == 1 else _pick(w)
        if front is None:
            w.blocked_at = cluster.event
            w.unlocked = False
            return
        w.front = front
        w.mask, w.all, w.first, w.last = front.mask, front.all, front.first, front.last
        front.full = front.count == w.alive_count
        if len(w.fronts) == 1:
            w.protected = NOTHING
        else:
            w.protected = _protected(w, front)
            front.passed.add(front.segment)
        w.full = front.full
        polling = front.waiting is not None and front.waiting.polling
        segment = segments[front.segment]
        if segment.code:
            _execute(segment, r, w, front)
        following = _terminate(segment, r, w, front)
        if following >= 0:
            machine.steps += 1
            front.segment = following
            if len(w.fronts) > 1:
                if polling:
                    w.unlocked = False
                _merge(w, front)
            w.budget -= 1
            if w.budget <= 0:
                if w.polled is not None or w.turns % HOLD == 0:
                    # Its next turn is another front's: what this one polls for may be that front's to do.
                    front.ran = w.turns
                w.blocked_at = -1
                return
        elif following == BLOCKED:
            front.blocked_at = cluster.event
            if machine.trace is not None:
                machine.trace.blocked(w, front)
            if len(w.fronts) == 1:
                w.blocked_at = cluster.event
                w.unlocked = False
                return
        elif following == SPLIT:
            machine.steps += 1
            assert w.split is not None
            first, first_mask, second, second_mask = w.split
            front.segment = first
            front.set_mask(first_mask)
            other = Front(second, second_mask)
            other.passed = set(front.passed)
            w.fronts.append(other)
            _merge(w, other)
            if front in w.fronts:
                _merge(w, front)
            if w.apart and machine.random is not None:
                w.front = w.fronts[int(machine.random.integers(len(w.fronts)))]
        else:
            assert following == EXIT
            machine.steps += 1
            _exit(w, front)


def _pick(w: Warp) -> Front | None:
    """The front to run, of several; None if the warp waits."""
    event = w.cluster.event
    ready = [f for f in w.fronts if f.waiting is None or f.blocked_at != event]
    if w.apart and len(w.fronts) <= MOST_APART:
        if not ready and w.unlocked:
            ready = [f for f in w.fronts if f.waiting is not None and f.waiting.polling]
        return _any(w, ready) if ready else None
    ordered = sorted(w.fronts, key=lambda f: (f.ran, f.segment, f.token is not None))
    if w.unlocked:
        for front in ordered:
            if front.waiting is None:
                return front
        for front in ordered:
            if front.waiting is not None and front.waiting.polling:
                return front
        w.unlocked = False
    # Lanes that wait for the rest of their warp let it run; others hold back those that are ahead of them.
    holding = [f.segment for f in w.fronts if f not in ready and f.waiting and f.waiting.kind != "divergent operation"]
    limit = min(holding, default=len(w.cta.kernel.segments))
    return next((front for front in ordered if front in ready and front.segment <= limit), None)


def _any(w: Warp, ready: list[Front]) -> Front:
    """One of the fronts that can run; mostly the one that ran before, if its turn has not just ended."""
    random = w.machine.random
    assert random is not None
    if w.front in ready and len(ready) > 1:
        if w.front.ran == w.turns - 1 > 0:
            ready.remove(w.front)
        elif random.integers(4):
            return w.front
    return ready[int(random.integers(len(ready)))]


def _protected(w: Warp, front: Front) -> frozenset[int]:
    """Registers that the warp's other fronts still need."""
    segments = w.cta.kernel.segments
    others = tuple(f.segment for f in w.fronts if f is not front)
    if len(others) == 1:
        return segments[others[0]].live
    return frozenset().union(*(segments[index].live for index in others))


def _merge(w: Warp, front: Front) -> None:
    """Join ``front`` with another front at the same segment that has not arrived at a barrier yet."""
    if front.token is not None:
        return
    if w.apart and len(w.fronts) <= MOST_APART and not w.cta.kernel.segments[front.segment].meets:
        return
    for other in w.fronts:
        if other is not front and other.segment == front.segment and other.token is None:
            other.set_mask(other.mask | front.mask)
            other.passed &= front.passed
            other.ran = min(other.ran, front.ran)
            other.waiting = None
            other.blocked_at = -1
            w.fronts.remove(front)
            return


def _execute(segment: Segment, r: list, w: Warp, front: Front) -> None:
    code: Any = iter(segment.code)
    try:
        protected = w.protected
        if not protected:
            for step, target, _ in code:
                r[target] = step(r, w)
        else:
            mask = front.mask
            for step, target, kind in code:
                value = step(r, w)
                r[target] = blend(r[target], value, mask, kind) if target in protected else value
    except SimulationError:
        raise
    except Exception as error:
        index = len(segment.code) - code.__length_hint__() - 1
        raise SimulationError("internal", f"the simulator failed here: {error!r}", segment.places[index]) from error


def _terminate(segment: Segment, r: list, w: Warp, front: Front) -> int:
    assert segment.terminator is not None
    try:
        return segment.terminator(r, w, front)
    except SimulationError:
        raise
    except Exception as error:
        raise SimulationError("internal", f"the simulator failed here: {error!r}", segment.place) from error


def _exit(w: Warp, front: Front) -> None:
    w.fronts.remove(front)
    w.ended.append((front.mask, front.passed))
    w.alive = w.alive & ~front.mask
    w.alive_count = int(np.count_nonzero(w.alive))
    w.cta.live_threads -= front.count
    w.cluster.live_threads -= front.count
    w.cluster.event += 1


def unlock(live: list[Warp]) -> bool:
    """Let diverged fronts past a waiting one, and polling fronts go on with "not yet". Whether there are any."""
    found = False
    for w in live:
        if any(f.waiting is None or f.waiting.polling for f in w.fronts):
            w.unlocked = True
            found = True
    return found
