"""Warp-level tensor-core operations: mma.sync with 16 x 8 results, ldmatrix and stmatrix.

Fragment layouts: PTX ISA, "matrix fragments for mma.m16n8k*". ``g`` is lane / 4, ``t`` lane % 4.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

from ..abi.types import Type
from .compile import Compiler, Step, operation
from .errors import SimulationError, UnsupportedError
from .machine import LANE_IDS, Warp
from .memory import LANES, Site, load_lanes, store_lanes
from .program import Instruction

GROUP = LANE_IDS // 4
THREAD = LANE_IDS % 4

_ELEMENTS: dict[str, np.dtype] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}


def _shape(text: Any) -> tuple[int, int, int]:
    m, n, k = (int(x) for x in re.findall(r"=\s*(\d+)", str(text)))
    return m, n, k


def _elements_of(value: Any, kind: Type, element: np.dtype) -> np.ndarray:
    """One operand register as ``[elements, lanes]``."""
    if kind.kind == "vector":
        rows = np.broadcast_to(value, (kind.count, LANES))
        lanes = np.ascontiguousarray(rows.T)
    else:
        lanes = np.ascontiguousarray(np.broadcast_to(np.asarray(value, kind.dtype), (LANES,))).reshape(LANES, 1)
    return lanes.view(element).T


@operation("nvvm.mma.sync")
def _mma(i: Instruction, c: Compiler) -> Step:
    m, n, k = _shape(i.attributes["shape"])
    registers = [i.group(index) for index in range(3)]
    names = [str(i.attributes.get(f"multiplicand{which}PtxType", "")) for which in "AB"]
    kinds = [re.search(r"<(\w+)>", name) for name in names]
    first = c.type(registers[0][0])
    names = [kind[1] if kind else {2: "f16", 4: "tf32"}.get(first.dtype.itemsize, "") for kind in kinds]
    if (m, n) != (16, 8) or any(name not in _ELEMENTS or name == "f64" for name in names):
        raise UnsupportedError(f"nvvm.mma.sync m{m}n{n}k{k} of {names[0] or first.kind}", i.location)
    a_type, b_type = (_ELEMENTS[name] for name in names)
    packed = 4 // a_type.itemsize
    result_type = c.type(i.results[0]).fields[0]

    def fragment(values: list[Any], group: int, element: np.dtype) -> np.ndarray:
        rows = [_elements_of(value, c.type(v), element) for value, v in zip(values, registers[group], strict=True)]
        return np.array(rows)

    def run(r, w):
        if w.front.count != LANES:
            raise SimulationError("divergent operation", f"mma.sync needs all lanes; {w.describe()}", i.location)
        a, b = (fragment([r[v] for v in registers[g]], g, e) for g, e in ((0, a_type), (1, b_type)))
        wide = np.int32 if a_type.kind in "iu" else np.float32
        left, right = np.zeros((16, k), wide), np.zeros((k, 8), wide)
        for register in range(a.shape[0]):
            for element in range(packed):
                column = THREAD * packed + element + 4 * packed * (register // 2)
                left[GROUP + 8 * (register % 2), column] = a[register, element]
        for register in range(b.shape[0]):
            for element in range(packed):
                right[THREAD * packed + element + 4 * packed * register, GROUP] = b[register, element]
        if a_type == np.float32:
            left, right = _truncate_to_tf32(left), _truncate_to_tf32(right)
        product = left @ right
        return _add_result(product, [r[v] for v in registers[2]], [c.type(v) for v in registers[2]], result_type)

    return run


def _truncate_to_tf32(values: np.ndarray) -> np.ndarray:
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def _add_result(product: np.ndarray, accumulators: list[Any], kinds: list[Type], result: Type) -> tuple[Any, ...]:
    """The result's registers: rows g and g + 8, columns 2 t and 2 t + 1; two halves to a vector where packed."""
    element = result.dtype
    parts = [product[GROUP + 8 * (j // 2), 2 * THREAD + j % 2] for j in range(4)]
    old = np.concatenate([_elements_of(v, k, k.dtype) for v, k in zip(accumulators, kinds, strict=True)])
    values = [(part + row).astype(element) for part, row in zip(parts, old, strict=True)]
    if result.kind == "vector":
        return (np.array(values[:2]), np.array(values[2:]))
    return tuple(values)


@operation("nvvm.ldmatrix")
def _load_matrix(i: Instruction, c: Compiler) -> Step:
    (pointer,) = i.operands
    count = i.attributes["num"]
    if "eltType" in i.attributes and "b16" not in str(i.attributes["eltType"]):
        raise UnsupportedError(f"nvvm.ldmatrix of {i.attributes['eltType']}", i.location)
    transposed = "col" in str(i.attributes["layout"])
    site = Site("ldmatrix", np.dtype(np.int16), 8, 16, i.location, c.location_id(i.location))

    def run(r, w):
        rows = _row_addresses(w, r[pointer], count, i.location)
        data = np.broadcast_to(load_lanes(w, rows, site), (8, LANES))
        registers = []
        for matrix in range(count):
            tile = data[:, matrix * 8 : matrix * 8 + 8].T  # [row, column]
            pair = [tile[2 * THREAD + e, GROUP] if transposed else tile[GROUP, 2 * THREAD + e] for e in range(2)]
            registers.append(np.ascontiguousarray(np.array(pair).T).view(np.int32)[:, 0])
        return registers[0] if count == 1 else tuple(registers)

    return run


def _row_addresses(w: Warp, address: Any, count: int, location: str) -> np.ndarray:
    """Row addresses of ``8 * count`` lanes; the others repeat them."""
    if w.front.count != LANES:
        raise SimulationError("divergent operation", f"ldmatrix/stmatrix needs all lanes; {w.describe()}", location)
    lanes = np.broadcast_to(np.asarray(address, np.int64), (LANES,))
    return np.ascontiguousarray(lanes[LANE_IDS % (8 * count)])


@operation("nvvm.stmatrix")
def _store_matrix(i: Instruction, c: Compiler) -> Step:
    pointer, *sources = i.operands
    count = len(sources)
    if "b8" in str(i.attributes.get("eltType", "")):
        raise UnsupportedError(f"nvvm.stmatrix of {i.attributes['eltType']}", i.location)
    transposed = "col" in str(i.attributes["layout"])
    site = Site("stmatrix", np.dtype(np.int16), 8, 16, i.location, c.location_id(i.location))

    def run(r, w):
        rows = _row_addresses(w, r[pointer], count, i.location)
        data = np.zeros((8, LANES), np.int16)
        for matrix, source in enumerate(sources):
            register = np.ascontiguousarray(np.broadcast_to(np.asarray(r[source], np.int32), (LANES,)))
            halves = register.view(np.int16).reshape(LANES, 2)
            tile = np.zeros((8, 8), np.int16)
            for element in range(2):
                if transposed:
                    tile[2 * THREAD + element, GROUP] = halves[:, element]
                else:
                    tile[GROUP, 2 * THREAD + element] = halves[:, element]
            data[:, matrix * 8 : matrix * 8 + 8] = tile.T
        with w.narrowed() as narrow:
            narrow(8 * count > LANE_IDS)
            store_lanes(w, rows, data, site)

    return run
