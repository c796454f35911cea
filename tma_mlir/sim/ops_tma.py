"""Tensor copies of the TMA: loads, stores, reductions, gathers, scatters, prefetches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..hardware import REDUCTIONS
from . import engine, gather, im2col
from .compile import Compiler, Step, operation
from .errors import UnsupportedError
from .global_shadow import pieces_of
from .issue import (
    barrier_at_cta,
    box_chunks,
    descriptor_at,
    destinations,
    drain,
    fault,
    fill,
    global_region,
    lanes_of,
    new_transfer,
    record_load,
    record_store,
    shared_window,
    signalled_cta,
)
from .machine import Warp
from .ops_barrier import predicated, shared_place
from .program import Instruction
from .repeats import IDEMPOTENT, check_repeats
from .shadow import Chunks
from .swizzle import shared_chunks
from .tile_layouts import check_store
from .transfer import launch


def _box_name(bound: engine.BoundTensorMap) -> str:
    return "x".join(str(extent) for extent in bound.tensor_map.box[::-1])


def issue_load(
    w: Warp, lane: int, descriptor: int, coordinates: list[int], target: int, barrier: int, mask: int | None,
    location: str, mode: str = "tile", offsets: Sequence[int] = (), pair: bool = False,
) -> None:  # fmt: skip
    """Issue one tensor load (a tile, a gather of four rows, or im2col), to every CTA of ``mask`` if given.

    ``pair``: with ``.cta_group::2``, where each destination CTA, or its peer, is signalled by the barrier's parity.
    """
    bound = descriptor_at(w, descriptor, location)
    what = f"tensor {'gather' if mode == 'tile_gather4' else 'load'} of a {_box_name(bound)} box"
    places = destinations(w, target, mask, location)
    barrier_cta, barrier_offset = shared_place(w, barrier, location)
    read: Callable[[np.ndarray, int], np.ndarray]
    try:
        if mode == "im2col":
            tile, pixel = bound, im2col.single_pixel(bound)
            rows = im2col.pixel_windows(bound, coordinates, offsets, store=False)
            read = lambda memory, start: gather.gather_rows(pixel, rows, memory, start)  # noqa: E731
        elif mode == "tile_gather4":
            tile, rows = gather.four_rows(bound), gather.row_windows(bound, coordinates, store=False)
            read = lambda memory, start: gather.gather_rows(bound, rows, memory, start)  # noqa: E731
        else:
            engine.check_coordinates(bound, coordinates, store=False)
            tile, rows = bound, [engine.window(bound, coordinates, store=False)]
            (inside,) = rows
            read = lambda memory, start: engine.load_window(bound, inside, memory, start)  # noqa: E731
        for _, offset in places:
            engine.check_shared(tile, offset)
    except engine.TmaFault as error:
        raise fault(error, what, location) from None
    windows = [shared_window(cta, offset, tile.shared_bytes, what, location) for cta, offset in places]
    region = global_region(w, bound.address, what, location)

    def execute() -> None:
        try:
            box = read(region.data, region.base)
        except engine.TmaFault as error:
            raise fault(error, what, location) from None
        for window, (_, offset) in zip(windows, places, strict=True):
            engine.place_box(tile, box, window, offset)

    transfer = new_transfer(w, lane, what, location, tile.transaction_bytes, execute)
    transfer.swizzle = tile.swizzle_bits
    transfer.shared_region = places[0][0].shared_symbol(places[0][1])
    signalled = [signalled_cta(cta, barrier_cta, location, multicast=mask is not None, pair=pair) for cta, _ in places]
    barriers = [barrier_at_cta(w, cta, barrier_offset, location) for cta in signalled]
    record_load(w, region, pieces_of(region, rows), barriers[0], transfer)
    for (cta, offset), target_barrier in zip(places, barriers, strict=True):
        fill(w, cta, box_chunks(tile, offset), target_barrier, transfer)
        transfer.targets.append((target_barrier, tile.transaction_bytes))
        target_barrier.issued(transfer, tile.transaction_bytes)
    launch(w.machine, transfer)


def issue_store(
    w: Warp, lane: int, descriptor: int, coordinates: list[int], source: int, reduction: str | None, location: str
) -> None:
    """Issue one tensor tile store or reduction into the thread's open bulk group."""
    bound = descriptor_at(w, descriptor, location)
    what = f"tensor {'reduction' if reduction else 'store'} of a {_box_name(bound)} box"
    cta, offset = shared_place(w, source, location)
    try:
        engine.check_coordinates(bound, coordinates, store=True)
        engine.check_shared(bound, offset)
        inside = engine.window(bound, coordinates, store=True)
        if reduction is not None and reduction not in REDUCTIONS.get(bound.tensor_map.data_type, ()):
            raise engine.TmaFault(
                "illegal instruction", f"{reduction} of {bound.tensor_map.data_type} does not execute"
            )
    except engine.TmaFault as error:
        raise fault(error, what, location) from None
    window = shared_window(cta, offset, bound.shared_bytes, what, location)
    region = global_region(w, bound.address, what, location)
    tail = engine.clipped_tail_bytes(bound, coordinates) if inside is not None else 0
    if tail:
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
            raise fault(error, what, location) from None

    transfer = new_transfer(w, lane, what, location, bound.transaction_bytes, execute)
    transfer.shared_region = cta.shared_symbol(offset)
    chunks = box_chunks(bound, offset)
    drain(w, lane, cta, chunks, _window_chunks(bound, chunks, inside, tail), transfer)
    check_store(w, cta, chunks, bound.swizzle_bits, what, location)
    record_store(w, lane, region, pieces_of(region, [inside]), reduction is not None, transfer)
    launch(w.machine, transfer)


def issue_scatter(
    w: Warp, lane: int, descriptor: int, coordinates: list[int], source: int, mode: str, location: str
) -> None:
    """Issue one store of rows, a scatter of four or im2col, into the thread's open bulk group."""
    bound = descriptor_at(w, descriptor, location)
    what = f"tensor {'scatter' if mode == 'tile_scatter4' else 'im2col store'} of a {_box_name(bound)} box"
    cta, offset = shared_place(w, source, location)
    try:
        if mode == "im2col":
            tile, row, rows = (
                bound,
                im2col.single_pixel(bound),
                im2col.pixel_windows(bound, coordinates, (), store=True),
            )
        else:
            tile, row, rows = gather.four_rows(bound), bound, gather.row_windows(bound, coordinates, store=True)
        engine.check_shared(tile, offset)
    except engine.TmaFault as error:
        raise fault(error, what, location) from None
    window = shared_window(cta, offset, tile.shared_bytes, what, location)
    region = global_region(w, bound.address, what, location)

    def execute() -> None:
        try:
            gather.scatter_rows(row, rows, engine.take_box(tile, window, offset), region.data, region.base)
        except engine.TmaFault as error:
            raise fault(error, what, location) from None

    transfer = new_transfer(w, lane, what, location, tile.transaction_bytes, execute)
    transfer.shared_region = cta.shared_symbol(offset)
    chunks = box_chunks(tile, offset)
    drain(w, lane, cta, chunks, chunks, transfer)
    check_store(w, cta, chunks, tile.swizzle_bits, what, location)
    record_store(w, lane, region, pieces_of(region, rows), False, transfer)
    launch(w.machine, transfer)


def _window_chunks(
    bound: engine.BoundTensorMap, chunks: Chunks, inside: engine.Window | None, tail: int
) -> Chunks | None:
    """The chunks that hold nothing but elements of the tensor; ``tail`` bytes of the window lie past its end."""
    if inside is None:
        return None
    if not tail and inside.shape == (*bound.counts[::-1], bound.inner_bytes):
        return chunks
    numbers = np.arange(chunks.start, chunks.stop) if isinstance(chunks, slice) else chunks
    if isinstance(chunks, slice) and bound.swizzle_bits:
        numbers = shared_chunks(
            bound.rows, bound.inner_bytes, bound.pitch_bytes, bound.swizzle_bits, chunks.start * 16 % 1024
        )
        numbers = numbers + chunks.start
    rows = numbers.reshape(*bound.counts[::-1], bound.inner_bytes // 16)
    *outer, inner = inside.box_slices
    return rows[(*outer, slice(inner.start // 16, (inner.stop - tail) // 16))].reshape(-1)


def _mode(i: Instruction, tile: str = "tile") -> str:
    text = str(i.attributes.get("mode", tile))
    return text[text.rfind("<") + 1 :].rstrip(">")


@operation("nvvm.cp.async.bulk.tensor.shared.cluster.global")
def _tensor_load(i: Instruction, c: Compiler) -> Step:
    target, descriptor = i.group(0)[0], i.group(1)[0]
    coordinates, barrier, offsets = i.group(2), i.group(3)[0], i.group(4)
    multicast, predicate = i.group(5), i.group(7)
    mode = _mode(i)
    if mode not in ("tile", "tile_gather4", "im2col"):
        raise UnsupportedError(f"{i.name} in mode {mode}", i.location)
    pair = "cta_2" in str(i.attributes.get("group", ""))

    def run(r, w):
        values = [r[v] for v in (target, descriptor, barrier, *coordinates, *offsets, *multicast)]
        for lane, (to, at, signal, *rest) in lanes_of(w, values):
            mask = rest.pop() & 0xFFFF if multicast else None
            place, shift = rest[: len(coordinates)], rest[len(coordinates) :]
            issue_load(w, lane, at, place, to, signal, mask, i.location, mode, shift, pair)

    return predicated(i, predicate[0] if predicate else None, run)


@operation("nvvm.cp.async.bulk.tensor.global.shared.cta")
def _tensor_store(i: Instruction, c: Compiler) -> Step:
    descriptor, source, coordinates, predicate = i.group(0)[0], i.group(1)[0], i.group(2), i.group(4)
    mode = _mode(i)
    if mode not in ("tile", "tile_scatter4", "im2col"):
        raise UnsupportedError(f"{i.name} in mode {mode}", i.location)

    def run(r, w):
        issues = lanes_of(w, [r[v] for v in (descriptor, source, *coordinates)])
        check_repeats(w, issues, "tensor store", False, i.location)
        for lane, (at, start, *rest) in issues:
            if mode != "tile":
                issue_scatter(w, lane, at, rest, start, mode, i.location)
            else:
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
        issues = lanes_of(w, [r[v] for v in (descriptor, source, *coordinates)])
        check_repeats(w, issues, f"tensor reduction ({kind})", kind not in IDEMPOTENT, i.location)
        for lane, (at, start, *rest) in issues:
            issue_store(w, lane, at, rest, start, kind, i.location)

    return run


@operation("nvvm.cp.async.bulk.tensor.prefetch")
def _tensor_prefetch(i: Instruction, c: Compiler) -> Step:
    descriptor, coordinates, offsets = i.group(0)[0], i.group(1), i.group(2)
    mode = _mode(i)
    if mode not in ("tile", "tile_gather4", "im2col"):
        raise UnsupportedError(f"{i.name} in mode {mode}", i.location)

    def run(r, w):
        for _, (at, *rest) in lanes_of(w, [r[v] for v in (descriptor, *coordinates, *offsets)]):
            bound = descriptor_at(w, at, i.location)
            try:
                if mode == "tile_gather4":
                    gather.row_windows(bound, rest, store=False)
                elif mode == "im2col":
                    im2col.pixel_windows(bound, rest[: len(coordinates)], rest[len(coordinates) :], store=False)
                else:
                    engine.check_coordinates(bound, rest, store=False)
            except engine.TmaFault as error:
                raise fault(error, "tensor prefetch", i.location) from None

    return run
