"""Lanes of a warp coming together at operations that they execute as one."""

from __future__ import annotations

import numpy as np

from .compile import NOT_YET, Compiler, Waiter, waiting
from .errors import SimulationError, lanes_text
from .machine import LANE_IDS, Front, Wait, Warp
from .memory import LANES
from .program import Instruction

ALL_LANES = np.ones(LANES, bool)
NAMED = "which its member mask names"
ALIGNED = "since all threads of a warp execute it together (.aligned)"
REMEDY = "Use a member mask of the lanes that do, or move the operation where the whole warp passes"


def converged(w: Warp, front: Front, wanted: np.ndarray, what: str, location: str, why: str = NAMED) -> bool:
    """Whether every living lane that ``wanted`` names is in this front; if not the front waits for the others.

    Lanes may end before they come here, but not run past: an error if one of those named has executed code that only
    comes after.
    """
    if w.ended:
        _check_not_bypassed(w, front, wanted, what, location, why)
    if front.full:
        return True
    missing = wanted & w.alive & ~front.mask
    if not missing.any():
        return True
    front.waiting = Wait(
        f"{what} for lanes {lanes_text(missing)}, {why}", location, kind="divergent operation", missing=missing
    )
    return False


def _check_not_bypassed(w: Warp, front: Front, wanted: np.ndarray, what: str, location: str, why: str) -> None:
    kernel = w.cta.kernel
    here = front.segment
    for mask, passed in w.ended:
        if not (mask & wanted).any():
            continue
        for number in sorted(passed):
            after = kernel.segments[number].works and number in kernel.reachable(here)
            if after and here not in kernel.reachable(number):
                raise SimulationError(
                    "divergent operation",
                    f"warp {w.number} of CTA {w.cta.block_id} lanes {lanes_text(front.mask)} meets {what} without "
                    f"lanes {lanes_text(mask & wanted)}, {why}; those lanes took another path past it. {REMEDY}",
                    location,
                    (("those lanes went on here", kernel.segments[number].place),),
                )


def mask_lanes(value: int) -> np.ndarray:
    """A 32-bit member mask as booleans."""
    return ((int(value) & 0xFFFFFFFF) >> LANE_IDS.astype(np.int64) & 1).astype(bool)


@waiting("sim.converge")
def _converge(i: Instruction, c: Compiler) -> Waiter:
    what = i.attributes["what"].removeprefix("nvvm.")
    return lambda r, w, front: None if converged(w, front, ALL_LANES, what, i.location, ALIGNED) else NOT_YET
