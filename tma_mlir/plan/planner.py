"""Plan one copy: every variant that is legal, the cheapest of them chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ..layout.algebra import LayoutError
from ..layout.expr import exact_div, known_divisor
from ..layout.swizzle import Swizzle, effective_swizzle, swizzle_mode, swizzle_period_bytes
from . import rules
from .bulk import plan_bulk_piece
from .copy_plan import BulkGroup, Condition, CopyPlan, IssueGroup
from .copy_request import CopyRequest, Gather, Im2colWalk
from .declined import PlanDeclined
from .descriptor_dims import Dim
from .enums import Direction, Variant
from .explicit import plan_explicit
from .findings import USE_TENSOR_MAP, WITHOUT, Finding, Status
from .gather import plan_gather
from .im2col import plan_im2col
from .modes import CopyModes, cut_request, even_parts
from .open_conditions import promises, split_conditions, thread_fallback
from .packed import plan_packed
from .tensor_map import TensorMap
from .tensor_search import Piece, plan_piece
from .threads import plan_cp_async, plan_simt

ISSUE_BYTES = 512
"""What one bulk instruction costs besides its bytes, in bytes moved. An estimate: 2 KiB an instruction was measured to
cost nothing (docs/hardware.md, what is fast), smaller ones were not measured."""
MOST_DESCRIPTORS = 4
"""Descriptors one copy may use up before threads are preferred: each is 128 bytes of at most 4096 of parameters."""
THREAD_COPY_BYTES = 4096
"""What a copy by threads costs besides its bytes: addresses and instructions of all threads. An estimate."""


REMEMBERED = 4096
"""Plans kept for requests that come again."""

_plans: dict[CopyRequest, CopyPlan | PlanDeclined] = {}


def plan_copy(request: CopyRequest) -> CopyPlan:
    """The best legal plan, remembered by request.

    Raises ``PlanDeclined`` if there is none, or if the variant asked for is not legal.
    """
    found = _plans.get(request)
    if found is None:
        if len(_plans) >= REMEMBERED:
            _plans.clear()
        try:
            found = _planned(request)
        except PlanDeclined as declined:
            found = declined
        _plans[request] = found
    if isinstance(found, PlanDeclined):
        raise PlanDeclined(found.findings, found.alternatives)
    return found


def forget_plans() -> None:
    """Plan every request anew from here on."""
    _plans.clear()


def _planned(request: CopyRequest) -> CopyPlan:
    check_request(request)
    if 0 in request.global_region.extents:
        return CopyPlan(Variant.EMPTY, request)
    if request.dtype.packed:
        return _plan_alone(request, plan_packed)
    if isinstance(request.kind, Gather | Im2colWalk):
        return _plan_row_mode(request)
    if request.variant in _ONE_WAY:
        return _ONE_WAY[request.variant](request)
    try:
        plan = plan_bulk_copies(request, (Variant.BULK, Variant.TMA))
    except PlanDeclined as declined:
        return _thread_plan(request, declined)
    return plan if _worth_issuing(request, plan) else _thread_plan_or(request, plan)


def check_request(request: CopyRequest) -> None:
    """Raises ``ValueError`` for a request that describes no copy."""
    region, shared = request.global_region, request.shared_region
    for name, shape, part in (("global", request.global_shape, region), ("shared", request.shared_shape, shared)):
        if not len(shape) == len(part.starts) == len(part.extents):
            raise ValueError(f"the {name} region has {len(part.extents)} dimensions, its tensor {len(shape)}")
    if min(region.extents, default=1) < 0 or math.prod(region.extents) != math.prod(shared.extents):
        raise ValueError(f"regions of {region.extents} and {shared.extents} elements cannot be copied to each other")
    for start, extent, size in zip(shared.starts, shared.extents, request.shared_shape, strict=True):
        if isinstance(start, int) and not 0 <= start <= size - extent:
            raise ValueError(f"elements {start}..{start + extent} leave a shared tile of {size}")
    if request.variant is Variant.EMPTY:
        raise ValueError("no copy is asked to be empty")


def _plan_explicit_copy(request: CopyRequest) -> CopyPlan:
    conditions = _request_conditions(request)
    piece, own = plan_explicit(request)
    conditions += [*own, *instruction_conditions(piece, request)]
    return finished(request, piece, (), conditions)


def _plan_row_mode(request: CopyRequest) -> CopyPlan:
    """Gathers, scatters and im2col copies, which no other way can make."""
    way = rules.way_of_mode(request.variant)
    return _plan_alone(request, plan_gather if isinstance(request.kind, Gather) else plan_im2col, way)


def _plan_alone(request: CopyRequest, plan: Callable[[CopyRequest], Piece], *first: Condition) -> CopyPlan:
    """A copy that nothing but ``plan`` can make."""
    conditions = [*first, *_request_conditions(request)]
    piece = plan(request)
    conditions += piece.conditions
    for tensor_map in piece.maps:
        conditions += map_conditions(tensor_map, request)
    _raise_disproven(conditions)
    return finished(request, piece, (), conditions)


def _thread_plan(request: CopyRequest, declined: PlanDeclined) -> CopyPlan:
    try:
        return plan_cp_async(request)
    except PlanDeclined:
        pass
    try:
        return plan_simt(request)
    except PlanDeclined as last:
        said = {(each.rule, each.found) for each in declined.findings}
        more = (each for each in dict.fromkeys(last.findings) if (each.rule, each.found) not in said)
        raise PlanDeclined((*declined.findings, *more)) from None


def _worth_issuing(request: CopyRequest, plan: CopyPlan) -> bool:
    count = plan.instruction_count
    if len(plan.tensor_maps) > MOST_DESCRIPTORS:
        return False
    if count <= THREAD_COPY_BYTES // ISSUE_BYTES:
        return True
    size = request.dtype.bytes * math.prod(request.global_region.extents)
    return count * ISSUE_BYTES <= size // 4 + THREAD_COPY_BYTES


def _thread_plan_or(request: CopyRequest, plan: CopyPlan) -> CopyPlan:
    for thread_plan in (plan_cp_async, plan_simt):
        try:
            found = thread_plan(request)
        except PlanDeclined:
            continue
        if found.vector_bytes >= 8:
            return found
    return plan


def plan_bulk_copies(request: CopyRequest, ways: tuple[Variant, ...]) -> CopyPlan:
    """Bulk asynchronous copies, with or without tensor maps: for each even piece the first of ``ways`` that needs
    fewest instructions. Raises ``PlanDeclined`` where no way is legal."""
    conditions: list[Condition] = []
    total = Piece()
    bulk_groups: list[BulkGroup] = []
    kept = without_negative_starts(_with_effective_swizzle(request))
    if kept is None:
        return CopyPlan(Variant.EMPTY, request)
    try:
        parts = even_parts(kept)
        for part, modes in parts:
            _plan_part(part, modes, ways, total, bulk_groups, conditions)
    except LayoutError as error:
        raise PlanDeclined((rules.common_pieces(str(error)).finding,)) from None
    return finished(request, total, tuple(bulk_groups), conditions)


def _with_effective_swizzle(request: CopyRequest) -> CopyRequest:
    layout = request.shared_layout
    if request.shared_swizzle is None or request.shared_base_alignment_bytes is not None:
        return request
    last = layout.offset
    for extent, stride in zip(layout.extents, layout.strides, strict=True):
        last = last + (extent - 1) * stride
    if not isinstance(last, int):
        return request
    left = effective_swizzle(request.shared_swizzle, (last + 1) * request.dtype.bytes)
    return request if left is request.shared_swizzle else replace(request, shared_swizzle=left)


def without_negative_starts(request: CopyRequest) -> CopyRequest | None:
    """A store without the part that starts before the tensor, which is dropped anyway; None if nothing is left.

    The hardware clips stores at the tensor's end only (docs/hardware.md, execution rule 2).
    """
    if request.direction is Direction.LOAD or request.in_bounds:
        return request
    while True:
        region = request.global_region
        starts = [s if isinstance(s, int) else 0 for s in region.starts]
        if any(start <= -extent for start, extent in zip(starts, region.extents, strict=True)):
            return None
        dim = next((d for d, start in enumerate(starts) if start < 0), None)
        left, right = ([e for e in r.extents if e != 1] for r in (region, request.shared_region))
        if dim is None or left != right:
            return request
        position = sum(extent != 1 for extent in region.extents[:dim])
        request = cut_request(request, position, -starts[dim])[1]


def _plan_part(
    part: CopyRequest,
    modes: CopyModes,
    ways: tuple[Variant, ...],
    total: Piece,
    bulk_groups: list[BulkGroup],
    conditions: list[Condition],
) -> None:
    refused: list[Finding] = []
    best: tuple[int, object, list[Condition]] | None = None
    for way in ways:
        try:
            if way is Variant.BULK:
                group, own = plan_bulk_piece(part, modes)
                candidate = (group.instruction_count, group, own)
            else:
                piece, own = _plan_tensor_part(part, modes)
                candidate = (piece.cost[0], piece, own)
        except PlanDeclined as declined:
            # The tensor map's reasons first: it is the most able way.
            refused = [*declined.findings, *refused] if way is Variant.TMA else [*refused, *declined.findings]
            continue
        if best is None or candidate[0] < best[0]:
            best = candidate
        if best[0] == 1:
            break
    if best is None:
        if Variant.TMA in ways:  # the others cannot send there
            refused = [replace(each, remedy=WITHOUT) if each.remedy == USE_TENSOR_MAP else each for each in refused]
        raise PlanDeclined(tuple(dict.fromkeys(refused)))
    conditions += best[2]
    if isinstance(best[1], BulkGroup):
        bulk_groups.append(best[1])
    elif isinstance(best[1], Piece):
        total.add(best[1])


def _plan_tensor_part(part: CopyRequest, modes: CopyModes) -> tuple[Piece, list[Condition]]:
    conditions = _request_conditions(part)
    swizzle = swizzle_mode(part.shared_swizzle)
    assert swizzle is not None
    try:
        piece = plan_piece(part, modes, swizzle)
        return piece, conditions + instruction_conditions(piece, part)
    except PlanDeclined as declined:
        if not declined.only_by(rules.shared_address_alignment, rules.rank):
            raise
        piece = _irregular_piece(part, modes, swizzle, declined)
        return piece, conditions + instruction_conditions(piece, part)


def _irregular_piece(part: CopyRequest, modes: CopyModes, swizzle: Swizzle, declined: PlanDeclined) -> Piece:
    from .interval_search import plan_intervals

    try:
        return plan_intervals(part, modes, swizzle)
    except PlanDeclined:
        raise declined from None


def instruction_conditions(piece: Piece, request: CopyRequest) -> list[Condition]:
    """All rules on the descriptors and the instructions. Raises ``PlanDeclined`` for those that are broken."""
    conditions = list(piece.conditions)
    for tensor_map in piece.maps:
        conditions += map_conditions(tensor_map, request)
    for group, dims in zip(piece.groups, piece.dims, strict=True):
        conditions += group_conditions(group, dims, piece.maps[group.tensor_map], request)
    _raise_disproven(conditions)
    return conditions


def _request_conditions(request: CopyRequest) -> list[Condition]:
    is_store = request.direction is Direction.STORE
    driver = request.dtype.driver
    conditions = [
        rules.chip_supported(request.chip),
        rules.host_tensor(request.host_tensor),
        rules.cta_group_supported(request.cta_group, request.chip),
        rules.multicast_direction(request.multicast, is_store),
        rules.reduction_direction(request.reduction, is_store),
        rules.reduction_supported(request.reduction, driver),
        rules.swizzle_recognised(request.shared_swizzle),
        rules.swizzle_phase(request.shared_base_alignment_bytes, swizzle_period_bytes(request.shared_swizzle)),
        rules.shared_base_alignment(request.shared_base_alignment_bytes),
    ]
    if not is_store:
        conditions.append(rules.oob_fill_type(request.oob_fill, driver))
    _raise_disproven(conditions)
    return conditions


def _raise_disproven(conditions: list[Condition]) -> None:
    broken = tuple(c.finding for c in conditions if c.finding.status is Status.DISPROVEN)
    if broken:
        raise PlanDeclined(broken)


def map_conditions(tensor_map: TensorMap, request: CopyRequest) -> list[Condition]:
    """The encoding rules on one descriptor; all of it must be known on the host."""
    conditions = rules.encode_conditions(
        tensor_map,
        address_bytes=tensor_map.base_offset_bytes,
        known_alignment=request.global_alignment_bytes,
        chip=request.chip,
    )
    conditions.append(rules.known_on_host((*tensor_map.dims, *tensor_map.strides_bytes, tensor_map.base_offset_bytes)))
    return conditions


def group_conditions(
    group: IssueGroup, dims: list[Dim], tensor_map: TensorMap, request: CopyRequest
) -> list[Condition]:
    """The execution rules on all instructions of one group."""
    is_store = request.direction is Direction.STORE
    first = dims[0]
    conditions = [rules.start_coordinate_alignment(first.start * (tensor_map.element_bytes // first.denominator))]
    conditions.append(rules.shared_address_alignment(group.shared_offset_bytes))
    for loop in group.loops:
        conditions.append(rules.start_coordinate_alignment(loop.steps[0] * tensor_map.element_bytes))
        conditions.append(rules.shared_address_alignment(loop.shared_step_bytes))
    for index, (dim, coordinate) in enumerate(zip(dims, group.coordinates, strict=True)):
        if coordinate.denominator == 1:
            conditions.append(rules.coordinate_range(coordinate.numerator, index, request.starts_fit_32_bits))
        if is_store and not dim.low_safe:
            conditions.append(rules.negative_coordinate_on_store(dim.start, index))
    if is_store and not first.high_safe:
        conditions.append(_clip_condition(group, first, tensor_map, request))
    return conditions


def _clip_condition(group: IssueGroup, first: Dim, tensor_map: TensorMap, request: CopyRequest) -> Condition:
    """A store that passes the inner end of the tensor needs rows of whole 16 bytes. Where threads can copy the tiles
    that stick out, it is enough that this one does not."""
    clip = rules.store_clip_granularity(first.limit * tensor_map.element_bytes)
    if clip.finding.status is Status.PROVEN or thread_fallback(request) is None:
        return clip
    reach = first.box + sum((loop.extent - 1) * loop.steps[0] for loop in group.loops)
    room = (first.limit - reach) * first.denominator - first.start
    if known_divisor(room) % first.denominator == 0:
        room = exact_div(room, first.denominator)
    inside = rules.store_inside(room)
    if inside.finding.status is not Status.UNKNOWN:
        return clip
    if clip.finding.status is Status.DISPROVEN:
        return inside
    return replace(inside, or_value=clip.value, or_divisor=clip.divisor)


def finished(
    request: CopyRequest, piece: Piece, bulk_groups: tuple[BulkGroup, ...], conditions: list[Condition]
) -> CopyPlan:
    """The plan, its open conditions sorted into host checks and guards."""
    if piece.maps:
        conditions = [*conditions, *promises(request)]
    open_conditions = [c for c in conditions if c.finding.status is Status.UNKNOWN]
    transaction = 0
    if request.direction is Direction.LOAD:
        transaction = sum(
            piece.maps[g.tensor_map].transaction_bytes * g.mode.boxes * g.instruction_count for g in piece.groups
        )
        transaction += sum(g.size_bytes * g.instruction_count for g in bulk_groups)
    alignment = max(128 if piece.maps else 16, swizzle_period_bytes(request.shared_swizzle))
    fallback = thread_fallback(request) if open_conditions else None
    checks, guards = split_conditions(open_conditions, keep=fallback is None and bool(piece.maps))
    return CopyPlan(
        Variant.TMA if piece.maps else Variant.BULK,
        request,
        tuple(piece.maps),
        tuple(piece.groups),
        bulk_groups,
        transaction_bytes=transaction,
        shared_alignment_bytes=alignment,
        host_checks=checks,
        guards=guards,
        fallback=fallback if guards else None,
        findings=tuple({id(c.finding): c.finding for c in conditions}.values()),
    )


_ONE_WAY: dict[Variant, Callable[[CopyRequest], CopyPlan]] = {
    Variant.TMA: lambda request: plan_bulk_copies(request, (Variant.TMA,)),
    Variant.TMA_EXPLICIT: _plan_explicit_copy,
    Variant.BULK: lambda request: plan_bulk_copies(request, (Variant.BULK,)),
    Variant.CP_ASYNC: plan_cp_async,
    Variant.SIMT: plan_simt,
}
"""The planner of every variant but ``auto``."""
