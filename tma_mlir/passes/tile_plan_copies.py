"""``tile-plan-copies``: gives every copy its ``#tile.plan``, or the reasons why there is none."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..analysis.copy_requests import copy_request
from ..analysis.global_views import fold_global_subviews
from ..analysis.ir_access import collect, copies_in
from ..chips import Chip, Feature, chips_with
from ..diagnostics import remark, wants_remarks, warn
from ..dialect.plan_attr import plan_text
from ..dialect.prefetch_op import CHIP, PrefetchAsyncOp
from ..dialect.rebase_op import RebaseTensorOp
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError, TileErrors
from ..plan import CopyPlan, PlanDeclined, plan_copy
from ..plan.explain import alternatives
from .chip_option import chip_option, chosen_chip
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    target = chosen_chip(op, options)
    name = target.name
    for prefetch in collect(op, (PrefetchAsyncOp.OPERATION_NAME,)):
        prefetch.attributes[CHIP] = ir.StringAttr.get(name, op.context)
    errors: list[TileError] = []
    if not target.has(Feature.TENSORMAP_REPLACE):
        errors += [_cannot_rebase(each, name) for each in collect(op, (RebaseTensorOp.OPERATION_NAME,))]
    for copy in copies_in(op):
        if "plan" in copy.operation.attributes:
            continue
        planned = fold_global_subviews(copy)
        location = planned.operation.location
        try:
            plan = plan_copy(copy_request(planned, name))
        except PlanDeclined as declined:
            errors.append(TileError(location, f"'tile.copy_async' op {declined}"))
            continue
        if plan.guards and plan.request is not None and plan.request.variant != "auto":
            errors.append(_unproven(planned, plan, plan.request.variant))
            continue
        if problem := _announcement_problem(planned, plan) or _guard_problem(planned, plan):
            errors.append(problem)
            continue
        _warn_of_slow_multicast(planned, target)
        if wants_remarks():
            remark(location, remark_text(plan))
        planned.operation.attributes["plan"] = ir.Attribute.parse(plan_text(plan), planned.operation.context)
    if errors:
        raise TileErrors(errors)


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


def _unproven(copy: CopyAsyncOp, plan: CopyPlan, asked: str) -> TileError:
    """A forced variant is not left to a guard, on whose other side another one would be taken."""
    reasons = "; ".join(str(guard.finding) for guard in plan.guards)
    return TileError(
        copy.operation.location,
        f"'tile.copy_async' op cannot prove that {asked} is legal: {reasons}. Say what is known with 'assume', or drop "
        "'variant' for a check in the kernel",
    )


def _guard_problem(copy: CopyAsyncOp, plan: CopyPlan) -> TileError | None:
    """Behind a guard threads copy, which cannot do everything that TMA can (reductions, rounding, gathers)."""
    if not plan.guards or plan.request is None:
        return None
    try:
        plan_copy(dataclasses.replace(plan.request, variant="simt"))
    except PlanDeclined as declined:
        reasons = "; ".join(str(guard.finding) for guard in plan.guards)
        return TileError(
            copy.operation.location,
            f"'tile.copy_async' op is legal for TMA only where {reasons}; and no other way can make this copy: "
            f"{declined} Say what is known with 'assume'",
        )
    return None


def _announcement_problem(copy: CopyAsyncOp, plan: CopyPlan) -> TileError | None:
    """A caller that announces the bytes itself announces those of the sizes; a plan must not complete others."""
    if plan.request is None or not plan.transaction_bytes or "expect_tx" in copy.operation.attributes:
        return None
    region = plan.request.dtype.bits * math.prod(plan.request.global_region.extents) // 8
    if plan.transaction_bytes == region:
        return None
    return TileError(
        copy.operation.location,
        f"'tile.copy_async' op completes {plan.transaction_bytes} bytes on its mbarrier, its sizes are {region} bytes: "
        "the instructions overlap. Let the lowering announce them with expect_tx",
    )


def remark_text(plan: CopyPlan) -> str:
    """Which way a copy takes; for a way other than TMA, why not TMA."""
    count = plan.instruction_count
    text = f"copy takes {plan.variant}"
    if plan.variant in ("tma", "bulk"):
        text += f": {count} instruction{'s' * (count != 1)}"
    elif plan.vector_bytes:
        text += f" in vectors of {plan.vector_bytes} bytes"
    if plan.guards:
        text += ", where the kernel finds that " + " and ".join(guard.finding.needed for guard in plan.guards)
        text += "; simt otherwise"
    if plan.variant in ("cp_async", "simt") and plan.request is not None:
        for other in alternatives(plan.request, plan):
            if other.name in ("tma", "bulk"):
                why = "; ".join(map(str, other.findings)) or other.reason
                text += f". Not {other.name}: {why.rstrip('.')}"
    return text


PASS = Pass(
    "tile-plan-copies",
    "Plan every tile.copy_async: descriptors, instructions, conditions. Fails with reasons where no plan is legal.",
    run,
    options=(chip_option("plan"),),
)
