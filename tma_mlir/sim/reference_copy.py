"""Calls that stand for a whole copy: external functions marked ``tile.reference_copy``, executed natively.

``passes/tile_reference_copies.py`` makes them; ``definition.py`` and its neighbours say what they mean. They are meant
for runs without hazard checks: the shadow memory does not see them as copies.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import dtype
from .definition import CopyOperands, Elements, elements, fill_bytes, read_operands
from .definition_cluster import announced_tiles, members, named_cta, share, signalled_cta
from .definition_values import FloatSums, reduced, round_to_tf32
from .errors import SimulationError
from .mbarrier import MBarrier, find_barrier
from .memory import Region, locate
from .program import Instruction

if TYPE_CHECKING:
    from .compile import Step
    from .machine import Cta, Warp


@dataclass
class Recording:
    """Of reference runs: what reductions add to floats, and the copies (numbers without a meaning) that were executed
    at all."""

    sums: FloatSums = field(default_factory=FloatSums)
    executed: set[int] = field(default_factory=set)


_RECORDING: contextvars.ContextVar[Recording | None] = contextvars.ContextVar("recording", default=None)


@contextlib.contextmanager
def recorded() -> Iterator[Recording]:
    """Notes what the simulations inside do."""
    made = Recording()
    token = _RECORDING.set(made)
    try:
        yield made
    finally:
        _RECORDING.reset(token)


def reference_call(attributes: dict[str, Any], i: Instruction) -> Step:
    """The step of a call of a ``tile.reference_copy`` function: once for each active lane."""

    def run(r, w):
        recording = _RECORDING.get()
        if recording is not None:
            recording.executed.add(id(i))
        for lane in w.active_lanes():
            _copy(w, attributes, [w.lane_value(r[v], lane) for v in i.operands], i.location)

    return run


def _copy(w: Warp, attributes: dict[str, Any], numbers: list[int], location: str) -> None:
    operands = read_operands(attributes, numbers)
    found = elements(attributes, operands)
    if attributes["direction"] == "store":
        _store(w, attributes, found, location)
        return
    if attributes["announce"]:
        _announce(w, attributes, operands, found.tile_bytes, location)
    if operands.mask is not None:
        _check_mask(w, attributes, operands.mask, location)
    found = found.part(share(attributes, w.cta.rank, operands.mask))
    if not found.inside.size:
        return
    values = _loaded(w, attributes, found, location)
    ctas = w.cta.cluster.ctas
    destinations = [w.cta] if operands.mask is None else [ctas[rank] for rank in members(operands.mask)]
    for cta in destinations:
        places = _shared_places(cta, found, location)
        cta.shared.data[places] = values
        signalled = signalled_cta(attributes, cta.rank, w.cta.rank)
        barrier = _barrier(w, operands, signalled, location)
        w.release()
        barrier.complete_by_thread(w, found.tile_bytes, location)


def _check_mask(w: Warp, attributes: dict[str, Any], mask: int, location: str) -> None:
    named, size = members(mask), w.cta.cluster.size
    if not named or named[-1] >= size:
        raise SimulationError(
            "multicast mask", f"multicast mask {mask:#x} does not name CTAs of the cluster, which has {size}", location
        )
    parts = attributes["cluster_split"]
    if parts > 1 and len(named) != parts:
        raise SimulationError(
            "multicast mask",
            f"a load split among {parts} CTAs has the mask {mask:#x}, which names {len(named)}",
            location,
        )


def _announce(w: Warp, attributes: dict[str, Any], operands: CopyOperands, tile_bytes: int, location: str) -> None:
    size = attributes["announce_bytes"] or tile_bytes * announced_tiles(attributes, w.cta.rank, operands.mask)
    barrier = _barrier(w, operands, named_cta(attributes, w.cta.rank), location)
    if attributes["announce"] == "only":
        barrier.expect(w, size, location)
    else:
        barrier.arrive(w, 1, location, size)


def _barrier(w: Warp, operands: CopyOperands, rank: int, location: str) -> MBarrier:
    """The copy's mbarrier in CTA ``rank``: at the same offset in each."""
    assert operands.mbarrier is not None
    ctas = w.cta.cluster.ctas
    if rank >= len(ctas):
        raise SimulationError("cta_group", f"CTA {rank} is not in the cluster, which has {len(ctas)} CTAs", location)
    return find_barrier(w, ctas[rank], operands.mbarrier, location)


def _loaded(w: Warp, attributes: dict[str, Any], found: Elements, location: str) -> np.ndarray:
    """The bytes of every element that arrive, one row an element."""
    values = np.tile(fill_bytes(attributes), (found.inside.size, 1))
    if found.inside.any():
        region, sources = _bytes(w, found.global_addresses[found.inside], found.element_bytes, location)
        inside = region.data[sources]
        if attributes["dtype"] == "tf32":
            inside = round_to_tf32(inside.view(np.float32)).view(np.uint8)
        values[found.inside] = inside
    return values


def _store(w: Warp, attributes: dict[str, Any], found: Elements, location: str) -> None:
    if not found.inside.any():
        return
    region, places = _bytes(w, found.global_addresses[found.inside], found.element_bytes, location)
    values = w.cta.shared.data[_shared_places(w.cta, found, location)[found.inside]]
    if not attributes["reduction"]:
        region.data[places] = values
        return
    kind, type_ = attributes["reduction"], dtype(attributes["dtype"])
    recording = _RECORDING.get()
    sums = recording.sums if recording is not None and kind == "add" and type_.is_float else None
    for chosen in _without_repeats(places[:, 0]):
        old, new = region.data[places[chosen]].view(type_.numpy), values[chosen].view(type_.numpy)
        if sums is not None:
            sums.record(region.data, places[chosen][:, 0], old[:, 0], new[:, 0])
        region.data[places[chosen]] = reduced(kind, old, new).view(np.uint8)


def _without_repeats(places: np.ndarray) -> Iterator[slice]:
    """Parts of ``places``, in order, that hold no place twice: elements that share memory are reduced one by one."""
    step = len(places) if len(np.unique(places)) == len(places) else 1
    for first in range(0, len(places), step):
        yield slice(first, first + step)


def _shared_places(cta: Cta, found: Elements, location: str) -> np.ndarray:
    """Offsets in the CTA's shared memory of every byte, one row an element."""
    last = int(found.shared_addresses.max()) + found.element_bytes
    if int(found.shared_addresses.min()) < cta.shared_start or last > cta.shared.data.size:
        raise SimulationError("out of bounds", f"a copy by definition leaves shared memory, at {last:#x}", location)
    return found.shared_addresses[:, None] + np.arange(found.element_bytes)


def _bytes(w: Warp, addresses: np.ndarray, size: int, location: str) -> tuple[Region, np.ndarray]:
    """The region of all ``addresses`` and the offsets of every byte in it, one row an element."""
    region, first = locate(w, int(addresses[0]))
    offsets = addresses - addresses[0] + first
    if region is None or offsets.min() < 0 or offsets.max() + size > region.data.size:
        raise SimulationError(
            "out of bounds", f"a copy by definition leaves the memory at address {int(addresses[0]):#x}", location
        )
    return region, offsets[:, None] + np.arange(size)
