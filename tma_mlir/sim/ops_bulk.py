"""1-D bulk copies, cp.async, and the groups that both are waited for in."""

from __future__ import annotations

import numpy as np

from .compile import NOT_YET, Compiler, Step, Waiter, operation, waiting
from .errors import SimulationError
from .global_shadow import Piece
from .issue import (
    barrier_at_cta,
    destinations,
    drain,
    fill,
    lanes_of,
    new_transfer,
    record_load,
    record_store,
    shared_window,
)
from .machine import Wait, Warp
from .memory import Site, resolve
from .ops_barrier import barrier_at, shared_place
from .program import Instruction
from .repeats import check_repeats
from .shadow import SharedShadow
from .transfer import AsyncGroups, Transfer, launch
from .units import unit_shift


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
        for lane, (to, start, signal, count, *mask) in lanes_of(w, [r[v] for v in (target, source, barrier, size,
                                                                              *multicast)]):  # fmt: skip
            _check_bulk(count, [to, start], "bulk load", i.location)
            if not count:
                continue
            region, at = resolve(w, start, count, site)
            places = destinations(w, to, mask[0] & 0xFFFF if mask else None, i.location)
            windows = [shared_window(cta, offset, count, "bulk load", i.location) for cta, offset in places]
            signal_cta, signal_offset = shared_place(w, signal, i.location)

            def execute(region=region, at=at, windows=windows, count=count) -> None:
                for window in windows:
                    window[:count] = region.data[at : at + count]

            transfer = new_transfer(w, lane, "bulk load", i.location, count, execute)
            first, _ = places[0]
            reported = barrier_at_cta(w, first if mask else signal_cta, signal_offset, i.location)
            record_load(w, region, [(at, (count,), (1,))], reported, transfer)
            for cta, offset in places:
                found = barrier_at_cta(w, cta if mask else signal_cta, signal_offset, i.location)
                fill(w, cta, slice(offset >> 4, offset + count >> 4), found, transfer)
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
        issues = lanes_of(w, [r[v] for v in (target, source, size, *byte_mask)])
        check_repeats(w, issues, "bulk store", False, i.location)
        for lane, (to, start, count, *mask) in issues:
            _check_bulk(count, [to, start], "bulk store", i.location)
            if not count:
                continue
            region, at = resolve(w, to, count, site)
            cta, offset = shared_place(w, start, i.location)
            window = shared_window(cta, offset, count, "bulk store", i.location)
            keep = np.tile([bool(mask[0] >> b & 1) for b in range(16)], count // 16) if mask else slice(None)

            def execute(region=region, at=at, window=window, count=count, keep=keep) -> None:
                region.data[at : at + count][keep] = window[:count][keep]

            transfer = new_transfer(w, lane, "bulk store", i.location, count, execute)
            chunks = slice(offset >> 4, offset + count >> 4)
            drain(w, lane, cta, chunks, chunks, transfer)
            record_store(w, lane, region, _stored(at, count, mask[0] if mask else None), False, transfer)
            launch(w.machine, transfer)

    return run


def _stored(at: int, count: int, byte_mask: int | None) -> list[Piece]:
    """The bytes that a bulk store of ``count`` bytes writes at offset ``at``."""
    if byte_mask is None:
        return [(at, (count,), (1,))]
    return [(at + byte, (count // 16, 1), (16, 1)) for byte in range(16) if byte_mask >> byte & 1]


@operation("nvvm.cp.async.bulk.shared.cluster.shared.cta")
def _bulk_shared(i: Instruction, c: Compiler) -> Step:
    target, source, barrier, size = i.operands

    def run(r, w):
        for lane, (to, start, signal, count) in lanes_of(w, [r[v] for v in (target, source, barrier, size)]):
            _check_bulk(count, [to, start], "bulk shared-memory copy", i.location)
            cta_to, offset_to = shared_place(w, to, i.location)
            cta_from, offset_from = shared_place(w, start, i.location)
            into = shared_window(cta_to, offset_to, count, "bulk shared-memory copy", i.location)
            out_of = shared_window(cta_from, offset_from, count, "bulk shared-memory copy", i.location)

            def execute(into=into, out_of=out_of, count=count) -> None:
                into[:count] = out_of[:count]

            transfer = new_transfer(w, lane, "bulk shared-memory copy", i.location, count, execute)
            found = barrier_at(w, signal, i.location)
            found.check_visible(w, i.location)
            chunks = slice(offset_from >> 4, offset_from + count >> 4)
            shadow = cta_from.shared.shadow
            if shadow is not None:
                taken = shadow.units.chunks(chunks)
                if not shadow.check_async(w, taken, i.location, transfer.what, writes=False):
                    shadow.check_initialised(taken, i.location, transfer.what)
                shadow.async_read(w, taken, found.component, found.phase + 1, transfer, found)
            fill(w, cta_to, slice(offset_to >> 4, offset_to + count >> 4), found, transfer)
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
    allowed, read = i.attributes["group"], bool(i.attributes.get("read"))

    def run(r, w, front):
        w.machine.bulk_waits[i.location] = None
        for lane in front.lanes:
            groups = w.groups.get(lane)
            if groups is None:
                continue
            complete = groups.complete_through(allowed)
            if complete is None:
                front.waiting = Wait(f"bulk groups of lane {lane}", i.location)
                return NOT_YET
            w.clock.advance(groups.component, complete)
            if not read:
                w.clock.advance(groups.stored, complete)
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
        targets: dict[SharedShadow, list[int]] = {}
        for _, (to, start, *count) in lanes_of(
            w, [r[v] for v in (target, source, *([] if actual is None else [actual]))]
        ):
            cta, offset = shared_place(w, to, i.location)
            if offset % size:
                raise SimulationError("misaligned address", f"cp.async to {offset:#x}, {size} B", i.location)
            window = shared_window(cta, offset, size, "cp.async", i.location)
            taken = min(size, count[0]) if count else size
            if taken:
                region, at = resolve(w, start, taken, site_in)
                window[:taken] = region.data[at : at + taken]
                if region.watch is not None:
                    region.watch.async_read(
                        w,
                        [(at, (taken,), (1,))],
                        groups.component,
                        groups.current,
                        i.location,
                        "cp.async",
                        generic=True,
                    )
            window[taken:size] = 0
            if cta.shared.shadow is not None:
                targets.setdefault(cta.shared.shadow, []).append(offset)
        for shadow, offsets in targets.items():
            units = shadow.units.places(np.array(offsets), size, unit_shift(size)).reshape(-1)
            shadow.check_async(w, units, i.location, "cp.async", writes=True, generic=True)
            shadow.async_write(w, units, groups.component, groups.current, transfer, groups, generic=True)

    return run


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
