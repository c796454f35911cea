"""Shared-memory tile layouts built from swizzle atoms."""

from __future__ import annotations

from .layout import Layout
from .swizzle import Swizzle

ATOM_MODES = (Swizzle.B32, Swizzle.B64, Swizzle.B128)
"""Those of ``#tile.atoms``."""
ATOM_ROWS = 8
"""Rows of one atom: 8 rows of 16, 32, 64 or 128 bytes (PTX ISA, matrix operand layouts in shared memory)."""


def atom_layout(shape: tuple[int, ...], dtype_bytes: int, swizzle: Swizzle) -> Layout:
    """The last two dimensions of ``shape`` as atoms of 8 rows x 16/32/64/128 bytes, tiled down the rows, then across.

    Without swizzle the atom is 16 bytes wide. Leading dimensions are stacked densely. This is the layout before the
    swizzle, whose address XOR is ``address_swizzle(swizzle)``. ``ValueError`` if the atoms do not fill the tile.
    """
    if len(shape) < 2:
        raise ValueError(f"an atom layout needs two dimensions, got shape {shape}")
    *outer, rows, columns = shape
    span = swizzle.span_bytes or 16
    width = span // dtype_bytes
    if rows % ATOM_ROWS or columns % width:
        raise ValueError(
            f"a {rows}x{columns} tile of {dtype_bytes}-byte elements is not made of {ATOM_ROWS}x{width} atoms "
            f"({span} bytes wide)"
        )
    size = rows * columns
    strides: list[int] = []
    for extent in reversed(outer):
        strides.insert(0, size)
        size *= extent
    return Layout((*outer, rows, columns // width, width), (*strides, width, rows * width, 1))
