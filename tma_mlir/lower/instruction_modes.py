"""Modes of TMA instructions as nvvm says them."""

from __future__ import annotations

from ..bindings import ir
from ..bindings.dialects import arith
from ..plan.enums import InstructionMode

_LOADS = {
    InstructionMode.GATHER4: "tile_gather4",
    InstructionMode.IM2COL: "im2col",
    InstructionMode.IM2COL_W: "im2col_w",
    InstructionMode.IM2COL_W_128: "im2col_w_128",
}
_STORES = {InstructionMode.SCATTER4: "tile_scatter4", InstructionMode.IM2COL: "im2col"}


def load_mode(mode: InstructionMode) -> ir.Attribute | None:
    """nvvm's mode of a load or prefetch; None for tiles, its default."""
    return ir.Attribute.parse(f"#nvvm.tma_load_mode<{_LOADS[mode]}>") if mode in _LOADS else None


def store_mode(mode: InstructionMode) -> ir.Attribute | None:
    """nvvm's mode of a store; None for tiles. An im2col store takes no offsets (PTX: ``im2col_no_offs``)."""
    return ir.Attribute.parse(f"#nvvm.tma_store_mode<{_STORES[mode]}>") if mode in _STORES else None


def im2col_offset(offset: int | ir.Value) -> ir.Value:
    """A filter offset or halo as the i16 that the instructions take."""
    i16 = ir.IntegerType.get_signless(16)
    if isinstance(offset, int):
        return arith.constant(i16, offset - (1 << 16) if offset >= 1 << 15 else offset)
    return arith.index_cast(i16, offset)
