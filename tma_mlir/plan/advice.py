"""What a plan tells its author although it is legal: that one thread does all the work, or that a layout is slow."""

from __future__ import annotations

from dataclasses import replace

from ..layout.atoms import atom_layout
from ..layout.swizzle import Swizzle, swizzle_mode
from .alternatives import alternatives
from .copy_plan import CopyPlan
from .copy_request import Tile
from .declined import PlanDeclined
from .enums import Scope, Variant
from .planner import plan_copy
from .text import copies_text, count_text, vector_count


def warnings(plan: CopyPlan) -> tuple[str, ...]:
    """What is probably not meant."""
    request = plan.request
    if not plan.variant.by_threads or request.variant is not Variant.AUTO or request.scope is not Scope.THREAD:
        return ()
    count = vector_count(plan.vector_bytes, request)
    if count == 1:
        return ()
    why = next(
        "; ".join(map(str, other.findings)) or f"{other.reason}."
        for other in alternatives(plan)
        if other.name == Variant.TMA
    )
    return (
        f"one thread makes this copy by itself, {copies_text(count, plan.vector_bytes)} ({plan.variant}). "
        f"Not TMA: {why} "
        'Or let all threads of the block execute the copy, with scope = "cta" (those of one warp: "warp")',
    )


def hints(plan: CopyPlan) -> tuple[str, ...]:
    """What would take fewer instructions."""
    atoms = _atoms_hint(plan)
    return () if atoms is None else (atoms,)


def _atoms_hint(plan: CopyPlan) -> str | None:
    """A swizzled row that is wider than the swizzle moves by itself; in atoms the rows of a column of them follow each
    other."""
    request = plan.request
    swizzle = swizzle_mode(request.shared_swizzle)
    if plan.variant is Variant.EMPTY or request.kind != Tile() or plan.instruction_count == 1:
        return None
    if plan.variant.by_threads and request.variant is not Variant.AUTO:
        return None
    if swizzle in (None, Swizzle.NONE):
        return None
    assert swizzle is not None
    try:
        layout = atom_layout(request.shared_shape, request.dtype.tile_bytes, swizzle)
        other = plan_copy(replace(request, shared_layout=layout))
    except (PlanDeclined, ValueError):
        return None
    fewer = plan.variant.by_threads or other.instruction_count < plan.instruction_count
    if other.variant is not Variant.TMA or not fewer:
        return None
    now = str(plan.instruction_count)
    if plan.variant.by_threads:
        now = copies_text(vector_count(plan.vector_bytes, request), plan.vector_bytes)
    side = "destination" if request.is_load else "source"
    return (
        f'{count_text(other)} instead of {now} with {side}_layout = #tile.atoms<"{swizzle.label}">, '
        "the layout that wgmma and tcgen05 read: a row wider than the swizzle moves in parts, each by itself"
    )
