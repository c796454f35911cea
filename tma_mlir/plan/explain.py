"""A plan in words and as plain data: what was chosen, under which conditions, and why not another way."""

from __future__ import annotations

import math
from typing import Any

from ..codec import to_data
from .advice import hints, warnings
from .alternatives import alternatives, other_ways
from .copy_plan import Alternative, CopyPlan
from .copy_request import CopyRequest, Gather, Im2colWalk
from .declined import PlanDeclined
from .enums import Variant
from .findings import Status, joined
from .text import (
    bulk_text,
    condition_text,
    group_text,
    tensor_map_text,
    threads_text,
    way_text,
)


def explain_text(plan: CopyPlan) -> str:
    """Several lines: what was chosen, under which conditions, and every other way."""
    lines = [_headline(plan)]
    for index, tensor_map in enumerate(plan.tensor_maps):
        lines.append(f"  descriptor {index}: {tensor_map_text(tensor_map)}")
    lines += [f"  issue: {group_text(group)}" for group in plan.groups]
    lines += [f"  issue: {bulk_text(group)}" for group in plan.bulk_groups]
    lines += [f"  check on the host: {condition_text(c)}" for c in plan.host_checks]
    lines += [f"  guard in the kernel: {condition_text(c)}" for c in plan.guards]
    if plan.fallback is not None:
        other = threads_text(plan.fallback.variant, plan.fallback.vector_bytes, plan.request)
        lines.append(f"  where a guard fails: {other}")
    proven = sum(finding.status is Status.PROVEN for finding in plan.findings)
    lines.append(f"  {proven} of {len(plan.findings)} rules proven")
    if plan.variant is not Variant.EMPTY:
        lines += [alternative_text(other) for other in alternatives(plan)]
    lines += [f"  warning: {text}" for text in warnings(plan)]
    lines += [f"  hint: {text}" for text in hints(plan)]
    return "\n".join(lines)


def declined_text(request: CopyRequest, declined: PlanDeclined) -> str:
    """The same for a copy without a plan."""
    lines = [f"{_copy_text(request)}: declined"]
    lines += [f"  {finding}" for finding in declined.findings]
    lines += [alternative_text(other) for other in other_ways(request, None) if other.name != request.variant]
    return "\n".join(lines)


def _headline(plan: CopyPlan) -> str:
    what = _copy_text(plan.request)
    if plan.variant is Variant.EMPTY:
        return f"{what}: nothing to copy"
    if plan.vector_bytes:
        return f"{what}: {way_text(plan)}"
    text = f"{what}: {way_text(plan)}"
    text += f", {plan.transaction_bytes} transaction bytes" if plan.transaction_bytes else ""
    return f"{text}, shared tile aligned to {plan.shared_alignment_bytes} B"


def _copy_text(request: CopyRequest) -> str:
    region = request.global_region
    size = request.dtype.bits * math.prod(region.extents) // 8
    start = ", ".join(map(str, region.starts))
    what = request.reduction or request.direction.value
    if isinstance(request.kind, Gather):
        rows = ", ".join(map(str, request.kind.rows))
        what = f"{'gather' if request.is_load else 'scatter'} of rows {rows} as {what}"
    if isinstance(request.kind, Im2colWalk):
        what = f"im2col {what}"
    return f"{request.dtype} {what} of {'x'.join(map(str, region.extents))} ({size} B) at ({start})"


def alternative_text(other: Alternative) -> str:
    if other.instruction_count is None:
        return f"  not {other.name}: {joined(other.findings)}"
    return f"  not {other.name}: {other.reason}"


def plan_data(plan: CopyPlan) -> dict[str, Any]:
    """The plan as JSON-able data, with what only an explanation needs: counts, all findings, the other ways."""
    others = alternatives(plan) if plan.variant is not Variant.EMPTY else ()
    return {
        **to_data(plan, complete=True),
        "instructions": plan.instruction_count,
        "findings": [to_data(finding) for finding in plan.findings],
        "alternatives": [to_data(other) for other in others],
        "warnings": list(warnings(plan)),
        "hints": list(hints(plan)),
    }


EXPLANATION = frozenset({"place", "instructions", "findings", "alternatives", "warnings", "hints"})
"""Entries of ``plan_data``, and of the JSON of ``tma-explain``, that are not part of the plan: ``codec.from_data``
has to ignore them."""
