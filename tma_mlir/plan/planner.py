"""Plan one copy: every variant that is legal, the cheapest of them chosen."""

from __future__ import annotations

from ..layout.algebra import LayoutError
from ..layout.expr import Expr
from ..layout.swizzle import Swizzle, swizzle_mode, swizzle_period_bytes
from . import rules
from .copy_plan import Condition, CopyPlan, IssueGroup
from .copy_request import CopyRequest, Direction
from .declined import PlanDeclined
from .findings import Finding, Status
from .modes import copy_modes, even_parts
from .tensor_map import TensorMap
from .tensor_search import Dim, Piece, plan_piece


def plan_copy(request: CopyRequest) -> CopyPlan:
    """The best legal plan. Raises ``PlanDeclined`` if none is, or if the variant asked for is not legal."""
    if 0 in request.global_region.extents:
        return CopyPlan("empty")
    return plan_tensor_maps(request)


def plan_tensor_maps(request: CopyRequest) -> CopyPlan:
    """The tensor-map plan with the fewest instructions. Raises ``PlanDeclined``."""
    conditions = _request_conditions(request)
    swizzle = swizzle_mode(request.shared_swizzle)
    assert swizzle is not None
    try:
        parts = even_parts(request)
        total = Piece()
        for part in parts:
            total.add(plan_piece(part, copy_modes(part), swizzle))
    except LayoutError as error:
        raise PlanDeclined((Finding("common pieces", Status.DISPROVEN, str(error), "layouts that nest"),)) from None
    for tensor_map in total.maps:
        conditions += map_conditions(tensor_map, request)
    for group, dims in zip(total.groups, total.dims, strict=True):
        conditions += group_conditions(group, dims, total.maps[group.tensor_map], request)
    return finished(request, tuple(total.maps), tuple(total.groups), conditions)


def _request_conditions(request: CopyRequest) -> list[Condition]:
    is_store = request.direction is Direction.STORE
    driver = request.dtype.driver
    conditions = [
        rules.chip_supported(request.chip),
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
        tensor_map.data_type,
        tensor_map.dims,
        tensor_map.strides_bytes,
        tensor_map.box,
        tensor_map.element_strides,
        tensor_map.swizzle,
        l2_promotion_index=tensor_map.l2_promotion,
        fill=tensor_map.oob_fill,
        address_bytes=tensor_map.base_offset_bytes,
        known_alignment=request.global_alignment_bytes,
        chip=request.chip,
    )
    conditions.append(
        rules.known_on_host((*tensor_map.dims, *tensor_map.strides_bytes, tensor_map.base_offset_bytes))
    )
    return conditions


def group_conditions(
    group: IssueGroup, dims: list[Dim], tensor_map: TensorMap, request: CopyRequest
) -> list[Condition]:
    """The execution rules on all instructions of one group."""
    is_store = request.direction is Direction.STORE
    first = dims[0]
    conditions = [rules.start_coordinate_alignment(first.start * (tensor_map.element_bytes // first.denominator))]
    conditions.append(rules.shared_address_alignment(group.shared_offset_bytes))
    for steps, shared_step in zip(group.coordinate_steps, group.shared_steps_bytes, strict=True):
        conditions.append(rules.start_coordinate_alignment(steps[0] * tensor_map.element_bytes))
        conditions.append(rules.shared_address_alignment(shared_step))
    for index, (dim, coordinate) in enumerate(zip(dims, group.coordinates, strict=True)):
        if coordinate.denominator == 1:
            conditions.append(rules.coordinate_range(coordinate.numerator, index))
        if is_store and not dim.low_safe:
            conditions.append(rules.negative_coordinate_on_store(dim.start, index))
    if is_store and not first.high_safe:
        conditions.append(rules.store_clip_granularity(first.limit * tensor_map.element_bytes))
    return conditions


def finished(
    request: CopyRequest,
    maps: tuple[TensorMap, ...],
    groups: tuple[IssueGroup, ...],
    conditions: list[Condition],
    variant: str = "tma",
) -> CopyPlan:
    """The plan, its open conditions sorted into host checks and guards. Raises ``PlanDeclined`` if one is disproven."""
    _raise_disproven(conditions)
    open_conditions = [c for c in conditions if c.finding.status is Status.UNKNOWN]
    host = tuple(dict.fromkeys(c for c in open_conditions if _is_host(c)))
    guards = tuple(dict.fromkeys(c for c in open_conditions if not _is_host(c)))
    transaction = 0
    if request.direction is Direction.LOAD:
        transaction = sum(maps[g.tensor_map].transaction_bytes * g.instruction_count for g in groups)
    return CopyPlan(
        variant,
        maps,
        groups,
        transaction_bytes=transaction,
        shared_alignment_bytes=max(128, *(m.swizzle.span_bytes * 8 for m in maps)),
        host_checks=host,
        guards=guards,
        findings=tuple(dict.fromkeys(c.finding for c in conditions)),
    )


def _is_host(condition: Condition) -> bool:
    value = condition.value
    return not isinstance(value, Expr) or all(symbol.host for symbol in value.symbols())


__all__ = ["Swizzle", "plan_copy", "plan_tensor_maps"]
