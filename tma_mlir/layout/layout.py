"""Layouts: a row-major logical index to an element offset, and the XOR swizzle on byte addresses."""

from __future__ import annotations

from dataclasses import dataclass

from .expr import Expr


@dataclass(frozen=True)
class Layout:
    """Extents and strides, outermost first, in elements.

    A logical index of the tensor is flattened row-major over the tensor's shape, split over ``extents``, and maps to
    ``offset + sum(index_i * strides_i)`` elements. Extents may be finer than the tensor's shape (a tiled layout).
    """

    extents: tuple[Expr | int, ...]
    strides: tuple[Expr | int, ...]
    offset: Expr | int = 0


@dataclass(frozen=True)
class AddressSwizzle:
    """``address ^= ((address >> shift) & mask) `` in CuTe's (B, M, S) terms on byte addresses.

    ``bits`` B address bits starting at bit ``base`` M are XORed with the B bits starting at ``base + shift``.
    128B is (3, 4, 3), 64B (2, 4, 3), 32B (1, 4, 3): ``swizzle.ADDRESS_SWIZZLES``.
    """

    bits: int
    base: int
    shift: int
