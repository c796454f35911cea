"""Stores and reductions that several threads issue although one should: each of them has its own executed."""

from __future__ import annotations

from collections import Counter

from .errors import SimulationError
from .machine import Warp

IDEMPOTENT = {"min", "max", "and", "or"}
"""Reductions that change nothing when they are applied again."""
REMEDY = "Issue it from one thread: under elect.sync in one warp, or a condition that a single thread meets"


def check_repeats(w: Warp, issues: list[tuple[int, list[int]]], what: str, reduction: bool, location: str) -> None:
    """``issues``: (lane, operands) of the lanes that execute one bulk store or reduction.

    The same operands in several lanes, or in another warp that is not ordered before, are one operation repeated: a
    warning for a store, which only writes the same bytes again, an error for a reduction that adds up.
    """
    _, times = Counter(tuple(operands) for _, operands in issues).most_common(1)[0]
    if times > 1:
        _report(w, f"{times} lanes of warp {w.number} of CTA {w.cta.block_id}", times, what, reduction, location)
        return
    for _, operands in issues:
        key = (location, w.cta.rank, tuple(operands))
        before = w.cluster.issued.get(key)
        if before is not None and before[0] is not w and not w.clock.knows(before[0].component, before[1]):
            first, second = sorted((before[0].number, w.number))
            both = f"warps {first} and {second} of CTA {w.cta.block_id}"
            _report(w, both, 2, what, reduction, location)
        w.cluster.issued[key] = (w, w.epoch)


def _report(w: Warp, who: str, times: int, what: str, reduction: bool, location: str) -> None:
    if reduction:
        raise SimulationError(
            "repeated reduction",
            f"{who} issue the same {what}: it is applied {times} times. {REMEDY}",
            location,
        )
    w.machine.warn("repeated store", f"{who} issue the same {what}: it is executed {times} times. {REMEDY}", location)
