"""Conditions that only the kernel can decide."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith

from ..plan.copy_plan import Condition
from .copy_context import CopyContext
from .index_builder import constant, materialize


def guard_condition(context: CopyContext, guards: Sequence[Condition]) -> ir.Value:
    """Whether all of ``guards`` (at least one) hold, as an i1."""
    total: ir.Value | None = None
    for guard in guards:
        value = materialize(context.value(guard.value))
        checks: list[ir.Value] = []
        if guard.divisor > 1:
            # Also right for negative values: a remainder is zero whatever its sign.
            rest = arith.remsi(value, constant(guard.divisor))
            checks.append(arith.cmpi(arith.CmpIPredicate.eq, rest, constant(0)))
        if guard.low is not None:
            checks.append(arith.cmpi(arith.CmpIPredicate.sge, value, constant(guard.low)))
        if guard.high is not None:
            checks.append(arith.cmpi(arith.CmpIPredicate.sle, value, constant(guard.high)))
        for check in checks:
            total = check if total is None else arith.andi(total, check)
    assert total is not None
    return total
