"""What a plan leaves open: who checks it, the host or the kernel, and how threads copy where it does not hold."""

from __future__ import annotations

from collections.abc import Iterable

from ..layout.expr import Expr
from . import rules
from .copy_plan import Condition, ThreadPlan
from .copy_request import CopyRequest, Tile
from .declined import PlanDeclined
from .enums import Variant
from .findings import Status
from .threads import plan_simt

_NOT_LEFT_TO_THREADS = frozenset(
    each.rule_name for each in (rules.global_dimension, rules.global_stride_range, rules.promise_kept)
)
"""What is an error of the launch whoever copies: empty or huge tensors, and promises that are not kept."""


def split_conditions(
    conditions: Iterable[Condition], *, keep: bool
) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    """What the host checks before the launch, and what the kernel checks to take another way. ``keep``: the host checks
    all that it can, since there is no other way."""
    checks, guards = {}, {}
    for each in conditions:
        of_host = each.is_of_host and (keep or each.finding.rule in _NOT_LEFT_TO_THREADS)
        (checks if of_host else guards)[each] = None
    return tuple(checks), tuple(guards)


def thread_fallback(request: CopyRequest) -> ThreadPlan | None:
    """What the kernel does where a guard fails. A forced variant is not left to one, and not all can be copied so."""
    if request.variant is not Variant.AUTO or not isinstance(request.kind, Tile) or request.dtype.packed:
        return None
    try:
        plan = plan_simt(request)
    except PlanDeclined:
        return None
    return ThreadPlan(plan.variant, plan.vector_bytes)


def promises(request: CopyRequest) -> list[Condition]:
    """What was promised of the tensor's sizes and strides."""
    layout = request.global_layout
    values = (*request.global_shape, *layout.extents, *layout.strides, layout.offset)
    symbols = dict.fromkeys(symbol for value in values if isinstance(value, Expr) for symbol in value.symbols())
    asked = (rules.promise_kept(symbol) for symbol in symbols if symbol.host)
    return [each for each in asked if each.finding.status is not Status.PROVEN]
