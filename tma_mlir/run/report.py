"""What ``tma-run`` prints of plans and instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ..compile.compiler import PlannedCopy
from ..plan import TensorMap

_BULK = re.compile(r"^\s*(?:@!?%p\d+\s+)?(cp\.(?:reduce\.)?async\.bulk\.(?:tensor\.)?[\w.:]+)", re.MULTILINE)
_NOT_COPIES = ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group")


def plan_lines(planned: PlannedCopy) -> list[str]:
    """One copy's plan for a person."""
    plan = planned.plan
    noun = "instruction" if plan.instruction_count == 1 else "instructions"
    bytes_ = f", {plan.transaction_bytes} bytes on the mbarrier" if plan.transaction_bytes else ""
    lines = [f"{planned.place or planned.kernel}: {plan.variant}, {plan.instruction_count} {noun}{bytes_}"]
    lines += [f"  tensor map: {tensor_map_line(map_)}" for map_ in plan.tensor_maps]
    for condition in (*plan.host_checks, *plan.guards):
        lines.append(f"  checked at launch: {condition.finding.needed} ({condition.value})")
    return lines


def tensor_map_line(map_: TensorMap) -> str:
    """``rank 3, dims 64,8,4, strides 512,128 bytes, box 64,8,4, swizzle 128B``, innermost dimension first."""
    parts = [f"rank {map_.rank}", f"dims {_commas(map_.dims)}"]
    if map_.strides_bytes:
        parts.append(f"strides {_commas(map_.strides_bytes)} bytes")
    parts += [f"box {_commas(map_.box)}", f"swizzle {map_.swizzle.label}", map_.data_type.lower()]
    if map_.base_offset_bytes != 0:
        parts.append(f"base offset {map_.base_offset_bytes} bytes")
    return ", ".join(parts)


def _commas(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def instruction_lines(ptx: str) -> list[str]:
    """Bulk copy instructions in the PTX text, each with how often it is written there."""
    counts = Counter(_BULK.findall(ptx))
    return [f"{count} x {name}" for name, count in counts.items() if not name.startswith(_NOT_COPIES)]
