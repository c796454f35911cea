"""Conditions that only the kernel can decide."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ..bindings import ir
from ..bindings.dialects import arith
from ..layout.expr import Expr
from ..plan.copy_plan import Condition
from .index_builder import constant, materialize


def guard_condition(value_of: Callable[[Expr | int], int | ir.Value], guards: Sequence[Condition]) -> ir.Value:
    """Whether all of ``guards`` (at least one) hold, as an i1. ``value_of`` builds a plan's expression."""
    return functools.reduce(arith.andi, [_holds(value_of, guard) for guard in guards])


def _holds(value_of: Callable[[Expr | int], int | ir.Value], guard: Condition) -> ir.Value:
    value = materialize(value_of(guard.value))
    checks: list[ir.Value] = []
    if guard.divisor > 1:
        checks.append(_is_multiple(value, guard.divisor))
    if guard.low is not None:
        checks.append(arith.cmpi(arith.CmpIPredicate.sge, value, constant(guard.low)))
    if guard.high is not None:
        checks.append(arith.cmpi(arith.CmpIPredicate.sle, value, constant(guard.high)))
    own = functools.reduce(arith.andi, checks)
    if not guard.or_divisor:
        return own
    return arith.ori(own, _is_multiple(materialize(value_of(guard.or_value)), guard.or_divisor))


def _is_multiple(value: ir.Value, divisor: int) -> ir.Value:
    """Also right for negative values: a remainder is zero whatever its sign."""
    return arith.cmpi(arith.CmpIPredicate.eq, arith.remsi(value, constant(divisor)), constant(0))
