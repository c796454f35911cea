"""A plan in words and as plain data: what was chosen, under which conditions, and why not another way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..hardware import L2_PROMOTIONS
from .copy_plan import Alternative, BulkGroup, Condition, Coordinate, CopyPlan, IssueGroup
from .copy_request import CopyRequest
from .declined import PlanDeclined
from .findings import Finding, Status
from .tensor_map import OobFill, TensorMap

WAYS = ("tma", "bulk", "cp_async", "simt")


def alternatives(request: CopyRequest, chosen: CopyPlan | None) -> tuple[Alternative, ...]:
    """Every other way to make the copy: its cost and why it lost, or the rules that forbid it."""
    from .planner import plan_copy

    found: list[Alternative] = []
    for way in WAYS:
        if chosen is not None and chosen.variant == way:
            continue
        try:
            other = plan_copy(replace(request, variant=way, explicit=None))
        except PlanDeclined as declined:
            found.append(Alternative(way, None, "not legal", declined.findings))
        else:
            found.append(Alternative(way, other.instruction_count, _why_lost(other, chosen)))
    return tuple(found)


def _why_lost(other: CopyPlan, chosen: CopyPlan | None) -> str:
    if other.vector_bytes:
        return f"all threads copy vectors of {other.vector_bytes} B"
    if chosen is None or chosen.vector_bytes:
        return f"{other.instruction_count} small instructions by one thread cost more"
    if other.instruction_count == chosen.instruction_count:
        return "as many instructions, and a descriptor" if other.tensor_maps else "as many instructions"
    return f"{other.instruction_count} instructions instead of {chosen.instruction_count}"


def explain_text(plan: CopyPlan) -> str:
    """Several lines; the plan must hold its request for the first line and the alternatives."""
    lines = [_headline(plan)]
    for index, tensor_map in enumerate(plan.tensor_maps):
        lines.append(f"  descriptor {index}: {map_text(tensor_map)}")
    lines += [f"  issue: {group_text(group)}" for group in plan.groups]
    lines += [f"  issue: {bulk_text(group)}" for group in plan.bulk_groups]
    lines += [f"  check on the host: {condition_text(c)}" for c in plan.host_checks]
    lines += [f"  guard in the kernel: {condition_text(c)}" for c in plan.guards]
    proven = sum(finding.status is Status.PROVEN for finding in plan.findings)
    lines.append(f"  {proven} of {len(plan.findings)} rules proven")
    if plan.request is not None and plan.variant != "empty":
        lines += [alternative_text(other) for other in alternatives(plan.request, plan)]
    return "\n".join(lines)


def declined_text(request: CopyRequest, declined: PlanDeclined) -> str:
    """The same for a copy without a plan."""
    lines = [f"{_copy_text(request)}: declined"]
    lines += [f"  {finding}" for finding in declined.findings]
    lines += [alternative_text(other) for other in alternatives(request, None) if other.name != request.variant]
    return "\n".join(lines)


def _headline(plan: CopyPlan) -> str:
    what = _copy_text(plan.request) if plan.request is not None else "copy"
    if plan.variant == "empty":
        return f"{what}: nothing to copy"
    if plan.vector_bytes:
        return f"{what}: {plan.variant}, vectors of {plan.vector_bytes} B"
    count = plan.instruction_count
    text = f"{what}: {plan.variant}, {count} instruction{'s' * (count != 1)}"
    text += f", {plan.transaction_bytes} transaction bytes" if plan.transaction_bytes else ""
    return f"{text}, shared tile aligned to {plan.shared_alignment_bytes} B"


def _copy_text(request: CopyRequest) -> str:
    region = request.global_region
    size = request.dtype.bits * math.prod(region.extents) // 8
    start = ", ".join(map(str, region.starts))
    what = request.reduction or request.direction.value
    if request.rows is not None:
        what = f"{'gather' if what == 'load' else 'scatter'} of rows {', '.join(map(str, request.rows))} as {what}"
    if request.im2col is not None:
        what = f"im2col {what}"
    return f"{request.dtype} {what} of {'x'.join(map(str, region.extents))} ({size} B) at ({start})"


def map_text(tensor_map: TensorMap) -> str:
    parts = [
        f"{tensor_map.data_type} dims {_list(tensor_map.dims)}",
        f"strides {_list(tensor_map.strides_bytes)} B",
        f"box {_list(tensor_map.box)}",
        f"swizzle {tensor_map.swizzle.label}",
    ]
    if tensor_map.base_offset_bytes != 0:
        parts.append(f"base + {tensor_map.base_offset_bytes} B")
    if tensor_map.oob_fill is OobFill.NAN:
        parts.append("NaN outside")
    return ", ".join(parts)


def _list(values: tuple) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def coordinate_text(coordinate: Coordinate) -> str:
    text = str(coordinate.numerator)
    return text if coordinate.denominator == 1 else f"({text})/{coordinate.denominator}"


def group_text(group: IssueGroup) -> str:
    start = ", ".join(map(coordinate_text, group.coordinates))
    text = f"descriptor {group.tensor_map} at ({start}), shared byte {group.shared_offset_bytes}"
    if group.mode != "tile":
        text = f"{group.mode}, {text}"
    if group.im2col_offsets:
        text += f", filter offsets {_list(group.im2col_offsets)}"
    for extent, steps, shared in zip(group.loops, group.coordinate_steps, group.shared_steps_bytes, strict=True):
        text += f"; {extent} times, every {_list(steps)} and {shared} B"
    return text


def bulk_text(group: BulkGroup) -> str:
    text = f"{group.size_bytes} B, global byte {group.global_offset_bytes}, shared byte {group.shared_offset_bytes}"
    for extent, step, shared in zip(group.loops, group.global_steps_bytes, group.shared_steps_bytes, strict=True):
        text += f"; {extent} times, every {step} B and {shared} B"
    return text


def condition_text(condition: Condition) -> str:
    tests = []
    if condition.divisor != 1:
        tests.append(f"{condition.value} is a multiple of {condition.divisor}")
    if condition.low is not None or condition.high is not None:
        low = "" if condition.low is None else f"{condition.low} <= "
        high = "" if condition.high is None else f" <= {condition.high}"
        tests.append(f"{low}{condition.value}{high}")
    return f"{' and '.join(tests)} (rule: {condition.finding.rule})"


def alternative_text(other: Alternative) -> str:
    if other.instruction_count is None:
        return f"  not {other.name}: {'; '.join(map(str, other.findings))}"
    return f"  not {other.name}: {other.reason}"


def plan_dict(plan: CopyPlan) -> dict[str, Any]:
    """The plan as JSON-able data; expressions become text."""
    others = alternatives(plan.request, plan) if plan.request is not None and plan.variant != "empty" else ()
    return {
        "variant": plan.variant,
        "instructions": plan.instruction_count,
        "transaction_bytes": plan.transaction_bytes,
        "shared_alignment_bytes": plan.shared_alignment_bytes,
        "vector_bytes": plan.vector_bytes,
        "tensor_maps": [_map_dict(tensor_map) for tensor_map in plan.tensor_maps],
        "groups": [_group_dict(group) for group in plan.groups],
        "bulk_groups": [_bulk_dict(group) for group in plan.bulk_groups],
        "host_checks": [_condition_dict(condition) for condition in plan.host_checks],
        "guards": [_condition_dict(condition) for condition in plan.guards],
        "findings": [_finding_dict(finding) for finding in plan.findings],
        "alternatives": [
            {
                "name": other.name,
                "instructions": other.instruction_count,
                "reason": other.reason,
                "findings": [_finding_dict(finding) for finding in other.findings],
            }
            for other in others
        ],
    }


def _value(value: Any) -> int | str:
    return value if isinstance(value, int) else str(value)


def _map_dict(tensor_map: TensorMap) -> dict[str, Any]:
    return {
        "data_type": tensor_map.data_type,
        "dims": [_value(v) for v in tensor_map.dims],
        "strides_bytes": [_value(v) for v in tensor_map.strides_bytes],
        "box": list(tensor_map.box),
        "element_strides": list(tensor_map.element_strides),
        "swizzle": tensor_map.swizzle.label,
        "l2_promotion_bytes": L2_PROMOTIONS[tensor_map.l2_promotion],
        "oob_fill": "nan" if tensor_map.oob_fill is OobFill.NAN else "zero",
        "base_offset_bytes": _value(tensor_map.base_offset_bytes),
    }


def _group_dict(group: IssueGroup) -> dict[str, Any]:
    return {
        "mode": group.mode,
        "tensor_map": group.tensor_map,
        "im2col_offsets": [_value(offset) for offset in group.im2col_offsets],
        "coordinates": [coordinate_text(c) if c.denominator != 1 else _value(c.numerator) for c in group.coordinates],
        "shared_offset_bytes": _value(group.shared_offset_bytes),
        "loops": list(group.loops),
        "coordinate_steps": [list(steps) for steps in group.coordinate_steps],
        "shared_steps_bytes": list(group.shared_steps_bytes),
    }


def _bulk_dict(group: BulkGroup) -> dict[str, Any]:
    return {
        "size_bytes": group.size_bytes,
        "global_offset_bytes": _value(group.global_offset_bytes),
        "shared_offset_bytes": _value(group.shared_offset_bytes),
        "loops": list(group.loops),
        "global_steps_bytes": list(group.global_steps_bytes),
        "shared_steps_bytes": list(group.shared_steps_bytes),
    }


def _condition_dict(condition: Condition) -> dict[str, Any]:
    return {
        "value": _value(condition.value),
        "divisor": condition.divisor,
        "low": condition.low,
        "high": condition.high,
        "finding": _finding_dict(condition.finding),
    }


def _finding_dict(finding: Finding) -> dict[str, str]:
    return {
        "rule": finding.rule,
        "status": finding.status.value,
        "found": finding.found,
        "needed": finding.needed,
        "remedy": finding.remedy,
    }
