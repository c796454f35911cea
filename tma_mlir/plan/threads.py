"""Copies by ordinary threads: ``cp.async`` (loads) and plain loads and stores, in vectors as wide as is proven."""

from __future__ import annotations

from ..layout.algebra import LayoutError
from ..layout.expr import known_divisor
from ..layout.swizzle import ADDRESS_SWIZZLES, Swizzle, swizzle_period_bytes
from . import rules
from .bulk import rounds
from .copy_plan import Condition, CopyPlan
from .copy_request import CopyRequest
from .declined import PlanDeclined
from .enums import Direction, Variant
from .findings import Status
from .modes import CopyModes, even_parts
from .tensor_map import OobFill


def vector_bytes(request: CopyRequest) -> int:
    """The widest access, at most 16 bytes, along the region's last dimension that is aligned and contiguous in both
    memories and never half outside the tensor. At least the element size."""
    size = request.dtype.bytes
    try:
        parts = [modes for _, modes in even_parts(request)]
    except LayoutError:
        return size
    return min(_widest(request, part) for part in parts)


def _widest(request: CopyRequest, copy: CopyModes) -> int:
    size = request.dtype.bytes
    if not copy.modes:
        return size
    run, *others = copy.modes
    if run.global_bytes != size or run.shared_bytes != size:
        return size
    swizzle = request.shared_swizzle
    if isinstance(swizzle, Swizzle):
        swizzle = ADDRESS_SWIZZLES.get(swizzle)
    distances = [run.extent * size, copy.global_offset_bytes, copy.shared_offset_bytes, run.start * size]
    distances += [request.global_alignment_bytes, request.shared_base_alignment_bytes or 128]
    for mode in (*others, *copy.fixed):
        distances += [mode.global_bytes, mode.shared_bytes]
    if not run.safe:
        distances.append(run.limit * size)
    if swizzle is not None and swizzle.bits:
        distances.append(1 << swizzle.base)
    width = 16
    while width > size and any(known_divisor(distance) % width for distance in distances):
        width //= 2
    return max(width, size)


def _conditions(request: CopyRequest) -> list[Condition]:
    return [
        rules.plain_copy(request.reduction, request.multicast, request.cta_group, rounds(request)),
        rules.swizzle_pattern_known(request.shared_swizzle),
    ]


def plan_cp_async(request: CopyRequest) -> CopyPlan:
    """Every thread copies vectors with ``cp.async``; parts outside the tensor become zero. Raises ``PlanDeclined``."""
    width = vector_bytes(request)
    conditions = [
        *_conditions(request),
        rules.cp_async_direction(request.direction is Direction.LOAD),
        rules.cp_async_size(width),
        rules.cp_async_fill(request.oob_fill is OobFill.ZERO),
    ]
    return _finished(request, Variant.CP_ASYNC, width, conditions)


def plan_simt(request: CopyRequest) -> CopyPlan:
    """Every thread copies vectors through registers. Raises ``PlanDeclined``."""
    return _finished(request, Variant.SIMT, vector_bytes(request), _conditions(request))


def _finished(request: CopyRequest, variant: Variant, width: int, conditions: list[Condition]) -> CopyPlan:
    broken = tuple(c.finding for c in conditions if c.finding.status is not Status.PROVEN)
    if broken:
        raise PlanDeclined(broken)
    alignment = request.shared_base_alignment_bytes or 128
    return CopyPlan(
        variant,
        request,
        vector_bytes=width,
        shared_alignment_bytes=max(width, swizzle_period_bytes(request.shared_swizzle), min(alignment, 16)),
        findings=tuple(c.finding for c in conditions),
    )
