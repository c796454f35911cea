"""Plan every copy of a corpus and compare with what two other planners chose: ``compare_plans.py plan_corpus.json``.

A row falls short if it has a legal plan elsewhere but none here, if ours fails its self-check, or if ours needs more
instructions than the best legal one of theirs; where theirs needs more than 8, ours must need at most a tenth (or the
one instruction every copy needs).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass

from checkout import existing_file
from plan_corpus import OutOfScopeError, read_copy

from tma_mlir.chips import DEFAULT_CHIP, shared_bytes
from tma_mlir.dtypes import DRIVER_BYTES
from tma_mlir.plan import PlanDeclined, Status, plan_copy, rules
from tma_mlir.plan.check import check_plan

TENTH_FROM = 8


@dataclass(frozen=True)
class Row:
    """One line of the table; counts are None where there is no legal plan."""

    name: str
    ours: int | None
    theirs: int | None
    variant: str
    problems: tuple[str, ...]


def legal_count(row: dict) -> int | None:
    """Instructions of the best of their plans that the hardware executes correctly."""
    if forbidden(row["inputs"]):
        return None
    counts = []
    for plan in row["tirx"].values():
        if plan is None or "declined" in plan or "issue_count" not in plan:
            continue
        simulated = plan.get("simulated", "")
        if simulated.startswith(("illegal", "wrong")) or breaks_a_rule(plan, row["inputs"]["shared"]):
            continue
        counts.append(plan["issue_count"])
    return min(counts, default=None)


def forbidden(inputs: dict) -> bool:
    """No tensor-map copy exists for this row, whatever its descriptor: their model looks at descriptors only."""
    config, is_store = inputs["config"], inputs["direction"] == "s2g"
    driver = _driver_name(inputs["dtype"])
    size = DRIVER_BYTES.get(driver, 1)
    asked = [
        rules.reduction_supported(config.get("use_tma_reduce"), driver),
        rules.reduction_direction(config.get("use_tma_reduce"), is_store),
        rules.multicast_direction("cta_mask" in config, is_store),
        rules.cta_group_supported(config.get("cta_group", 1), inputs["target"]),
        rules.shared_address_alignment(inputs["shared"].get("elem_offset", 0) * size),
    ]
    return any(condition.finding.status is not Status.PROVEN for condition in asked)


def breaks_a_rule(plan: dict, shared: dict) -> bool:
    """Rules their model does not know: the size of a box, 16-byte innermost starts, 128-byte shared addresses."""
    size = DRIVER_BYTES.get(_driver_name(plan["descriptor_dtype"]), 1)
    start = plan["coordinates"][0]
    box = math.prod(plan["box_dims"]) * size if all(isinstance(b, int) for b in plan["box_dims"]) else 0
    strides = [s for s in shared["layout"].get("strides") or () if s != 1]
    stepped = plan["issue_count"] > 1 and any(s * size % 128 for s in strides)
    return box > shared_bytes(DEFAULT_CHIP) or stepped or (isinstance(start, int) and start * size % 16 != 0)


def _driver_name(name: str) -> str:
    return "UINT8" if name == "int8" or name.startswith("float8") else name.upper()


def compare(row: dict) -> Row:
    name = row["id"] + (f" ({row['name']})" if "name" in row else "")
    theirs = legal_count(row)
    try:
        copy = read_copy(row["inputs"])
    except OutOfScopeError as reason:
        return Row(name, None, None, f"out of scope: {reason}", ())
    try:
        plan = plan_copy(copy.request)
    except PlanDeclined as declined:
        reason = str(declined.findings[0]) if declined.findings else "no reason"
        problems = () if theirs is None else ("no plan where there is one",)
        return Row(name, None, theirs, f"declined: {reason}", problems)
    problems = tuple(check_plan(copy.request, plan, copy.symbols))
    ours = plan.instruction_count
    if theirs is not None and not problems:
        allowed = max(1, theirs // 10) if theirs > TENTH_FROM else theirs
        if ours > allowed:
            problems = (f"{ours} instructions, {allowed} allowed",)
    return Row(name, ours, theirs, plan.variant, problems)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=existing_file, help="plan_corpus.json")
    parser.add_argument("--short", action="store_true", help="only rows that differ or fall short")
    options = parser.parse_args()
    data = json.loads(options.data.read_text())
    rows = [compare(row) for section in ("cases", "sweep", "probes") for row in data[section]]
    print(f"{'copy':60} {'ours':>6} {'theirs':>7}  how")
    for row in rows:
        if options.short and not row.problems and row.ours == row.theirs:
            continue
        ours, theirs = ("-" if count is None else count for count in (row.ours, row.theirs))
        print(f"{row.name[:60]:60} {ours:>6} {theirs:>7}  {row.variant} {'; '.join(row.problems)}".rstrip())
    compared = [row for row in rows if row.theirs is not None]
    failed = [row for row in rows if row.problems]
    planned = sum(row.ours is not None for row in rows)
    print(f"{len(rows)} rows, {planned} planned, {len(compared)} with a legal plan elsewhere")
    print(
        f"instructions where both plan: ours {sum(r.ours or 0 for r in compared)}, "
        f"theirs {sum(r.theirs or 0 for r in compared)}; fewer in "
        f"{sum(r.ours is not None and r.theirs is not None and r.ours < r.theirs for r in compared)} rows"
    )
    print(f"{len(failed)} rows fall short")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
