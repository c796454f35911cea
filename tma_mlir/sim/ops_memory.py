"""Loads, stores and atomics of the LLVM dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..abi.types import Type
from .compile import Compiler, Step, operation
from .errors import UnsupportedError
from .memory import LANES, Site, load_lanes, resolve, store_lanes
from .ops_integer import unsigned, wrapper
from .ordering import NARROW_SCOPES, RELEASING, Location, acquire, is_far, location_at, release
from .program import Instruction


def _leaves(kind: Type, offset: int = 0) -> Iterator[tuple[Type, int]]:
    """Scalars and vectors of a type in memory order, with byte offsets."""
    if kind.kind == "struct":
        for field, start in zip(kind.fields, kind.offsets, strict=True):
            yield from _leaves(field, offset + start)
    elif kind.kind == "array":
        for index in range(kind.count):
            yield from _leaves(kind.element, offset + index * kind.element.stride)
    else:
        yield kind, offset


def _is_strong(i: Instruction) -> bool:
    """Atomic (not ``unordered``, which does not synchronise) or volatile."""
    return i.attributes.get("ordering", 0) not in (0, 1) or bool(i.attributes.get("volatile_"))


def site_of(i: Instruction, c: Compiler, kind: Type, name: str) -> Site:
    """The access site of a scalar or vector of type ``kind``."""
    if kind.dtype is None or kind.dtype == object:
        raise UnsupportedError(f"{i.name} of this type", i.location)
    count = kind.count if kind.kind == "vector" else 1
    alignment = i.attributes.get("alignment") or kind.align
    # MLIR begins the compare-and-swap loop of memref.generic_atomic_rmw with a plain load, which may read anything.
    strong = _is_strong(i) or (name == "load" and i.operands[0] in c.exchanged)
    return Site(name, kind.dtype, count, int(alignment), i.location, c.location_id(i.location), strong)


@operation("llvm.load")
def _load(i: Instruction, c: Compiler) -> Step:
    (address,) = i.operands
    kind = c.type(i.results[0])
    if kind.is_aggregate:
        sites = [(site_of(i, c, leaf, "load"), offset) for leaf, offset in _leaves(kind)]

        def load_all(r, w):
            base = r[address]
            return _nest(kind, iter([load_lanes(w, base + offset, site) for site, offset in sites]))

        return load_all
    site = site_of(i, c, kind, "load")
    if kind.bits == 1:
        byte = Site("load", np.dtype(np.uint8), site.count, 1, site.location, site.location_id)

        def load_bool(r, w):
            value = load_lanes(w, r[address], byte)
            return (value & 1) != 0 if isinstance(value, np.ndarray) else bool(int(value) & 1)

        return load_bool
    if site.strong:

        def load_flag(r, w):
            for location in _locations(w, r[address], site):
                acquire(w, location)
            w.poll(site.location)
            return load_lanes(w, r[address], site)

        return load_flag
    return lambda r, w: load_lanes(w, r[address], site)


def _nest(kind: Type, leaves: Iterator[Any]) -> Any:
    if kind.kind == "struct":
        return tuple(_nest(f, leaves) for f in kind.fields)
    if kind.kind == "array":
        return tuple(_nest(kind.element, leaves) for _ in range(kind.count))
    return next(leaves)


def _flat(kind: Type, value: Any) -> Iterator[Any]:
    if kind.kind == "struct":
        for field, item in zip(kind.fields, value, strict=True):
            yield from _flat(field, item)
    elif kind.kind == "array":
        for item in value:
            yield from _flat(kind.element, item)
    else:
        yield value


@operation("llvm.store")
def _store(i: Instruction, c: Compiler) -> Step:
    value, address = i.operands
    kind = c.type(value)
    if kind.is_aggregate:
        sites = [(site_of(i, c, leaf, "store"), offset) for leaf, offset in _leaves(kind)]

        def store_all(r, w):
            base = r[address]
            for (site, offset), item in zip(sites, _flat(kind, r[value]), strict=True):
                store_lanes(w, base + offset, item, site)

        return store_all
    site = site_of(i, c, kind, "store")
    if site.strong:
        releasing, far = i.attributes.get("ordering", 0) in RELEASING, is_far(i.attributes.get("syncscope", ""))

        def store_flag(r, w):
            store_lanes(w, r[address], r[value], site)
            for location in _locations(w, r[address], site):
                release(w, location, releasing, far)
            w.release()
            w.cluster.event += 1

        return store_flag
    return lambda r, w: store_lanes(w, r[address], r[value], site)


def _locations(w: Any, address: Any, site: Site) -> list[Location]:
    """The synchronisation locations of the active lanes' addresses; none without checks."""
    if not w.machine.check:
        return []
    places = {int(address)} if not isinstance(address, np.ndarray) else set(address[w.mask].tolist())
    return [location_at(*resolve(w, place, site.size, site)) for place in sorted(places)]


def _atomic_function(name: str, kind: Type):
    """``new = f(old, operand)`` on Python or NumPy scalars."""
    bits = kind.bits or 32
    wrap, mask = wrapper(bits), (1 << bits) - 1

    def u(value: int) -> int:
        return int(value) & mask

    table = {
        "xchg": lambda old, v: v,
        "add": lambda old, v: wrap(int(old) + int(v)),
        "sub": lambda old, v: wrap(int(old) - int(v)),
        "_and": lambda old, v: int(old) & int(v),
        "nand": lambda old, v: ~(int(old) & int(v)),
        "_or": lambda old, v: int(old) | int(v),
        "_xor": lambda old, v: int(old) ^ int(v),
        "max": max,
        "min": min,
        "umax": lambda old, v: wrap(max(u(old), u(v))),
        "umin": lambda old, v: wrap(min(u(old), u(v))),
        "fadd": lambda old, v: old + v,
        "fsub": lambda old, v: old - v,
        "fmax": max,
        "fmin": min,
        "uinc_wrap": lambda old, v: wrap(0 if u(old) >= u(v) else u(old) + 1),
        "udec_wrap": lambda old, v: wrap(u(v) if u(old) == 0 or u(old) > u(v) else u(old) - 1),
    }
    return table[name]


ATOMIC_OPERATIONS = (
    "xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin", "fadd", "fsub", "fmax", "fmin",
    "uinc_wrap", "udec_wrap",
)  # fmt: skip
"""``LLVM::AtomicBinOp`` in enum order."""


BY_COMPARE_AND_SWAP = ("nand", "fsub", "fmax", "fmin")


def _is_relaxed(operation_name: str, kind: Type) -> bool:
    """Whether LLVM emits one ``atom`` or ``red``, which is relaxed whatever ordering the operation asks for (LLVM 22's
    NVPTX: ``atomicrmw acq_rel`` and ``monotonic`` give the same PTX). It keeps the ordering of the loops of
    compare-and-swap that other operations and narrow integers become."""
    return operation_name not in BY_COMPARE_AND_SWAP and (kind.kind == "float" or kind.bits >= 32)


@operation("llvm.atomicrmw")
def _atomic(i: Instruction, c: Compiler) -> Step:
    address, operand = i.operands
    kind = c.type(operand)
    site = site_of(i, c, kind, "atomic")
    name = ATOMIC_OPERATIONS[i.attributes["bin_op"]]
    apply = _atomic_function(name, kind)
    ordering = 0 if _is_relaxed(name, kind) else i.attributes["ordering"]
    return _lane_by_lane(i, address, kind, site, lambda old, r, w, lane: apply(old, _lane(r[operand], lane)), ordering)


@operation("llvm.cmpxchg")
def _compare_exchange(i: Instruction, c: Compiler) -> Step:
    address, expected, new = i.operands
    kind = c.type(expected)
    site = site_of(i, c, kind, "atomic")
    step = _lane_by_lane(
        i,
        address,
        kind,
        site,
        lambda old, r, w, lane: _lane(r[new], lane) if old == _lane(r[expected], lane) else old,
        i.attributes["success_ordering"],
    )

    def run(r, w):
        old = step(r, w)
        return (old, np.equal(old, r[expected]))

    return run


def _lane(value: Any, lane: int) -> Any:
    return value[lane] if isinstance(value, np.ndarray) else value


def _lane_by_lane(i: Instruction, address: int, kind: Type, site: Site, update, ordering: int) -> Step:
    """One read-modify-write a lane, in lane order; the old values."""
    releasing, far = ordering in RELEASING, is_far(i.attributes.get("syncscope", ""))

    def run(r, w):
        result = np.zeros(LANES, kind.dtype)
        where = r[address]
        changes = w.machine.changes
        locations = _locations(w, where, site)
        for location in locations:
            acquire(w, location)
        for lane in w.active_lanes():
            region, offset = resolve(w, int(_lane(where, lane)), site.size, site)
            view = region.view(site.dtype)
            index = offset >> site.shift
            old = view[index]
            result[lane] = old
            checks = region.checks
            if checks is not None:
                checks.generic_update(w, offset, site, lane)
            view[index] = update(old, r, w, lane)
            w.machine.changes += view[index].tobytes() != result[lane].tobytes()
        for location in locations:
            release(w, location, releasing, far)
        w.release()
        if w.machine.changes == changes:
            w.poll(site.location)
        return result

    return run


@operation("llvm.fence", "nvvm.memory.barrier", "nvvm.fence.sc.cluster")
def _fence(i: Instruction, c: Compiler) -> Step:
    scope = i.attributes.get("syncscope", "") if i.name == "llvm.fence" else str(i.attributes.get("scope", "gpu"))
    narrow = i.name == "nvvm.fence.sc.cluster" or re.sub(r".*<(\w+)>", r"\1", scope) in NARROW_SCOPES

    def run(r, w):
        w.clock.publish(not narrow)
        w.release()

    return run


@operation("llvm.intr.memset", "llvm.intr.memset.inline")
def _memset(i: Instruction, c: Compiler) -> Step:
    address, value = i.operands[0], i.operands[1]
    site = Site("memset", np.dtype(np.uint8), 1, 1, i.location, c.location_id(i.location))
    length = i.operands[2] if len(i.operands) > 2 else None
    fixed = i.attributes.get("len")

    def run(r, w):
        size = w.uniform(r[length], "memset length", i.location) if length is not None else int(fixed)  # type: ignore[arg-type]
        byte = unsigned(r[value], 8)
        for offset in range(size):
            store_lanes(w, r[address] + offset, byte, site)

    return run


@operation("llvm.intr.memcpy", "llvm.intr.memmove", "llvm.intr.memcpy.inline")
def _memcpy(i: Instruction, c: Compiler) -> Step:
    target, source = i.operands[0], i.operands[1]
    site_in = Site("memcpy", np.dtype(np.uint8), 1, 1, i.location, c.location_id(i.location))
    site_out = Site("memcpy", np.dtype(np.uint8), 1, 1, i.location, c.location_id(i.location))
    length = i.operands[2] if len(i.operands) > 2 else None
    fixed = i.attributes.get("len")

    def run(r, w):
        size = w.uniform(r[length], "memcpy length", i.location) if length is not None else int(fixed)  # type: ignore[arg-type]
        values = [load_lanes(w, r[source] + offset, site_in) for offset in range(size)]
        for offset, value in enumerate(values):
            store_lanes(w, r[target] + offset, value, site_out)

    return run
