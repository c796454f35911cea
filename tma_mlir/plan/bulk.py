"""Non-tensor ``cp.async.bulk`` copies: one contiguous run an instruction, no descriptor, no fill, no clipping."""

from __future__ import annotations

from ..layout.expr import Expr
from ..layout.swizzle import swizzle_mode
from . import rules
from .copy_plan import BulkGroup, Condition, Loop
from .copy_request import CopyRequest
from .declined import PlanDeclined
from .enums import Direction
from .findings import Finding, Status
from .modes import CopyModes


def rounds(request: CopyRequest) -> bool:
    """Whether the copy changes its elements: loads of tf32 round them."""
    return request.direction is Direction.LOAD and request.dtype.driver == "TFLOAT32"


def plan_bulk_piece(request: CopyRequest, copy: CopyModes) -> tuple[BulkGroup, list[Condition]]:
    """One even piece as bulk copies and the conditions of doing so. Raises ``PlanDeclined`` if a rule forbids it."""
    size = request.dtype.bytes
    modes = copy.merged
    conditions = [
        rules.chip_supported(request.chip),
        rules.plain_copy(request.reduction, request.multicast, request.cta_group, rounds(request)),
        rules.unswizzled(swizzle_mode(request.shared_swizzle)),
        rules.inside_tensor(all(mode.safe for mode in (*modes, *copy.fixed))),
    ]
    run_bytes = size
    if modes and modes[0].shared_bytes == size:
        conditions.append(rules.unit_stride(modes[0].global_bytes, size))
        run_bytes = modes[0].extent * size
    conditions.append(rules.bulk_size(run_bytes))
    looped = modes[1:] if run_bytes > size else modes
    global_offset = copy.global_offset_bytes
    for mode in (*modes, *copy.fixed):
        global_offset = global_offset + mode.start * mode.global_bytes
    conditions.append(rules.bulk_address_alignment(global_offset, request.global_alignment_bytes, "global"))
    shared_alignment = request.shared_base_alignment_bytes or 128
    conditions.append(rules.bulk_address_alignment(copy.shared_offset_bytes, shared_alignment, "shared"))
    loops: list[Loop] = []
    for mode in looped:
        if isinstance(mode.global_bytes, Expr):
            conditions.append(rules.known_step(mode.global_bytes))
            continue
        loops.append(Loop(mode.extent, (mode.global_bytes,), mode.shared_bytes))
        conditions.append(rules.bulk_address_alignment(mode.global_bytes, 16, "global step"))
        conditions.append(rules.bulk_address_alignment(mode.shared_bytes, 16, "shared step"))
    broken = tuple(c.finding for c in conditions if c.finding.status is Status.DISPROVEN)
    if broken:
        raise PlanDeclined(_distinct(broken))
    return BulkGroup(run_bytes, global_offset, copy.shared_offset_bytes, tuple(reversed(loops))), conditions


def _distinct(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(findings))
