"""Asynchronous copies: tensor loads, stores and reductions, 1-D bulk copies, cp.async, and the waits for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import engine
from .compile import NOT_YET, Compiler, Step, Waiter, operation, waiting
from .errors import SimulationError, UnsupportedError
from .machine import Cta, Wait, Warp
from .mbarrier import MBarrier
from .memory import Region, Site, locate, resolve
from .ops_barrier import barrier_at, predicated, shared_place
from .program import Instruction
from .reduction import REDUCTIONS
from .shadow import Chunks
from .swizzle import shared_chunks
from .transfer import AsyncGroups, Transfer, launch


def _fault(error: engine.TmaFault, what: str, location: str) -> SimulationError:
    return SimulationError(error.fault, f"{what}: {error.message}", location)


def descriptor_at(w: Warp, address: int, location: str) -> engine.BoundTensorMap:
    """The tensor map a descriptor pointer names."""
    bound = w.machine.descriptors.get(address)
    if bound is None:
        raise SimulationError(
            "no descriptor",
            f"no tensor map at address {address:#x}: it must be a kernel parameter (byval, grid_constant) of the "
            "signature",
            location,
        )
    return bound


def box_chunks(bound: engine.BoundTensorMap, offset: int) -> Chunks:
    """16-byte chunks of shared memory that a box at byte ``offset`` covers."""
    start = offset >> 4
    if bound.pitch_bytes == bound.inner_bytes:
        return slice(start, start + bound.transaction_bytes // 16)
    return shared_chunks(bound.rows, bound.inner_bytes, bound.pitch_bytes, bound.swizzle_bits, offset % 1024) + start


def _shared_window(cta: Cta, offset: int, size: int, what: str, location: str) -> np.ndarray:
    end = cta.shared.data.size
    if not cta.shared_start <= offset or offset + size > end:
        raise SimulationError(
            "out of bounds",
            f"{what} uses shared memory [{offset:#x}, {offset + size:#x}), allocated are "
            f"[{cta.shared_start:#x}, {end:#x})",
            location,
        )
    return cta.shared.data[offset:]


def _global_region(w: Warp, address: int, what: str, location: str) -> Region:
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


def _new_transfer(w: Warp, lane: int, what: str, location: str, size: int, execute: Any) -> Transfer:
    machine = w.machine
    return Transfer(machine.transfers + 1, what, location, w, lane, size, execute)


def _destinations(w: Warp, address: int, mask: int | None, location: str) -> list[tuple[Cta, int]]:
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


def issue_load(
    w: Warp, lane: int, descriptor: int, coordinates: list[int], target: int, barrier: int, mask: int | None,
    location: str,
) -> None:  # fmt: skip
    """Issue one tensor tile load, to every CTA of ``mask`` if given."""
    bound = descriptor_at(w, descriptor, location)
    what = f"tensor load of a {'x'.join(str(b) for b in bound.tensor_map.box[::-1])} box"
    places = _destinations(w, target, mask, location)
    barrier_cta, barrier_offset = shared_place(w, barrier, location)
    try:
        engine.check_coordinates(bound, coordinates, store=False)
        for _, offset in places:
            engine.check_shared(bound, offset)
        inside = engine.window(bound, coordinates, store=False)
    except engine.TmaFault as error:
        raise _fault(error, what, location) from None
    windows = [_shared_window(cta, offset, bound.shared_bytes, what, location) for cta, offset in places]
    region = _global_region(w, bound.address, what, location)

    def execute() -> None:
        try:
            box = engine.load_window(bound, inside, region.data, region.base)
        except engine.TmaFault as error:
            raise _fault(error, what, location) from None
        for window, (_, offset) in zip(windows, places, strict=True):
            engine.place_box(bound, box, window, offset)

    transfer = _new_transfer(w, lane, what, location, bound.transaction_bytes, execute)
    transfer.shared_region = places[0][0].shared_symbol(places[0][1])
    for cta, offset in places:
        signalled = barrier_cta if mask is None else cta
        target_barrier = barrier_at_cta(w, signalled, barrier_offset, location)
        _fill(w, cta, box_chunks(bound, offset), target_barrier, transfer)
        transfer.targets.append((target_barrier, bound.transaction_bytes))
        target_barrier.issued(transfer, bound.transaction_bytes)
    launch(w.machine, transfer)


def barrier_at_cta(w: Warp, cta: Cta, offset: int, location: str) -> MBarrier:
    from .mbarrier import find_barrier

    found = find_barrier(w, cta, offset, location)
    found.check_visible(w, location)
    return found


def _fill(w: Warp, cta: Cta, chunks: Chunks, barrier: MBarrier, transfer: Transfer) -> None:
    """Check and record that a transfer fills shared memory, to be seen through ``barrier``'s current phase."""
    shadow = cta.shared.shadow
    if shadow is None:
        return
    shadow.check_async(w, chunks, transfer.location, transfer.what, writes=True, barrier=barrier)
    shadow.async_write(w, chunks, barrier.component, barrier.phase + 1, transfer, barrier)


def issue_store(
    w: Warp, lane: int, descriptor: int, coordinates: list[int], source: int, reduction: str | None, location: str
) -> None:
    """Issue one tensor tile store or reduction into the thread's open bulk group."""
    bound = descriptor_at(w, descriptor, location)
    verb = f"tensor {'reduction' if reduction else 'store'}"
    what = f"{verb} of a {'x'.join(str(b) for b in bound.tensor_map.box[::-1])} box"
    cta, offset = shared_place(w, source, location)
    try:
        engine.check_coordinates(bound, coordinates, store=True)
        engine.check_shared(bound, offset)
        inside = engine.window(bound, coordinates, store=True)
        if reduction is not None and reduction not in REDUCTIONS.get(bound.tensor_map.data_type, ()):
            raise engine.TmaFault(
                "illegal instruction", f"{reduction} of {bound.tensor_map.data_type} does not execute on sm_90"
            )
    except engine.TmaFault as error:
        raise _fault(error, what, location) from None
    window = _shared_window(cta, offset, bound.shared_bytes, what, location)
    region = _global_region(w, bound.address, what, location)
    tail = engine.clipped_tail_bytes(bound, coordinates)
    if tail and inside is not None:
        w.machine.warn(
            "16-byte clip",
            f"{what} at {tuple(coordinates)} writes {tail} B past the end of dimension 0 in each of its rows (stores "
            "clip at 16 B): in a column slice these are the neighbour's elements",
            location,
        )

    def execute() -> None:
        try:
            if inside is not None:
                box = engine.take_box(bound, window, offset)
                engine.store_window(bound, inside, box, region.data, region.base, reduction)
        except engine.TmaFault as error:
            raise _fault(error, what, location) from None

    transfer = _new_transfer(w, lane, what, location, bound.transaction_bytes, execute)
    transfer.shared_region = cta.shared_symbol(offset)
    chunks = box_chunks(bound, offset)
    needed = chunks if inside is None else _window_chunks(bound, chunks, inside)
    _drain(w, lane, cta, chunks, needed if inside is not None else None, transfer)
    launch(w.machine, transfer)


def _window_chunks(bound: engine.BoundTensorMap, chunks: Chunks, inside: engine.Window) -> Chunks:
    """The chunks whose bytes reach global memory."""
    if inside.shape == (*bound.counts[::-1], bound.inner_bytes):
        return chunks
    numbers = np.arange(chunks.start, chunks.stop) if isinstance(chunks, slice) else chunks
    if isinstance(chunks, slice) and bound.swizzle_bits:
        numbers = shared_chunks(
            bound.rows, bound.inner_bytes, bound.pitch_bytes, bound.swizzle_bits, chunks.start * 16 % 1024
        )
        numbers = numbers + chunks.start
    rows = numbers.reshape(*bound.counts[::-1], bound.inner_bytes // 16)
    *outer, inner = inside.box_slices
    return rows[(*outer, slice(inner.start // 16, -(-inner.stop // 16)))].reshape(-1)


def _drain(w: Warp, lane: int, cta: Cta, chunks: Chunks, needed: Chunks | None, transfer: Transfer) -> None:
    """Check and record that a transfer of the thread's open bulk group reads shared memory."""
    groups = bulk_groups(w, lane)
    groups.add(transfer)
    shadow = cta.shared.shadow
    if shadow is None:
        return
    shadow.check_async(w, chunks, transfer.location, transfer.what, writes=False)
    if needed is not None:
        shadow.check_initialised(needed, transfer.location, transfer.what)
    shadow.async_read(w, chunks, groups, transfer)


def _lanes(w: Warp, values: list[Any]) -> list[tuple[int, list[int]]]:
    """(lane, operands) for every active lane: each executes the instruction."""
    return [(lane, [w.lane_value(v, lane) for v in values]) for lane in w.active_lanes()]


def _mode(i: Instruction, tile: str = "tile") -> str:
    text = str(i.attributes.get("mode", tile))
    return text[text.rfind("<") + 1 :].rstrip(">")


@operation("nvvm.cp.async.bulk.tensor.shared.cluster.global")
def _tensor_load(i: Instruction, c: Compiler) -> Step:
    target, descriptor = i.group(0)[0], i.group(1)[0]
    coordinates, barrier = i.group(2), i.group(3)[0]
    multicast, predicate = i.group(5), i.group(7)
    mode = _mode(i)
    if mode not in ("tile", "tile_gather4"):
        raise UnsupportedError(f"{i.name} in mode {mode}", i.location)
    if "cta_2" in str(i.attributes.get("group", "")):
        raise SimulationError("illegal instruction", "cta_group::2 needs sm_100", i.location)

    def run(r, w):
        values = [r[v] for v in (target, descriptor, barrier, *coordinates, *multicast)]
        for lane, (to, at, signal, *rest) in _lanes(w, values):
            mask = rest.pop() & 0xFFFF if multicast else None
            if mode == "tile_gather4":
                raise SimulationError("illegal instruction", "tile::gather4 needs sm_100", i.location)
            issue_load(w, lane, at, rest, to, signal, mask, i.location)

    return predicated(i, predicate[0] if predicate else None, run)


@operation("nvvm.cp.async.bulk.tensor.global.shared.cta")
def _tensor_store(i: Instruction, c: Compiler) -> Step:
    descriptor, source, coordinates, predicate = i.group(0)[0], i.group(1)[0], i.group(2), i.group(4)
    if _mode(i) != "tile":
        raise UnsupportedError(f"{i.name} in mode {_mode(i)}", i.location)

    def run(r, w):
        for lane, (at, start, *rest) in _lanes(w, [r[v] for v in (descriptor, source, *coordinates)]):
            issue_store(w, lane, at, rest, start, None, i.location)

    return predicated(i, predicate[0] if predicate else None, run)


@operation("nvvm.cp.async.bulk.tensor.reduce")
def _tensor_reduce(i: Instruction, c: Compiler) -> Step:
    descriptor, source, coordinates = i.group(0)[0], i.group(1)[0], i.group(2)
    if _mode(i) != "tile":
        raise UnsupportedError(f"{i.name} in mode {_mode(i)}", i.location)
    text = str(i.attributes["redKind"])
    kind = text[text.rfind("<") + 1 :].rstrip(">").lower()

    def run(r, w):
        for lane, (at, start, *rest) in _lanes(w, [r[v] for v in (descriptor, source, *coordinates)]):
            issue_store(w, lane, at, rest, start, kind, i.location)

    return run


@operation("nvvm.cp.async.bulk.tensor.prefetch")
def _tensor_prefetch(i: Instruction, c: Compiler) -> Step:
    descriptor, coordinates = i.group(0)[0], i.group(1)

    def run(r, w):
        for _, (at, *rest) in _lanes(w, [r[v] for v in (descriptor, *coordinates)]):
            bound = descriptor_at(w, at, i.location)
            try:
                engine.check_coordinates(bound, rest, store=False)
            except engine.TmaFault as error:
                raise _fault(error, "tensor prefetch", i.location) from None

    return run


def _check_bulk(size: int, addresses: list[int], what: str, location: str) -> None:
    if size % 16 or size < 0:
        raise SimulationError("illegal instruction", f"{what} of {size} B: not a multiple of 16 B", location)
    for address in addresses:
        if address % 16:
            raise SimulationError("misaligned address", f"{what} at {address:#x}: not 16-byte aligned", location)


@operation("nvvm.cp.async.bulk.shared.cluster.global")
def _bulk_load(i: Instruction, c: Compiler) -> Step:
    target, source, barrier, size = (i.group(k)[0] for k in range(4))
    multicast = i.group(4)
    site = Site("bulk load", np.dtype(np.uint8), 1, 16, i.location, c.location_id(i.location))

    def run(r, w):
        for lane, (to, start, signal, count, *mask) in _lanes(w, [r[v] for v in (target, source, barrier, size,
                                                                              *multicast)]):  # fmt: skip
            _check_bulk(count, [to, start], "bulk load", i.location)
            if not count:
                continue
            region, at = resolve(w, start, count, site)
            places = _destinations(w, to, mask[0] & 0xFFFF if mask else None, i.location)
            windows = [_shared_window(cta, offset, count, "bulk load", i.location) for cta, offset in places]
            signal_cta, signal_offset = shared_place(w, signal, i.location)

            def execute(region=region, at=at, windows=windows, count=count) -> None:
                for window in windows:
                    window[:count] = region.data[at : at + count]

            transfer = _new_transfer(w, lane, "bulk load", i.location, count, execute)
            for cta, offset in places:
                found = barrier_at_cta(w, cta if mask else signal_cta, signal_offset, i.location)
                _fill(w, cta, slice(offset >> 4, offset + count >> 4), found, transfer)
                transfer.targets.append((found, count))
                found.issued(transfer, count)
            launch(w.machine, transfer)

    return run


@operation("nvvm.cp.async.bulk.global.shared.cta")
def _bulk_store(i: Instruction, c: Compiler) -> Step:
    target, source, size = (i.group(k)[0] for k in range(3))
    byte_mask = i.group(4)
    site = Site("bulk store", np.dtype(np.uint8), 1, 16, i.location, c.location_id(i.location))

    def run(r, w):
        for lane, (to, start, count, *mask) in _lanes(w, [r[v] for v in (target, source, size, *byte_mask)]):
            _check_bulk(count, [to, start], "bulk store", i.location)
            if not count:
                continue
            region, at = resolve(w, to, count, site)
            cta, offset = shared_place(w, start, i.location)
            window = _shared_window(cta, offset, count, "bulk store", i.location)
            keep = np.tile([bool(mask[0] >> b & 1) for b in range(16)], count // 16) if mask else slice(None)

            def execute(region=region, at=at, window=window, count=count, keep=keep) -> None:
                region.data[at : at + count][keep] = window[:count][keep]

            transfer = _new_transfer(w, lane, "bulk store", i.location, count, execute)
            chunks = slice(offset >> 4, offset + count >> 4)
            _drain(w, lane, cta, chunks, chunks, transfer)
            launch(w.machine, transfer)

    return run


@operation("nvvm.cp.async.bulk.shared.cluster.shared.cta")
def _bulk_shared(i: Instruction, c: Compiler) -> Step:
    target, source, barrier, size = i.operands

    def run(r, w):
        for lane, (to, start, signal, count) in _lanes(w, [r[v] for v in (target, source, barrier, size)]):
            _check_bulk(count, [to, start], "bulk shared-memory copy", i.location)
            cta_to, offset_to = shared_place(w, to, i.location)
            cta_from, offset_from = shared_place(w, start, i.location)
            into = _shared_window(cta_to, offset_to, count, "bulk shared-memory copy", i.location)
            out_of = _shared_window(cta_from, offset_from, count, "bulk shared-memory copy", i.location)

            def execute(into=into, out_of=out_of, count=count) -> None:
                into[:count] = out_of[:count]

            transfer = _new_transfer(w, lane, "bulk shared-memory copy", i.location, count, execute)
            found = barrier_at(w, signal, i.location)
            found.check_visible(w, i.location)
            chunks = slice(offset_from >> 4, offset_from + count >> 4)
            shadow = cta_from.shared.shadow
            if shadow is not None:
                shadow.check_async(w, chunks, i.location, transfer.what, writes=False)
                shadow.check_initialised(chunks, i.location, transfer.what)
            _fill(w, cta_to, slice(offset_to >> 4, offset_to + count >> 4), found, transfer)
            transfer.targets.append((found, count))
            found.issued(transfer, count)
            launch(w.machine, transfer)

    return run


@operation("nvvm.cp.async.bulk.commit.group")
def _commit_bulk(i: Instruction, c: Compiler) -> Step:
    def run(r, w):
        for lane in w.active_lanes():
            if lane in w.groups:
                w.groups[lane].commit()

    return run


@waiting("nvvm.cp.async.bulk.wait_group")
def _wait_bulk(i: Instruction, c: Compiler) -> Waiter:
    allowed = i.attributes["group"]

    def run(r, w, front):
        for lane in front.lanes:
            groups = w.groups.get(lane)
            if groups is None:
                continue
            complete = groups.complete_through(allowed)
            if complete is None:
                front.waiting = Wait(f"bulk groups of lane {lane}", i.location)
                return NOT_YET
            w.clock.advance(groups.component, complete)
        return None

    return run


def _async_copies(w: Warp) -> AsyncGroups:
    """The warp's cp.async groups."""
    groups = w.groups.get("cp.async")
    if groups is None:
        groups = w.groups["cp.async"] = AsyncGroups(w.cta.cluster)
    return groups


@operation("nvvm.cp.async.shared.global")
def _copy_async(i: Instruction, c: Compiler) -> Step:
    target, source = i.operands[:2]
    actual = i.operands[2] if len(i.operands) > 2 else None
    size = i.attributes["size"]
    word = np.dtype(np.uint8)
    site_in = Site("cp.async", word, 1, size, i.location, c.location_id(i.location))

    def run(r, w):
        groups = _async_copies(w)
        transfer = Transfer(0, "cp.async", i.location, w, 0, size, lambda: None, done=True)
        for _, (to, start, *count) in _lanes(
            w, [r[v] for v in (target, source, *([] if actual is None else [actual]))]
        ):
            cta, offset = shared_place(w, to, i.location)
            if offset % size:
                raise SimulationError("misaligned address", f"cp.async to {offset:#x}, {size} B", i.location)
            window = _shared_window(cta, offset, size, "cp.async", i.location)
            taken = min(size, count[0]) if count else size
            if taken:
                region, at = resolve(w, start, taken, site_in)
                window[:taken] = region.data[at : at + taken]
            window[taken:size] = 0
            shadow = cta.shared.shadow
            if shadow is not None:
                chunk = slice(offset >> 4, (offset + size - 1 >> 4) + 1)
                shadow.check_async(w, chunk, i.location, "cp.async", writes=True)
                _record_copy(shadow, chunk, offset, size, groups, transfer)

    return run


def _record_copy(shadow: Any, chunk: slice, offset: int, size: int, groups: AsyncGroups, transfer: Transfer) -> None:
    shadow.fill_component[chunk] = groups.component
    shadow.fill_value[chunk] = groups.current
    shadow.fill_transfer[chunk] = shadow.remember(transfer, groups)
    shadow.readable[:, chunk] = False
    shadow.writable[:, chunk] = False
    shadow.initialised[offset : offset + size] = 255


@operation("nvvm.cp.async.commit.group")
def _commit_copies(i: Instruction, c: Compiler) -> Step:
    return lambda r, w: _async_copies(w).commit()


@operation("nvvm.cp.async.wait.group")
def _wait_copies(i: Instruction, c: Compiler) -> Step:
    allowed = i.attributes["n"]

    def run(r, w):
        groups = _async_copies(w)
        w.clock.advance(groups.component, max(0, len(groups.groups) - allowed))

    return run


@operation("nvvm.cp.async.mbarrier.arrive")
def _copies_arrive(i: Instruction, c: Compiler) -> Step:
    (address,) = i.operands
    no_increment = bool(i.attributes.get("noinc"))

    def run(r, w):
        groups = _async_copies(w)
        groups.commit()
        for lane in w.active_lanes():
            barrier = barrier_at(w, w.lane_value(r[address], lane), i.location)
            barrier.arriving.advance(groups.component, len(groups.groups))
            if not no_increment:
                # The pending count grows by one before the arrival takes it back: no net change.
                continue
            barrier.arrive(w, 1, i.location)

    return run
