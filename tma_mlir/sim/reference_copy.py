"""Calls that stand for a whole copy: external functions marked ``tile.reference_copy``, executed natively.

``passes/tile_reference_copies.py`` makes them; ``definition.py`` says where every element lies. They are meant for runs
without hazard checks: the shadow memory does not see them as copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .definition import Elements, elements, fill_bytes, read_operands
from .errors import SimulationError
from .mbarrier import find_barrier
from .memory import Region, locate
from .program import Instruction

if TYPE_CHECKING:
    from .compile import Step
    from .machine import Warp


def reference_call(attributes: dict[str, Any], i: Instruction) -> Step:
    """The step of a call of a ``tile.reference_copy`` function: once for each active lane."""

    def run(r, w):
        for lane in w.active_lanes():
            _copy(w, attributes, [w.lane_value(r[v], lane) for v in i.operands], i.location)

    return run


def _copy(w: Warp, attributes: dict[str, Any], numbers: list[int], location: str) -> None:
    operands = read_operands(attributes, numbers)
    found = elements(attributes, operands)
    if not found.inside.size:
        return
    if attributes["direction"] == "store":
        _store(w, found, location)
        return
    _load(w, found, fill_bytes(attributes), location)
    assert operands.mbarrier is not None
    barrier = find_barrier(w, w.cta, operands.mbarrier, location)
    w.release()
    barrier.complete_by_thread(w, found.inside.size * found.element_bytes, location)


def _load(w: Warp, found: Elements, fill: np.ndarray, location: str) -> None:
    shared, places = _bytes(w, found.shared_addresses, found.element_bytes, location)
    shared.data[places] = fill
    if found.inside.any():
        region, sources = _bytes(w, found.global_addresses[found.inside], found.element_bytes, location)
        shared.data[places[found.inside]] = region.data[sources]


def _store(w: Warp, found: Elements, location: str) -> None:
    if not found.inside.any():
        return
    region, places = _bytes(w, found.global_addresses[found.inside], found.element_bytes, location)
    shared, sources = _bytes(w, found.shared_addresses[found.inside], found.element_bytes, location)
    region.data[places] = shared.data[sources]


def _bytes(w: Warp, addresses: np.ndarray, size: int, location: str) -> tuple[Region, np.ndarray]:
    """The region of all ``addresses`` and the offsets of every byte in it, one row an element."""
    region, first = locate(w, int(addresses[0]))
    offsets = addresses - addresses[0] + first
    if region is None or offsets.min() < 0 or offsets.max() + size > region.data.size:
        raise SimulationError(
            "out of bounds", f"a copy by definition leaves the memory at address {int(addresses[0]):#x}", location
        )
    return region, offsets[:, None] + np.arange(size)
