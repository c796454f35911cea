"""wgmma: matrices in shared memory by descriptor, accumulators in the registers of a warpgroup.

Numerics are those of f32 (or s32) accumulation; the product is made at issue, while the checks treat shared memory as
read until ``wait_group``. Descriptor fields and fragment layouts: PTX ISA, "asynchronous warpgroup-level matrix
instructions".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from .compile import Compiler, Step, operation
from .errors import SimulationError, UnsupportedError
from .machine import LANE_IDS, Warp
from .memory import LANES
from .program import Instruction
from .swizzle import swizzle_offset
from .tile_layouts import check_wgmma
from .transfer import AsyncGroups

OPERAND_TYPES: dict[str, tuple[np.dtype, int]] = {
    "f16": (np.dtype(np.float16), 16),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 16),
    "tf32": (np.dtype(np.float32), 8),
    "e4m3": (np.dtype(ml_dtypes.float8_e4m3fn), 32),
    "e5m2": (np.dtype(ml_dtypes.float8_e5m2), 32),
    "s8": (np.dtype(np.int8), 32),
    "u8": (np.dtype(np.uint8), 32),
}
"""NumPy type and K of one instruction, by PTX type name."""

SWIZZLE_OF_MODE = {0: 0, 1: 3, 2: 2, 3: 1}
"""Descriptor bits 62-63 to swizzle bits (0 none, 1 32B, 2 64B, 3 128B)."""


@dataclass(frozen=True)
class Form:
    """One wgmma instruction: shape, PTX types, operand signs, which operands are MN-major ("transposed")."""

    m: int
    n: int
    k: int
    types: tuple[str, str, str]
    signs: tuple[int, int]
    transposed: tuple[bool, bool]


@lru_cache(maxsize=4096)
def operand_offsets(
    first: int, count: int, k: int, size: int, mode: int, leading: int, stride: int, transposed: bool, phase: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where rows ``first`` .. ``first + count`` (of M or N) of an operand lie, and the 16-byte chunks they touch.

    Byte offsets ``[count, k]`` from the start address rounded down to 1024 (``phase`` is the rest). K-major rows of
    one swizzle span, eight of them to a core matrix; MN-major the same with K as the row. ``leading``/``stride`` are
    the descriptor's byte offsets.
    """
    mn = np.arange(first, first + count)[:, None]
    depth = np.arange(k)[None, :]
    span = 16 << SWIZZLE_OF_MODE[mode] if mode else 16
    if not transposed:
        byte = depth * size
        if mode:
            logical = mn // 8 * stride + mn % 8 * span + byte
        else:
            logical = mn // 8 * stride + mn % 8 * 16 + byte // 16 * leading + byte % 16
    else:
        byte = mn * size
        if mode:
            logical = byte // span * leading + byte % span + depth // 8 * stride + depth % 8 * span
        else:
            logical = byte // 16 * stride + byte % 16 + depth // 8 * leading + depth % 8 * 16
    physical: np.ndarray = swizzle_offset(logical + phase, SWIZZLE_OF_MODE[mode])
    return physical, np.unique(physical >> 4)


def _operand(w: Warp, descriptor: int, first: int, count: int, form: Form, which: int, location: str):
    """The matrix rows as f32 or s32 ``[count, k]``, and the chunks read."""
    kind = form.types[1 + which]
    dtype, _ = OPERAND_TYPES[kind]
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    mode = descriptor >> 62 & 3
    offsets, chunks = operand_offsets(
        first, count, form.k, dtype.itemsize, mode, leading, stride, form.transposed[which], start & 1023
    )
    base = start & ~1023
    view = w.cta.shared.view(dtype)
    try:
        values = view[(offsets + base) // dtype.itemsize]
    except IndexError:
        raise SimulationError(
            "out of bounds",
            f"wgmma operand {'AB'[which]} reads shared memory up to {base + int(offsets.max()):#x}, allocated are "
            f"{w.cta.shared.data.size:#x} B",
            location,
        ) from None
    if kind == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    wide = np.int32 if dtype.kind in "iu" else np.float32
    chunks = chunks + (base >> 4)
    check_wgmma(w, chunks, SWIZZLE_OF_MODE[mode], "AB"[which], location)
    return values.astype(wide), chunks


@lru_cache(maxsize=64)
def _fragment(registers: int) -> tuple[np.ndarray, np.ndarray]:
    """Row (0..15) and column of accumulator register ``j`` of each lane: ``[registers, lanes]``."""
    register, lane = np.arange(registers)[:, None], LANE_IDS[None, :]
    row = lane // 4 + 8 * (register // 2 % 2)
    column = lane % 4 * 2 + register % 2 + 8 * (register // 4)
    return row, column


def multiply(w: Warp, form: Form, accumulators: Any, a: int, b: int, keep: bool, location: str) -> Any:
    """One warp's sixteen rows of the product, added to its accumulators if ``keep``."""
    first = w.number % 4 * 16
    left, chunks_a = _operand(w, a, first, 16, form, 0, location)
    right, chunks_b = _operand(w, b, 0, form.n, form, 1, location)
    shadow = w.cta.shared.shadow
    if shadow is not None:
        shadow.wgmma_read(w, chunks_a, _groups(w), location)
        shadow.wgmma_read(w, chunks_b, _groups(w), location)
    if form.signs[0] < 0 or form.signs[1] < 0:
        left = left * (form.signs[0] * form.signs[1])
    product = left @ right.T
    registers = form.n // 2
    rows, columns = _fragment(registers)
    result = product[rows, columns]
    if form.types[0] == "f16":
        return _add_packed_halves(result, accumulators, keep)
    if keep:
        old = np.empty((registers, LANES), result.dtype)
        for register, value in enumerate(accumulators):
            old[register] = value
        result = result + old
    return result.astype(np.int32 if form.types[0] == "s32" else np.float32)


def _add_packed_halves(result: np.ndarray, accumulators: Any, keep: bool) -> np.ndarray:
    """f16 accumulators: two neighbouring columns in one 32-bit register."""
    pairs = np.ascontiguousarray(result.reshape(-1, 2, LANES).transpose(0, 2, 1))
    if keep:
        old = np.array([np.broadcast_to(v, (LANES,)) for v in accumulators], np.int32)
        pairs = pairs + np.ascontiguousarray(old[:, :, None]).view(np.float16).astype(np.float32)
    return np.ascontiguousarray(pairs.astype(np.float16)).view(np.int32)[:, :, 0]


@operation("sim.wgmma")
def _from_ptx(i: Instruction, c: Compiler) -> Step:
    *inputs, a, b, scale = i.operands
    shape = i.attributes["shape"]
    m, n, k = shape
    form = Form(m, n, k, i.attributes["types"], i.attributes["signs"], i.attributes["transposed"])
    return _step(i, c, form, lambda r: [r[v] for v in inputs], a, b, lambda r: bool(r[scale]))


def _inner(text: Any) -> str:
    """``f16`` of ``#nvvm.wgmma_type<f16>``."""
    match = re.search(r"<([^<>]*)>", str(text))
    return match[1].strip() if match else str(text)


@operation("nvvm.wgmma.mma_async")
def _from_operation(i: Instruction, c: Compiler) -> Step:
    inputs, a, b = i.operands
    m, n, k = (int(x) for x in re.findall(r"=\s*(\d+)", str(i.attributes["shape"])))
    sign = {"one": 1, "neg": -1}
    form = Form(
        m,
        n,
        k,
        types=tuple(_inner(i.attributes[name]) for name in ("typeD", "typeA", "typeB")),  # type: ignore[arg-type]
        signs=(sign[_inner(i.attributes["scaleA"])], sign[_inner(i.attributes["scaleB"])]),
        # A <row> and B <col> are K-major.
        transposed=(_inner(i.attributes["layoutA"]) == "col", _inner(i.attributes["layoutB"]) == "row"),
    )
    keep = _inner(i.attributes["scaleD"]) == "one"
    return _step(i, c, form, lambda r: r[inputs], a, b, lambda r: keep)


def _step(i: Instruction, c: Compiler, form: Form, inputs: Any, a: int, b: int, keep: Any) -> Step:
    for name in form.types[1:]:
        if name not in OPERAND_TYPES:
            raise UnsupportedError(f"wgmma of {name}", i.location)

    def run(r, w):
        if w.front.count != LANES:
            raise SimulationError("divergent operation", f"wgmma needs all lanes; {w.describe()}", i.location)
        mask = (1 << 64) - 1
        left, right = (w.uniform(r[v], "matrix descriptor", i.location) & mask for v in (a, b))
        return multiply(w, form, inputs(r), left, right, keep(r), i.location)

    return run


@operation("nvvm.wgmma.fence.aligned")
def _fence(i: Instruction, c: Compiler) -> Step:
    return lambda r, w: None


@operation("nvvm.wgmma.commit.group.sync.aligned")
def _commit(i: Instruction, c: Compiler) -> Step:
    return lambda r, w: _groups(w).commit()


@operation("nvvm.wgmma.wait.group.sync.aligned")
def _wait(i: Instruction, c: Compiler) -> Step:
    allowed = i.attributes["group"]

    def run(r, w):
        groups = _groups(w)
        w.clock.advance(groups.component, max(0, len(groups.groups) - allowed))

    return run


def _groups(w: Warp) -> AsyncGroups:
    """The warp's wgmma groups."""
    groups = w.groups.get("wgmma")
    if groups is None:
        groups = w.groups["wgmma"] = AsyncGroups(w.cta.cluster)
    return groups
