"""``tile-plan-copies``: gives every copy and prefetch its ``#tile.plan``, or the reasons why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..analysis.copy_requests import RequestReader
from ..analysis.global_views import fold_global_subviews, kernel_argument
from ..analysis.ir_access import collect_dialect
from ..analysis.stale_plans import plan_of, stale_reasons
from ..bindings import ir
from ..chips import Chip, Feature, chips_with
from ..codec import DataError
from ..diagnostics import remark, wants_remarks, warn
from ..dialect.plan_attr import PLAN, PlanReader, PlanWriter
from ..dialect.prefetch_op import PrefetchAsyncOp
from ..dialect.rebase_op import RebaseTensorOp
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError, TileErrors
from ..plan import CopyPlan, PlanDeclined, Variant, plan_copy, rules
from ..plan.advice import hints, warnings
from ..plan.alternatives import alternatives
from ..plan.copy_request import CopyRequest, Gather
from ..plan.findings import joined
from ..plan.open_conditions import split_conditions
from ..plan.text import way_text
from .chip_option import chip_option, chosen_chip
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    target = chosen_chip(op, options)
    planning, errors = _Planning(target), []
    for each in collect_dialect(op, "tile"):
        try:
            if each.name == CopyAsyncOp.OPERATION_NAME:
                planning.plan_copy(each.opview)  # type: ignore[arg-type]
            elif each.name == PrefetchAsyncOp.OPERATION_NAME:
                planning.plan_prefetch(each.opview)  # type: ignore[arg-type]
            elif each.name == RebaseTensorOp.OPERATION_NAME and not target.has(Feature.TENSORMAP_REPLACE):
                errors.append(_cannot_rebase(each, target.name))
        except TileError as error:
            errors.append(error)
        except TileErrors as several:
            errors += several.errors
    if errors:
        raise TileErrors(errors)


class _Planning:
    """One run of the pass for one chip."""

    def __init__(self, target: Chip) -> None:
        self._target, self._chip = target, target.name
        self._plans, self._requests, self._writer = PlanReader(), RequestReader(), PlanWriter()
        self._made: dict[CopyRequest, tuple[ir.Attribute, tuple[str, ...]]] = {}

    def plan_copy(self, copy: CopyAsyncOp) -> None:
        """Gives ``copy`` its plan; ``TileError`` where there is none."""
        if self._is_planned(copy):
            return
        copy = fold_global_subviews(copy)
        request = self._requests.copy(copy, self._chip)
        made = self._made.get(request)
        if made is None or wants_remarks():
            plan = _planned(copy, request)
            made = self._made[request] = self._attribute(copy.operation, plan), warnings(plan)
        copy.operation.attributes[PLAN] = made[0]
        for text in made[1]:
            warn(copy.operation.location, f"'tile.copy_async' op: {text}")
        _warn_of_slow_multicast(copy, self._target)

    def plan_prefetch(self, prefetch: PrefetchAsyncOp) -> None:
        """Gives ``prefetch`` its plan. It is only a hint: where TMA cannot do it, it is dropped."""
        if self._is_planned(prefetch):
            return
        op = prefetch.operation
        try:
            plan = _planned_prefetch(self._requests.prefetch(prefetch, self._chip))
            if kernel_argument(prefetch.source) is not None:
                op.attributes[PLAN] = self._attribute(op, plan)
                return
            why = "its tensor is not an argument of the kernel"
        except PlanDeclined as declined:
            why = str(declined)
        remark(op.location, f"prefetch dropped: {why}")
        op.erase()

    def _attribute(self, op: ir.Operation, plan: CopyPlan) -> ir.Attribute:
        try:
            return self._writer.attribute(plan, op.context)
        except DataError as error:
            message = f"'{op.name}' op moves too much to be planned: {error}. Choose smaller sizes"
            raise TileError(op.location, message) from None

    def _is_planned(self, op: CopyAsyncOp | PrefetchAsyncOp) -> bool:
        """Whether ``op`` has a plan that is right for it and for the chip; one that is not is dropped."""
        plan = plan_of(op, self._plans)
        if plan is None:
            return False
        reasons = stale_reasons(op, plan, self._requests, self._chip)
        if not reasons:
            return True
        remark(op.operation.location, f"planned anew: {'; '.join(reasons)}")
        del op.operation.attributes[PLAN]
        return False


def _planned(copy: CopyAsyncOp, request: CopyRequest) -> CopyPlan:
    """The copy's plan; ``TileError`` where there is none that the lowering can follow."""
    location = copy.operation.location
    try:
        plan = plan_copy(request)
    except PlanDeclined as declined:
        raise TileError(location, f"'tile.copy_async' op {declined}") from None
    if problem := _guard_problem(plan) or _announcement_problem(copy, plan):
        raise TileError(location, f"'tile.copy_async' op {problem}")
    if wants_remarks():
        remark(location, remark_text(plan))
    return plan


def _planned_prefetch(request: CopyRequest) -> CopyPlan:
    """The prefetch's plan. Raises ``PlanDeclined`` where TMA cannot do it as it stands: it is only a hint."""
    form = rules.gather_supported(request.chip, Feature.GATHER4_PREFETCH)
    if isinstance(request.kind, Gather) and (broken := rules.broken([form])):
        raise PlanDeclined(broken)
    plan = plan_copy(request)
    if plan.guards:
        raise PlanDeclined(tuple(guard.finding for guard in plan.guards))
    # A tensor without a descriptor is not an error of the launch: nothing is fetched then.
    checks, guards = split_conditions(plan.host_checks, keep=False)
    return replace(plan, host_checks=checks, guards=guards)


def _cannot_rebase(op: ir.Operation, name: str) -> TileError:
    """``tensormap.replace`` exists on architecture- and family-specific targets only (PTX ISA, target notes)."""
    able = ", ".join(chips_with(Feature.TENSORMAP_REPLACE))
    return TileError(op.location, f"'{op.name}' op needs tensormap.replace, which {name} lacks. Target one of {able}")


def _warn_of_slow_multicast(copy: CopyAsyncOp, target: Chip) -> None:
    if copy.multicast_mask is not None and not target.has(Feature.FAST_MULTICAST):
        warn(
            copy.operation.location,
            f"'tile.copy_async' op multicasts, which ptxas calls much slower on {target.name} than on "
            f"{', '.join(chips_with(Feature.FAST_MULTICAST))}. Target one of them, or let each CTA load its tile",
        )


def _guard_problem(plan: CopyPlan) -> str | None:
    """Behind a guard threads copy, which a forced variant excludes, and which cannot do everything that TMA can
    (reductions, rounding, gathers)."""
    if not plan.guards or plan.fallback is not None:
        return None
    reasons = joined([guard.finding for guard in plan.guards]).rstrip(".")
    if plan.request.variant is not Variant.AUTO:
        return (
            f"cannot prove that {plan.request.variant} is legal: {reasons}. Say what is known with 'assume', or drop "
            "'variant' for a check in the kernel"
        )
    threads = next(other for other in alternatives(plan) if other.name == Variant.SIMT)
    return (
        f"is legal for TMA only where {reasons}; and no other way can make this copy: "
        f"{joined(threads.findings).rstrip('.')}. Say what is known with 'assume'"
    )


def _announcement_problem(copy: CopyAsyncOp, plan: CopyPlan) -> str | None:
    """A caller that announces the bytes itself announces those of the sizes; a plan must not complete others."""
    if not plan.transaction_bytes or "expect_tx" in copy.operation.attributes:
        return None
    region = plan.request.dtype.bits * math.prod(plan.request.global_region.extents) // 8
    if plan.transaction_bytes == region:
        return None
    return (
        f"completes {plan.transaction_bytes} bytes on its mbarrier, its sizes are {region} bytes: "
        "the instructions overlap. Let the lowering announce them with expect_tx"
    )


def remark_text(plan: CopyPlan) -> str:
    """Which way a copy takes; for a way other than TMA, why not TMA."""
    text = f"copy takes {way_text(plan)}"
    if plan.variant is Variant.EMPTY:
        text = "copy moves nothing"
    if plan.guards and plan.fallback is not None:
        text += ", where the kernel finds that " + " and ".join(guard.finding.needed for guard in plan.guards)
        text += f"; {plan.fallback.variant} otherwise"
    if plan.variant.by_threads:
        for other in alternatives(plan):
            if other.name in (Variant.TMA, Variant.BULK):
                why = joined(other.findings) or other.reason
                text += f". Not {other.name}: {why.rstrip('.')}"
    return ". ".join((text, *hints(plan)))


PASS = Pass(
    "tile-plan-copies",
    "Plan every tile.copy_async: descriptors, instructions, conditions. Fails with reasons where no plan is legal.",
    run,
    options=(chip_option("plan"),),
)
