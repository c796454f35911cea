"""What ``tma-run`` prints of plans and instructions."""

from __future__ import annotations

import re
from collections import Counter

from ..compile.compiler import PlannedCopy
from ..plan.text import condition_text, tensor_map_text, threads_text, way_text

_BULK = re.compile(r"^\s*(?:@!?%p\d+\s+)?(cp\.(?:reduce\.)?async\.bulk\.(?:tensor\.)?[\w.:]+)", re.MULTILINE)
_NOT_COPIES = ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group")


def plan_lines(planned: PlannedCopy) -> list[str]:
    """One copy's plan for a person."""
    plan = planned.plan
    bytes_ = f", {plan.transaction_bytes} bytes on the mbarrier" if plan.transaction_bytes else ""
    lines = [f"{planned.place or planned.kernel}: {way_text(plan)}{bytes_}"]
    lines += [f"  tensor map: {tensor_map_text(map_)}" for map_ in plan.tensor_maps]
    for condition in plan.host_checks:
        lines.append(f"  checked at launch: {condition.finding.needed} ({condition.value})")
    for condition in plan.guards:
        lines.append(f"  checked in the kernel: {condition_text(condition)}")
    if plan.fallback is not None:
        lines.append(f"  otherwise: {threads_text(plan.fallback.variant, plan.fallback.vector_bytes, plan.request)}")
    return lines


def instruction_lines(ptx: str) -> list[str]:
    """Bulk copy instructions in the PTX text, each with how often it is written there."""
    counts = Counter(_BULK.findall(ptx))
    return [f"{count} x {name}" for name, count in counts.items() if not name.startswith(_NOT_COPIES)]
