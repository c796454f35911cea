"""The other ways to make a copy: what each would cost, or the rules that forbid it."""

from __future__ import annotations

from dataclasses import replace

from .copy_plan import Alternative, CopyPlan
from .copy_request import CopyRequest, Tile
from .declined import PlanDeclined
from .enums import Variant
from .planner import plan_copy
from .text import copies_text, count_text, vector_count

WAYS = (Variant.TMA, Variant.BULK, Variant.CP_ASYNC, Variant.SIMT)


def alternatives(plan: CopyPlan) -> tuple[Alternative, ...]:
    """Every other way to make the copy: its cost and why it lost, or the rules that forbid it."""
    return other_ways(plan.request, plan)


def other_ways(request: CopyRequest, chosen: CopyPlan | None) -> tuple[Alternative, ...]:
    """``alternatives`` of a plan, or of a request that was declined."""
    kind = Tile() if isinstance(request.kind, Tile) else request.kind
    found: list[Alternative] = []
    for way in WAYS:
        if chosen is not None and chosen.variant is way:
            continue
        try:
            other = plan_copy(replace(request, variant=way, kind=kind))
        except PlanDeclined as declined:
            found.append(Alternative(way, None, "not legal", declined.findings))
        else:
            found.append(Alternative(way, other.instruction_count, _why_lost(other, chosen)))
    return tuple(found)


def _why_lost(other: CopyPlan, chosen: CopyPlan | None) -> str:
    if other.vector_bytes:
        copies = copies_text(vector_count(other.vector_bytes, other.request), other.vector_bytes)
        if chosen is None:
            return f"{copies} by threads"
        if chosen.vector_bytes:
            return f"the same {copies}, through registers"
        return f"{count_text(chosen)} instead of {copies} by threads"
    if chosen is None or chosen.vector_bytes:
        return f"{other.instruction_count} small instructions by one thread cost more"
    if other.instruction_count == chosen.instruction_count:
        return "as many instructions, and a descriptor" if other.tensor_maps else "as many instructions"
    return f"{other.instruction_count} instructions instead of {chosen.instruction_count}"
