"""What every asynchronous copy does when it is issued: find its places, check them, record what it uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import engine
from .errors import SimulationError
from .global_shadow import Piece
from .machine import Cta, Warp
from .mbarrier import MBarrier, find_barrier
from .memory import Region, locate
from .ops_barrier import shared_place
from .shadow import Chunks
from .swizzle import shared_chunks
from .transfer import AsyncGroups, Transfer


def fault(error: engine.TmaFault, what: str, location: str) -> SimulationError:
    """The chip's fault as an error of the kernel."""
    return SimulationError(error.fault, f"{what}: {error.message}", location)


def descriptor_at(w: Warp, address: int, location: str) -> engine.BoundTensorMap:
    """The tensor map a descriptor pointer names."""
    bound = w.machine.descriptors.get(address)
    if bound is None:
        from .ops_descriptor import descriptor_in_memory

        bound = descriptor_in_memory(w, address)
    if bound is None:
        raise SimulationError(
            "no descriptor",
            f"no tensor map at address {address:#x}: it must be a kernel parameter (byval, grid_constant) of the "
            "signature, or copied there by tensormap.cp_fenceproxy",
            location,
        )
    return bound


def box_chunks(bound: engine.BoundTensorMap, offset: int) -> Chunks:
    """16-byte chunks of shared memory that a box at byte ``offset`` covers."""
    start = offset >> 4
    if bound.pitch_bytes == bound.inner_bytes:
        return slice(start, start + bound.transaction_bytes // 16)
    return shared_chunks(bound.rows, bound.inner_bytes, bound.pitch_bytes, bound.swizzle_bits, offset % 1024) + start


def shared_window(cta: Cta, offset: int, size: int, what: str, location: str) -> np.ndarray:
    """Shared memory from ``offset`` on; an error unless ``size`` bytes are allocated there."""
    end = cta.shared.data.size
    if not cta.shared_start <= offset or offset + size > end:
        raise SimulationError(
            "out of bounds",
            f"{what} uses shared memory [{offset:#x}, {offset + size:#x}), allocated are "
            f"[{cta.shared_start:#x}, {end:#x})",
            location,
        )
    return cta.shared.data[offset:]


def global_region(w: Warp, address: int, what: str, location: str) -> Region:
    """The allocation of a global address."""
    region, _ = locate(w, address)
    if region is None or region.kind not in ("global", "constant"):
        raise SimulationError("illegal address", f"{what}: global address {address:#x} is not allocated", location)
    return region


def bulk_groups(w: Warp, lane: int) -> AsyncGroups:
    """The bulk async groups of one thread."""
    groups = w.groups.get(lane)
    if groups is None:
        groups = w.groups[lane] = AsyncGroups(w.cta.cluster)
    return groups


def new_transfer(w: Warp, lane: int, what: str, location: str, size: int, execute: Any) -> Transfer:
    """A copy about to be issued by ``lane``."""
    machine = w.machine
    return Transfer(machine.transfers + 1, what, location, w, lane, size, execute)


def destinations(w: Warp, address: int, mask: int | None, location: str) -> list[tuple[Cta, int]]:
    """(CTA, offset) pairs a load writes: the same offset in every CTA of a multicast mask."""
    cta, offset = shared_place(w, address, location)
    if mask is None:
        return [(cta, offset)]
    members = [rank for rank in range(16) if mask >> rank & 1]
    if not members or members[-1] >= cta.cluster.size:
        raise SimulationError(
            "multicast mask", f"multicast mask {mask:#x} names CTAs outside the cluster of {cta.cluster.size}", location
        )
    return [shared_place(w, (rank + 1 << 24) | offset, location) for rank in members]


def signalled_cta(destination: Cta, named: Cta, location: str, *, multicast: bool, pair: bool) -> Cta:
    """Whose barrier a load into ``destination`` completes on, when the instruction names that of ``named``.

    A multicast signals each destination. With ``.cta_group::2`` (``pair``) it signals the destination or its peer,
    whichever has the parity of ``named`` (PTX ISA, cp.async.bulk.tensor).
    """
    if not pair:
        return destination if multicast else named
    rank = destination.rank & ~1 | named.rank & 1
    if rank >= destination.cluster.size:
        found = f"CTA {destination.rank} has no peer in a cluster of {destination.cluster.size}"
        raise SimulationError("cta_group", f"a load with cta_group::2 signals one of a pair of CTAs; {found}", location)
    if not multicast and destination.cluster.ctas[rank] is not named:
        raise SimulationError(
            "cta_group",
            f"the mbarrier of a load with cta_group::2 lies in CTA {named.rank}, which is neither the destination, CTA "
            f"{destination.rank}, nor its peer",
            location,
        )
    return destination.cluster.ctas[rank]


def barrier_at_cta(w: Warp, cta: Cta, offset: int, location: str) -> MBarrier:
    """The barrier a copy completes on."""
    found = find_barrier(w, cta, offset, location)
    found.check_visible(w, location)
    return found


def fill(w: Warp, cta: Cta, chunks: Chunks, barrier: MBarrier, transfer: Transfer) -> None:
    """Check and record that a transfer fills shared memory, to be seen through ``barrier``'s current phase."""
    shadow = cta.shared.shadow
    if shadow is None:
        return
    at = shadow.units.chunks(chunks)
    shadow.check_async(w, at, transfer.location, transfer.what, writes=True, barrier=barrier)
    shadow.async_write(w, at, barrier.component, barrier.phase + 1, transfer, barrier)


def drain(w: Warp, lane: int, cta: Cta, chunks: Chunks, needed: Chunks | None, transfer: Transfer) -> None:
    """Check and record that a transfer of the thread's open bulk group reads shared memory."""
    groups = bulk_groups(w, lane)
    groups.add(transfer)
    shadow = cta.shared.shadow
    if shadow is None:
        return
    at = shadow.units.chunks(chunks)
    touched = shadow.check_async(w, at, transfer.location, transfer.what, writes=False)
    if needed is not None and not touched:
        shadow.check_initialised(shadow.units.chunks(needed), transfer.location, transfer.what)
    shadow.async_read(w, at, groups.component, groups.current, transfer, groups)


def record_load(w: Warp, region: Region, pieces: list[Piece], barrier: MBarrier, transfer: Transfer) -> None:
    """Check and record what a load reads of global memory; it is over with the barrier's current phase."""
    if region.watch is not None:
        region.watch.async_read(w, pieces, barrier.component, barrier.phase + 1, transfer.location, transfer.what)


def record_store(w: Warp, lane: int, region: Region, pieces: list[Piece], reduction: bool, transfer: Transfer) -> None:
    """Check and record what a store of the thread's open bulk group writes to global memory."""
    if region.watch is not None:
        groups = bulk_groups(w, lane)
        region.watch.async_write(w, pieces, groups.stored, groups.current, transfer, reduction)


def lanes_of(w: Warp, values: list[Any]) -> list[tuple[int, list[int]]]:
    """(lane, operands) for every active lane: each executes the instruction."""
    return [(lane, [w.lane_value(v, lane) for v in values]) for lane in w.active_lanes()]
