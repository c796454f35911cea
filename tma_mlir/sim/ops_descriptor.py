"""Descriptors that a kernel changes: ``tensormap.replace`` in shared memory, ``tensormap.cp_fenceproxy`` out of it.

What the chip keeps in a descriptor's 128 bytes is opaque. Here they hold a mark and the number of a tensor map that the
machine keeps, so that copies of the bytes are copies of the descriptor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..hardware import DESCRIPTOR_BYTES, MAX_STRIDE_BYTES
from .compile import Compiler, Step, operation
from .engine import BoundTensorMap, TmaFault
from .errors import SimulationError
from .machine import Warp
from .memory import PARAMETER_BASE, Region, Site, load_lanes, locate, store_lanes
from .program import Instruction

WORDS = DESCRIPTOR_BYTES // 4
MARK = 0x50414D54
"""The first word of a descriptor."""


def parameter_bytes(count: int) -> Region:
    """The descriptors that are kernel parameters, numbered from 0, as memory of the kernel."""
    words = np.zeros((count, WORDS), np.uint32)
    words[:, 0] = MARK
    words[:, 2] = np.arange(count)
    return Region("the kernel's parameters", "constant", PARAMETER_BASE, words.reshape(-1).view(np.uint8))


def descriptor_in_memory(w: Warp, address: int) -> BoundTensorMap | None:
    """The tensor map of a descriptor that a kernel has put at a global address; None if there is none."""
    region, offset = locate(w, address)
    if region is None or region.kind != "global" or address % DESCRIPTOR_BYTES:
        return None
    if offset + DESCRIPTOR_BYTES > region.data.size:
        return None
    return _known(w, region.data[offset : offset + 12].view(np.uint32))


def _known(w: Warp, words: Sequence[int] | np.ndarray) -> BoundTensorMap | None:
    return w.machine.made_descriptors.get((int(words[1]), int(words[2]))) if int(words[0]) == MARK else None


def _site(i: Instruction, c: Compiler, what: str) -> Site:
    return Site(what, np.dtype(np.uint32), WORDS, DESCRIPTOR_BYTES, i.location, c.location_id(i.location))


@operation("sim.tensormap.replace")
def _replace(i: Instruction, c: Compiler) -> Step:
    address, value = i.operands
    field, ordinal = i.attributes["field"], i.attributes["ordinal"]
    site = _site(i, c, "tensormap.replace")

    def run(r, w):
        place, new = w.uniform(r[address], "descriptor", i.location), w.uniform(r[value], "new value", i.location)
        words = np.asarray(load_lanes(w, place, site)).reshape(-1)
        bound = _known(w, words)
        if bound is None:
            raise SimulationError("no descriptor", f"no tensor map at shared address {place:#x}", i.location)
        try:
            changed = _changed(bound, field, ordinal, new)
        except TmaFault as error:
            raise SimulationError(error.fault, error.message, i.location) from None
        # The same number whatever the order in which blocks run.
        w.cta.made_descriptors += 1
        words[1:3] = w.cta.number + 1, w.cta.made_descriptors
        w.machine.made_descriptors[w.cta.number + 1, w.cta.made_descriptors] = changed
        store_lanes(w, place, words[:, None], site)

    return run


def _changed(bound: BoundTensorMap, field: str, ordinal: int, value: int) -> BoundTensorMap:
    """``bound`` with one field replaced; a stride counts from 0 for dimension 1, in bytes."""
    tensor_map = bound.tensor_map
    if field == "global_address":
        if value % 16:
            raise TmaFault("misaligned address", f"new global address {value:#x} is not a multiple of 16 B")
        return BoundTensorMap(tensor_map, value)
    values: tuple[Any, ...] = tensor_map.dims if field == "global_dim" else tensor_map.strides_bytes
    if not 0 <= ordinal < len(values):
        raise TmaFault("illegal instruction", f"{field} {ordinal} of a tensor map of rank {tensor_map.rank}")
    if field == "global_dim":
        value &= 0xFFFFFFFF
    changed = (*values[:ordinal], value, *values[ordinal + 1 :])
    if field == "global_dim":
        if value == 0:
            raise TmaFault("illegal instruction", "new dimension of 0 elements")
        return BoundTensorMap(replace(tensor_map, dims=changed), bound.address)
    if value % 16 or not 0 <= value <= MAX_STRIDE_BYTES:
        raise TmaFault("illegal instruction", f"new stride {value} B is not a multiple of 16 B below 2^40")
    return BoundTensorMap(replace(tensor_map, strides_bytes=changed), bound.address)


@operation("sim.tensormap.copy")
def _copy(i: Instruction, c: Compiler) -> Step:
    target, source = i.operands
    read, write = _site(i, c, "tensormap.cp_fenceproxy"), _site(i, c, "tensormap.cp_fenceproxy")

    def run(r, w):
        if not w.all:
            raise SimulationError(
                "undefined behaviour", "tensormap.cp_fenceproxy.aligned needs all lanes of the warp", i.location
            )
        words = load_lanes(w, w.uniform(r[source], "source", i.location), read)
        store_lanes(w, w.uniform(r[target], "destination", i.location), words, write)

    return run
