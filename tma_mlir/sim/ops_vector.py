"""Vector values: arrays ``[elements, lanes]`` (one lane where the value is uniform)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..abi.types import Type
from .compile import Compiler, Step, operation
from .errors import UnsupportedError
from .memory import LANES
from .ops_llvm import zero
from .program import Instruction


def scalar_of(row: np.ndarray) -> Any:
    """A vector's row as a lane value: uniform rows become Python or NumPy scalars."""
    if row.shape[0] != 1:
        return row
    value = row[0]
    if row.dtype.kind == "i":
        return int(value)
    return bool(value) if row.dtype.kind == "b" else value


@operation("llvm.extractelement")
def _extract(i: Instruction, c: Compiler) -> Step:
    vector, position = i.operands
    index = c.constant(position)
    if index is not None:
        return lambda r, w: scalar_of(r[vector][index])

    def run(r, w):
        at = r[position]
        if isinstance(at, np.ndarray):
            lanes = np.broadcast_to(r[vector], (r[vector].shape[0], LANES))
            return lanes[np.clip(at, 0, lanes.shape[0] - 1), np.arange(LANES)]
        return scalar_of(r[vector][at])

    return run


@operation("llvm.insertelement")
def _insert(i: Instruction, c: Compiler) -> Step:
    vector, value, position = i.operands

    def run(r, w):
        old, new, at = r[vector], r[value], r[position]
        spread = isinstance(new, np.ndarray) or isinstance(at, np.ndarray)
        result = np.repeat(old, LANES, axis=1) if spread and old.shape[1] == 1 else old.copy()
        if isinstance(at, np.ndarray):
            result[np.clip(at, 0, result.shape[0] - 1), np.arange(LANES)] = new
        else:
            result[at] = new
        return result

    return run


@operation("llvm.shufflevector")
def _shuffle(i: Instruction, c: Compiler) -> Step:
    x, y = i.operands
    mask = [max(0, m) for m in i.attributes["mask"]]

    def run(r, w):
        a, b = r[x], r[y]
        if a.shape[1] != b.shape[1]:
            a, b = (np.broadcast_to(v, (v.shape[0], LANES)) for v in (a, b))
        return np.concatenate([a, b])[mask]

    return run


def reinterpret(value: Any, source: Type, target: Type) -> Any:
    """Bitcast between scalars and vectors of the same total size."""
    if source.kind != "vector":
        array = np.asarray(value, source.dtype)
        rows = array.reshape(1, -1)
    else:
        rows = value
    # Lane-major bytes, so that elements of one lane are neighbours.
    lanes = np.ascontiguousarray(rows.T).view(target.dtype)  # type: ignore[arg-type]
    result = np.ascontiguousarray(lanes.T)
    if target.kind == "vector":
        return result
    return scalar_of(result[0])


@operation("llvm.bitcast")
def _bitcast(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    source, target = c.type(x), c.type(i.results[0])
    if source.kind == "ptr" or source == target:
        return lambda r, w: r[x]
    if 1 in (source.bits, target.bits) and source.bits != target.bits:
        if target.kind == "int" and source.kind == "vector":
            weights = (1 << np.arange(source.count, dtype=np.int64))[:, None]
            return lambda r, w: scalar_of((r[x] * weights).sum(axis=0).astype(target.dtype))
        raise UnsupportedError("llvm.bitcast of i1 vectors", i.location)
    return lambda r, w: reinterpret(r[x], source, target)


_REDUCTIONS = {
    "add": np.add, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "smax": np.maximum, "smin": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "fmaximum": np.maximum,
    "fminimum": np.minimum, "fadd": np.add, "fmul": np.multiply,
}  # fmt: skip


@operation(*(f"llvm.intr.vector.reduce.{name}" for name in _REDUCTIONS))
def _reduce(i: Instruction, c: Compiler) -> Step:
    name = i.name.rsplit(".", 1)[1]
    apply = _REDUCTIONS[name]
    starts = name in ("fadd", "fmul")
    start, vector = (i.operands[0], i.operands[1]) if starts else (None, i.operands[0])
    dtype = c.type(i.results[0]).dtype

    def run(r, w):
        value = r[vector]
        result = value[0]
        for row in value[1:]:
            result = apply(result, row)
        if start is not None:
            result = np.atleast_1d(apply(r[start], result))
        return scalar_of(result.astype(dtype))

    return run


@operation("llvm.intr.masked.load")
def _masked_load(i: Instruction, c: Compiler) -> Step:
    from .memory import Site, load_lanes

    address, mask, passthrough = i.operands[0], i.operands[1], i.operands[2] if len(i.operands) > 2 else None
    kind = c.type(i.results[0])
    assert kind.dtype is not None
    site = Site("load", kind.dtype, 1, kind.dtype.itemsize, i.location, c.location_id(i.location))
    nothing = zero(kind)
    step = kind.dtype.itemsize

    def run(r, w):
        wanted = np.broadcast_to(r[mask], (kind.count, LANES))
        result = np.array(np.broadcast_to(r[passthrough] if passthrough is not None else nothing, (kind.count, LANES)))
        with w.narrowed() as narrow:
            for row in range(kind.count):
                if narrow(wanted[row]):
                    value = load_lanes(w, r[address] + row * step, site)
                    result[row] = np.where(w.mask, value, result[row])
        return result

    return run


@operation("llvm.intr.masked.store")
def _masked_store(i: Instruction, c: Compiler) -> Step:
    from .memory import Site, store_lanes

    value, address, mask = i.operands
    kind = c.type(value)
    assert kind.dtype is not None
    site = Site("store", kind.dtype, 1, kind.dtype.itemsize, i.location, c.location_id(i.location))
    step = kind.dtype.itemsize

    def run(r, w):
        wanted = np.broadcast_to(r[mask], (kind.count, LANES))
        with w.narrowed() as narrow:
            for row in range(kind.count):
                if narrow(wanted[row]):
                    store_lanes(w, r[address] + row * step, scalar_of(r[value][row]), site)

    return run
