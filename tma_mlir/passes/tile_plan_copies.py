"""``tile-plan-copies``: gives every copy and prefetch its ``#tile.plan``, or the reasons why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..analysis.copy_requests import RequestReader
from ..analysis.global_views import fold_global_subviews, kernel_argument
from ..analysis.ir_access import collect, copies_in
from ..analysis.stale_plans import plan_of, stale_reasons
from ..chips import CHIPS, DEFAULT_CHIP, chip
from ..diagnostics import remark, wants_remarks
from ..dialect.plan_attr import PLAN, PlanReader, PlanWriter
from ..dialect.prefetch_op import PrefetchAsyncOp
from ..dialect.rebase_op import RebaseTensorOp
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError, TileErrors
from ..plan import CopyPlan, PlanDeclined, Variant, plan_copy, rules
from ..plan.copy_request import CopyRequest, Gather
from ..plan.explain import alternatives
from ..plan.text import count_text
from .registry import Option, Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    try:
        name = chip(options["chip"]).name
    except ValueError as error:
        raise TileError(op.location, str(error)) from None
    errors = [_cannot_rebase(each, name) for each in collect(op, (RebaseTensorOp.OPERATION_NAME,)) if name[-1] != "a"]
    reader, requests, writer = PlanReader(), RequestReader(), PlanWriter()
    planned_as: dict[CopyRequest, ir.Attribute] = {}
    for copy in copies_in(op):
        if _is_planned(copy, name, reader, requests):
            continue
        copy = fold_global_subviews(copy)
        request = requests.copy(copy, name)
        attribute = planned_as.get(request)
        if attribute is None or wants_remarks():
            try:
                plan = _planned(copy, request)
            except TileError as error:
                errors.append(error)
                continue
            attribute = planned_as[request] = writer.attribute(plan, op.context)
        copy.operation.attributes[PLAN] = attribute
    for each in collect(op, (PrefetchAsyncOp.OPERATION_NAME,)):
        prefetch: PrefetchAsyncOp = each.opview  # type: ignore[assignment]
        if _is_planned(prefetch, name, reader, requests):
            continue
        try:
            plan = _planned_prefetch(requests.prefetch(prefetch, name))
            if kernel_argument(prefetch.source) is not None:
                each.attributes[PLAN] = writer.attribute(plan, op.context)
                continue
            why = "its tensor is not an argument of the kernel"
        except PlanDeclined as declined:
            why = str(declined)
        remark(each.location, f"prefetch dropped: {why}")
        each.erase()
    if errors:
        raise TileErrors(errors)


def _is_planned(op: CopyAsyncOp | PrefetchAsyncOp, chip_name: str, plans: PlanReader, requests: RequestReader) -> bool:
    """Whether ``op`` has a plan that is right for it and for the chip; one that is not is dropped."""
    plan = plan_of(op, plans)
    if plan is None:
        return False
    reasons = stale_reasons(op, plan, requests, chip_name)
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
    asked = [rules.gather_supported(request.chip, "a prefetch")] if isinstance(request.kind, Gather) else []
    if broken := rules.broken(asked):
        raise PlanDeclined(broken)
    plan = plan_copy(request)
    if plan.guards:
        raise PlanDeclined(tuple(guard.finding for guard in plan.guards))
    return plan


def _cannot_rebase(op: ir.Operation, name: str) -> TileError:
    """``tensormap.replace`` exists on architecture-specific targets only (PTX ISA, target notes)."""
    able = ", ".join(each for each in CHIPS if each[-1] == "a")
    return TileError(op.location, f"'{op.name}' op needs tensormap.replace, which {name} lacks. Target one of {able}")


def _guard_problem(plan: CopyPlan) -> str | None:
    """Behind a guard threads copy, which a forced variant excludes, and which cannot do everything that TMA can
    (reductions, rounding, gathers)."""
    if not plan.guards or plan.fallback is not None:
        return None
    reasons = "; ".join(str(guard.finding) for guard in plan.guards)
    if plan.request.variant is not Variant.AUTO:
        return (
            f"cannot prove that {plan.request.variant} is legal: {reasons}. Say what is known with 'assume', or drop "
            "'variant' for a check in the kernel"
        )
    threads = next(other for other in alternatives(plan) if other.name == Variant.SIMT)
    return (
        f"is legal for TMA only where {reasons}; and no other way can make this copy: "
        f"{'; '.join(map(str, threads.findings))} Say what is known with 'assume'"
    )


def _announcement_problem(copy: CopyAsyncOp, plan: CopyPlan) -> str | None:
    """A caller that announces the bytes itself announces those of the sizes; a plan must not complete others."""
    if not plan.transaction_bytes or "expect_tx" in copy.operation.attributes:
        return None
    region = plan.request.dtype.bytes * math.prod(plan.request.global_region.extents)
    if plan.transaction_bytes == region:
        return None
    return (
        f"completes {plan.transaction_bytes} bytes on its mbarrier, its sizes are {region} bytes: "
        "the instructions overlap. Let the lowering announce them with expect_tx"
    )


def remark_text(plan: CopyPlan) -> str:
    """Which way a copy takes; for a way other than TMA, why not TMA."""
    text = f"copy takes {plan.variant}"
    if plan.instruction_count:
        text += f": {count_text(plan)}"
    elif plan.vector_bytes:
        text += f" in vectors of {plan.vector_bytes} bytes"
    if plan.guards and plan.fallback is not None:
        text += ", where the kernel finds that " + " and ".join(guard.finding.needed for guard in plan.guards)
        text += f"; {plan.fallback.variant} otherwise"
    if plan.variant.by_threads:
        for other in alternatives(plan):
            if other.name in (Variant.TMA, Variant.BULK):
                why = "; ".join(map(str, other.findings)) or other.reason
                text += f". Not {other.name}: {why.rstrip('.')}"
    return text


PASS = Pass(
    "tile-plan-copies",
    "Plan every tile.copy_async: descriptors, instructions, conditions. Fails with reasons where no plan is legal.",
    run,
    options=(Option("chip", str, DEFAULT_CHIP, "architecture to plan for"),),
)
