"""The matrix of what a copy can ask for, and what must come of each cell.

Expectations are written down here from the PTX ISA (instruction syntax, target notes) and from what an H200 did
(reductions), not taken from the code under test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

CHIPS = ("sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_110a", "sm_120", "sm_120a")
LARGER_ATOMS = frozenset(CHIPS) - {"sm_90", "sm_90a"}
"""Have swizzles with atoms of 32 and 64 bytes (the driver refused them on an H200)."""
GATHERS = frozenset(CHIPS) - {"sm_90", "sm_90a"}
"""Have tile::gather4 into the CTA's own shared memory."""
CTA_PAIRS = frozenset(("sm_100a", "sm_103a", "sm_110a"))
"""Have .cta_group::2 and tile::scatter4."""

DTYPES = {
    "i1": 1, "i8": 1, "ui8": 1, "f8E4M3FN": 1, "f8E5M2": 1, "f8E4M3": 1, "f8E3M4": 1, "f8E8M0FNU": 1,
    "f8E4M3FNUZ": 1, "f8E5M2FNUZ": 1, "f8E4M3B11FNUZ": 1,
    "i16": 2, "ui16": 2, "f16": 2, "bf16": 2,
    "i32": 4, "ui32": 4, "f32": 4, "tf32": 4,
    "i64": 8, "ui64": 8, "f64": 8,
}  # fmt: skip
"""Bytes by element type."""
FLOATS_WITH_NAN_FILL = frozenset(("f16", "bf16", "f32", "tf32", "f64"))
"""cuTensorMapEncodeTiled: NaN fill needs a floating-point CUtensorMapDataType; fp8 travels as bytes."""

SWIZZLES = {
    "none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128, "128B_atom_32B_flip_8B": 128,
    "128B_atom_64B": 128,
}  # fmt: skip
"""Bytes of a swizzled row."""
RANKS = (1, 2, 3, 4, 5)

REDUCTIONS = {
    "add": {"ui32", "i32", "ui64", "f16", "bf16", "f32", "tf32", "f64"},
    "min": {"ui32", "i32", "ui64", "i64", "f16", "bf16"},
    "max": {"ui32", "i32", "ui64", "i64", "f16", "bf16"},
    "inc": {"ui32"},
    "dec": {"ui32"},
    "and": {"ui32", "i32", "ui64"},
    "or": {"ui32", "i32", "ui64"},
    "xor": {"ui32", "i32", "ui64"},
}
"""Element types each reduction executes on (measured on an H200)."""

OPTIONS = (
    "plain", "nan", "hint", "fraction", "multicast", "group", "prefetch", "gather", "im2col",
    *(f"reduce_{r}" for r in REDUCTIONS),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One combination. ``index`` is its place in the enumeration."""

    index: int
    direction: str
    dtype: str
    swizzle: str
    rank: int
    option: str
    chip: str


def cells() -> Iterator[Cell]:
    """Every cell, chips outermost."""
    axes = (CHIPS, ("load", "store"), OPTIONS, SWIZZLES, RANKS, DTYPES)
    for index, (chip, direction, option, swizzle, rank, dtype) in enumerate(itertools.product(*axes)):
        yield Cell(index, direction, dtype, swizzle, rank, option, chip)


def count() -> int:
    return len(CHIPS) * 2 * len(OPTIONS) * len(SWIZZLES) * len(RANKS) * len(DTYPES)


def expected_error(cell: Cell) -> str | None:
    """What the one error of a cell must say; None where the cell must assemble."""
    is_load = cell.direction == "load"
    if cell.option == "prefetch":
        return None if is_load else "skip"
    if cell.option == "gather":
        if cell.rank != 2:
            return "gathers rows of a matrix"
        if cell.chip not in (GATHERS if is_load else CTA_PAIRS):
            return "rule: gather supported"
    if cell.option == "im2col" and cell.rank < 3:
        return "walks tensors NWC, NHWC or NDHWC"
    if cell.option == "nan":
        if not is_load:
            return "'oob' says what a load reads outside of the tensor"
        if cell.dtype not in FLOATS_WITH_NAN_FILL:
            # Integers have no NaN; TMA has none for the floats of other widths.
            return "'oob' fills with NaN" if cell.dtype.lstrip("us").startswith("i") else "rule: oob fill type"
    if cell.option == "multicast" and not is_load:
        return "multicasts loads only"
    if cell.option == "group":
        if not is_load:
            return "'cta_group' 2 says whose mbarrier a load completes on"
        if cell.chip not in CTA_PAIRS:
            return "cta group"
    if cell.option.startswith("reduce_"):
        if is_load:
            return "reduces into global memory only"
        if cell.dtype not in REDUCTIONS[cell.option.removeprefix("reduce_")]:
            return "reduction"
    # One row of 128 bytes is the same with and without this XOR, which then need not be there.
    same = cell.swizzle == "128B_atom_32B" and cell.rank == 1 and cell.option not in ("gather", "im2col")
    if cell.swizzle.startswith("128B_atom") and cell.chip not in LARGER_ATOMS and not same:
        return "swizzle"
    return None


def expected_instruction(cell: Cell) -> str:
    """The instruction's name and qualifiers up to the operands (PTX ISA, cp.async.bulk.tensor and others)."""
    dim = f"{cell.rank}d"
    if cell.option == "prefetch":
        return f"cp.async.bulk.prefetch.tensor.{dim}.L2.global.tile"
    mode = {"gather": ("tile::gather4", "tile::scatter4"), "im2col": ("im2col", "im2col_no_offs")}.get(cell.option)
    if mode and cell.direction == "store":
        return f"cp.async.bulk.tensor.{dim}.global.shared::cta.{mode[1]}.bulk_group"
    if mode:
        return f"cp.async.bulk.tensor.{dim}.shared::cta.global.{mode[0]}.mbarrier::complete_tx::bytes"
    if cell.direction == "store":
        hint = ".L2::cache_hint" if cell.option in ("hint", "fraction") else ""
        if cell.option.startswith("reduce_"):
            kind = cell.option.removeprefix("reduce_")
            return f"cp.reduce.async.bulk.tensor.{dim}.global.shared::cta.{kind}.tile.bulk_group"
        return f"cp.async.bulk.tensor.{dim}.global.shared::cta.tile.bulk_group{hint}"
    space = "shared::cluster" if cell.option in ("multicast", "group") else "shared::cta"
    tail = {
        "multicast": ".multicast::cluster",
        "hint": ".L2::cache_hint",
        "fraction": ".L2::cache_hint",
        "group": ".cta_group::2",
    }.get(cell.option, "")
    return f"cp.async.bulk.tensor.{dim}.{space}.global.tile.mbarrier::complete_tx::bytes{tail}"
