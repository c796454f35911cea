"""Layouts: symbolic integers, extents and strides, swizzles, atoms. Imports nothing else of the package."""

from .algebra import LayoutError, row_major
from .atoms import atom_layout
from .expr import Expr, Symbol, bounds, constant, evaluate, exact_div, known_divisor, parse_expr
from .layout import AddressSwizzle, Layout
from .swizzle import Swizzle, address_swizzle, effective_swizzle, swizzle_mode, swizzle_period_bytes

__all__ = [
    "AddressSwizzle",
    "Expr",
    "Layout",
    "LayoutError",
    "Swizzle",
    "Symbol",
    "address_swizzle",
    "atom_layout",
    "bounds",
    "constant",
    "effective_swizzle",
    "evaluate",
    "exact_div",
    "known_divisor",
    "parse_expr",
    "row_major",
    "swizzle_mode",
    "swizzle_period_bytes",
]
