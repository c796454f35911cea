"""Building index arithmetic: expressions of a plan, and constants that are shared inside one place."""

from __future__ import annotations

from collections.abc import Mapping

from ..bindings import ir
from ..bindings.dialects import arith
from ..layout.expr import Expr


def constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def add(left: int | ir.Value, right: int | ir.Value) -> int | ir.Value:
    """The sum, folded where it can be."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, int) and left == 0:
        return right
    if isinstance(right, int) and right == 0:
        return left
    return arith.addi(materialize(left), materialize(right))


def multiply(left: int | ir.Value, right: int | ir.Value) -> int | ir.Value:
    """The product, folded where it can be."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    for one, other in ((left, right), (right, left)):
        if isinstance(one, int):
            if one == 0:
                return 0
            if one == 1:
                return other
    return arith.muli(materialize(left), materialize(right))


def exact_divide(value: int | ir.Value, divisor: int) -> int | ir.Value:
    """``value / divisor`` where there is no remainder: an arithmetic shift when the divisor is a power of two."""
    if divisor == 1:
        return value
    if isinstance(value, int):
        return value // divisor
    if divisor & (divisor - 1) == 0:
        return arith.shrsi(value, constant(divisor.bit_length() - 1))
    return arith.divsi(value, constant(divisor))


def materialize(value: int | ir.Value) -> ir.Value:
    return constant(value) if isinstance(value, int) else value


def build(expr: Expr | int, values: Mapping[str, ir.Value]) -> int | ir.Value:
    """The value of a plan's expression; ``values`` gives an index value for each symbol it uses."""
    if isinstance(expr, int):
        return expr
    total: int | ir.Value = 0
    for symbols, coefficient in expr.terms:
        term: int | ir.Value = coefficient
        for symbol in symbols:
            term = multiply(values[symbol.name], term)
        total = add(total, term)
    return exact_divide(total, expr.denominator)
