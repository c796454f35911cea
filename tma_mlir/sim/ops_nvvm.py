"""Special registers, warp-wide operations and small NVVM operations without asynchronous meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import NOT_YET, Compiler, Step, Waiter, operation, waiting
from .convergence import ALL_LANES, converged, mask_lanes
from .errors import SimulationError, UnsupportedError
from .machine import LANE_IDS, Warp
from .memory import LANES, RANK_SHIFT, SHARED_WINDOW
from .ops_integer import wrapper
from .program import Instruction

AXES = {"x": 0, "y": 1, "z": 2}


def _launch_value(name: str, w: Warp) -> Any:
    """A ``nvvm.read.ptx.sreg.<name>`` that is fixed while the warp lives."""
    machine, cta = w.machine, w.cta
    stem, _, axis = name.rpartition(".")
    if axis in AXES and stem:
        k = AXES[axis]
        grid, shape = machine.grid, machine.cluster_shape
        if stem == "tid":
            return thread_index(w, k)
        values = {
            "ntid": machine.block[k],
            "ctaid": cta.block_id[k],
            "nctaid": grid[k],
            "cluster.ctaid": cta.block_id[k] % shape[k],
            "cluster.nctaid": shape[k],
            "clusterid": cta.block_id[k] // shape[k],
            "nclusterid": grid[k] // shape[k],
        }
        return values[stem]
    values = {
        "laneid": lambda: LANE_IDS,
        "warpid": lambda: w.number,
        "nwarpid": lambda: cta.warps_per_cta,
        "warpsize": lambda: LANES,
        "cluster.ctarank": lambda: cta.rank,
        "cluster.nctarank": lambda: cta.cluster.size,
        "smid": lambda: 0,
        "nsmid": lambda: 1,
        "gridid": lambda: 0,
        "dynamic.smem.size": lambda: machine.dynamic_shared_bytes,
        "total.smem.size": lambda: machine.shared_bytes,
        "aggr.smem.size": lambda: machine.shared_bytes,
        "lanemask.eq": lambda: (1 << LANE_IDS.astype(np.int64)).astype(np.int32),
        "lanemask.lt": lambda: ((1 << LANE_IDS.astype(np.int64)) - 1).astype(np.int32),
        "lanemask.le": lambda: ((2 << LANE_IDS.astype(np.int64)) - 1).astype(np.int32),
        "lanemask.gt": lambda: (~((2 << LANE_IDS.astype(np.int64)) - 1)).astype(np.int32),
        "lanemask.ge": lambda: (~((1 << LANE_IDS.astype(np.int64)) - 1)).astype(np.int32),
    }
    return values[name]()


def thread_index(w: Warp, axis: int) -> Any:
    """``tid`` along an axis, an int where all lanes agree."""
    x, y, _ = w.machine.block
    linear = w.number * LANES + LANE_IDS
    value = (linear % x, linear // x % y, linear // (x * y))[axis].astype(np.int32)
    return int(value[0]) if (value == value[0]).all() else value


_FIXED = [
    f"nvvm.read.ptx.sreg.{stem}.{axis}"
    for stem in ("tid", "ntid", "ctaid", "nctaid", "cluster.ctaid", "cluster.nctaid", "clusterid", "nclusterid")
    for axis in "xyz"
] + [
    f"nvvm.read.ptx.sreg.{name}"
    for name in ("laneid", "warpid", "nwarpid", "warpsize", "cluster.ctarank", "cluster.nctarank", "smid", "nsmid",
                 "gridid", "dynamic.smem.size", "total.smem.size", "aggr.smem.size", "lanemask.eq", "lanemask.lt",
                 "lanemask.le", "lanemask.gt", "lanemask.ge")
]  # fmt: skip


@operation(*_FIXED)
def _special_register(i: Instruction, c: Compiler) -> Step:
    name = i.name[len("nvvm.read.ptx.sreg.") :]
    wide = c.type(i.results[0]).bits == 64

    def run(r, w):
        value = _launch_value(name, w)
        return value.astype(np.int64) if wide and isinstance(value, np.ndarray) else value

    return run


@operation("nvvm.read.ptx.sreg.clock", "nvvm.read.ptx.sreg.clock64", "nvvm.read.ptx.sreg.globaltimer",
           "nvvm.read.ptx.sreg.globaltimer.lo")  # fmt: skip
def _clock(i: Instruction, c: Compiler) -> Step:
    wrap = wrapper(c.type(i.results[0]).bits)
    return lambda r, w: wrap(w.machine.steps)


@operation("nvvm.setmaxregister", "nvvm.nanosleep", "nvvm.prefetch", "nvvm.pmevent", "nvvm.griddepcontrol",
           "nvvm.cp.async.bulk.prefetch", "nvvm.fence.proxy.acquire", "nvvm.fence.proxy.release",
           "nvvm.fence.sync_restrict", "nvvm.fence.proxy.sync_restrict")  # fmt: skip
def _no_effect(i: Instruction, c: Compiler) -> Step:
    return lambda r, w: None


@operation("nvvm.mapa")
def _map_address(i: Instruction, c: Compiler) -> Step:
    address, rank = i.operands
    generic = c.type(address).space == 0

    def run(r, w):
        target = r[rank]
        base = r[address] - SHARED_WINDOW if generic else r[address]
        offset = base & ((1 << RANK_SHIFT) - 1)
        if isinstance(target, np.ndarray):
            target = target.astype(np.int64)
        result = ((target + 1) << RANK_SHIFT) + offset
        return result + SHARED_WINDOW if generic else result

    return run


@waiting("nvvm.elect.sync")
def _elect(i: Instruction, c: Compiler) -> Waiter:
    c.elected.add(i.results[0])
    mask = i.operands[0] if i.operands else None
    paired = c.type(i.results[0]).kind == "struct"

    def run(r, w, front):
        wanted = ALL_LANES if mask is None else mask_lanes(w.uniform(r[mask], "member mask", i.location))
        if not converged(w, front, wanted, "elect.sync", i.location):
            return NOT_YET
        candidates = wanted & front.mask
        leader = int(candidates.argmax())
        w.machine.note_election(w, leader, i.location)
        chosen = leader == LANE_IDS
        return (leader, chosen) if paired else chosen

    return run


@waiting("nvvm.bar.warp.sync")
def _warp_barrier(i: Instruction, c: Compiler) -> Waiter:
    (mask,) = i.operands

    def run(r, w, front):
        wanted = mask_lanes(w.uniform(r[mask], "member mask", i.location))
        if not converged(w, front, wanted, "bar.warp.sync", i.location):
            return NOT_YET
        w.release()
        return None

    return run


@waiting("nvvm.shfl.sync")
def _shuffle(i: Instruction, c: Compiler) -> Waiter:
    mask, value, offset, clamp = i.operands
    kind = str(i.attributes["kind"])
    paired = bool(i.attributes.get("return_value_and_is_valid"))
    lanes = LANE_IDS.astype(np.int64)

    def run(r, w, front):
        wanted = mask_lanes(w.uniform(r[mask], "member mask", i.location))
        if not converged(w, front, wanted, "shfl.sync", i.location):
            return NOT_YET
        packed = np.asarray(r[clamp], np.int64)
        bound, segment = packed & 31, packed >> 8 & 31
        step = np.asarray(r[offset], np.int64) & 31
        lowest = lanes & segment
        highest = lowest | (bound & ~segment)
        if "bfly" in kind:
            source = lanes ^ step
            valid = source <= highest
        elif "up" in kind:
            source = lanes - step
            valid = source >= highest
        elif "down" in kind:
            source = lanes + step
            valid = source <= highest
        else:
            source = lowest | (step & ~segment)
            valid = source <= highest
        source = np.where(valid, source, lanes)
        spread = np.broadcast_to(r[value], (LANES,))
        result = spread[source]
        return (result, valid) if paired else result

    return run


@waiting("nvvm.vote.sync")
def _vote(i: Instruction, c: Compiler) -> Waiter:
    mask, predicate = i.operands
    kind = str(i.attributes["kind"])

    def run(r, w, front):
        wanted = mask_lanes(w.uniform(r[mask], "member mask", i.location))
        if not converged(w, front, wanted, "vote.sync", i.location):
            return NOT_YET
        voters = wanted & front.mask
        votes = np.broadcast_to(r[predicate], (LANES,)) & voters
        if "ballot" in kind:
            return wrapper(32)(int((votes.astype(np.int64) << LANE_IDS.astype(np.int64)).sum()))
        if "any" in kind:
            return bool(votes.any())
        if "uni" in kind:
            return bool((votes == voters).all() or not votes.any())
        return bool((votes == voters).all())

    return run


@waiting("nvvm.redux.sync")
def _warp_reduce(i: Instruction, c: Compiler) -> Waiter:
    value, mask = i.operands
    kind = str(i.attributes["kind"])
    table = {"add": np.add, "umax": np.maximum, "umin": np.minimum, "max": np.maximum, "min": np.minimum,
             "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "fmin": np.fmin,
             "fmax": np.fmax}  # fmt: skip
    name = next((n for n in sorted(table, key=len, reverse=True) if f"<{n}>" in kind or f" {n}" in kind), None)
    if name is None:
        raise UnsupportedError(f"nvvm.redux.sync {kind}", i.location)
    apply, signed = table[name], not name.startswith("u")
    dtype = c.type(i.results[0]).dtype

    def run(r, w, front):
        wanted = mask_lanes(w.uniform(r[mask], "member mask", i.location))
        if not converged(w, front, wanted, "redux.sync", i.location):
            return NOT_YET
        lanes = np.broadcast_to(np.asarray(r[value], dtype), (LANES,))[wanted & front.mask]
        if not signed:
            lanes = np.ascontiguousarray(lanes).view(np.uint32)
        result = np.asarray(apply.reduce(lanes)).astype(lanes.dtype).view(dtype)
        return result[()] if result.dtype.kind != "i" else int(result)

    return run


@waiting("nvvm.match.sync")
def _match(i: Instruction, c: Compiler) -> Waiter:
    mask, value = i.operands
    every = "all" in str(i.attributes["kind"])

    def run(r, w, front):
        wanted = mask_lanes(w.uniform(r[mask], "member mask", i.location))
        if not converged(w, front, wanted, "match.sync", i.location):
            return NOT_YET
        lanes = np.broadcast_to(r[value], (LANES,))
        member = wanted & front.mask
        same = (lanes[:, None] == lanes[None, :]) & member[None, :]
        weights = 1 << LANE_IDS.astype(np.int64)
        if every:
            agreed = bool((lanes[member] == lanes[member][0]).all())
            bits = wrapper(32)(int((weights * member).sum())) if agreed else 0
            return (bits, agreed)
        return (same * weights[None, :]).sum(axis=1).astype(np.uint32).view(np.int32)

    return run


@operation("nvvm.prmt")
def _permute(i: Instruction, c: Compiler) -> Step:
    if "default" not in str(i.attributes.get("mode", "default")):
        raise UnsupportedError(f"nvvm.prmt {i.attributes['mode']}", i.location)
    low, *rest = i.operands
    high, selector = (rest[0], rest[1]) if len(rest) == 2 else (low, rest[0])

    def one(a: int, b: int, s: int) -> int:
        source = [(a >> 8 * k) & 255 for k in range(4)] + [(b >> 8 * k) & 255 for k in range(4)]
        result = 0
        for k in range(4):
            nibble = (s >> 4 * k) & 15
            byte = source[nibble & 7]
            result |= ((255 if byte & 128 else 0) if nibble & 8 else byte) << 8 * k
        return wrapper(32)(result)

    def run(r, w):
        values = [r[low], r[high], r[selector]]
        if any(isinstance(v, np.ndarray) for v in values):
            lanes = [np.broadcast_to(v, (LANES,)) for v in values]
            return np.array([one(*(int(x) & 0xFFFFFFFF for x in t)) for t in zip(*lanes, strict=True)], np.int32)
        return one(*(int(v) & 0xFFFFFFFF for v in values))

    return run


@operation("nvvm.convert.float.to.tf32")
def _to_tf32(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands

    def run(r, w):
        words = np.asarray(r[x], np.float32).view(np.uint32)
        if "rna" in str(i.attributes.get("rnd", "")):
            rounded = (words + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
        else:
            rounded = (words + np.uint32(0x0FFF) + ((words >> 13) & 1)) & np.uint32(0xFFFFE000)
        result = np.asarray(rounded, np.uint32).view(np.int32)
        return result if result.ndim else int(result)

    return run


@operation("llvm.intr.trap", "llvm.intr.debugtrap", "llvm.intr.ubsantrap", "nvvm.breakpoint")
def _trap(i: Instruction, c: Compiler) -> Step:
    def run(r, w):
        raise SimulationError("trap", f"{w.describe()} traps", i.location)

    return run


@operation("llvm.call")
def _call(i: Instruction, c: Compiler) -> Step:
    from .ops_float import device_function
    from .reference_copy import reference_call

    name = i.attributes.get("callee")
    if name is None:
        raise UnsupportedError("indirect call", i.location)
    callee = c.callee(name)
    if callee is not None and "tile.reference_copy" in callee.attributes:
        return reference_call(callee.attributes["tile.reference_copy"], i)
    if name.startswith("__nv_"):
        return device_function(name, i, c)
    raise UnsupportedError(f"call of external @{name}", i.location)
