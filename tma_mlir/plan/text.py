"""The parts of a plan in words, for explanations, reports and errors. Driver order, as the hardware counts."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .copy_plan import BulkGroup, Condition, Coordinate, CopyPlan, IssueGroup
from .copy_request import CopyRequest
from .enums import InstructionMode, Scope, Variant
from .tensor_map import OobFill, TensorMap


def count_text(plan: CopyPlan) -> str:
    """``1 instruction``."""
    return f"{plan.instruction_count} instruction{'s' * (plan.instruction_count != 1)}"


def way_text(plan: CopyPlan) -> str:
    """``tma, 1 instruction``, or ``cp_async by one thread, 1024 copies of 4 B``."""
    if not plan.variant.by_threads:
        return f"{plan.variant}, {count_text(plan)}"
    return threads_text(plan.variant, plan.vector_bytes, plan.request)


def threads_text(variant: Variant, vector_bytes: int, request: CopyRequest) -> str:
    """A copy by threads: how, by whom, and how often."""
    count = vector_count(vector_bytes, request)
    return f"{variant} by {_WHO[request.scope]}, {copies_text(count, vector_bytes)}"


_WHO = {Scope.THREAD: "one thread", Scope.WARP: "the threads of a warp", Scope.CTA: "all threads of the block"}


def vector_count(vector_bytes: int, request: CopyRequest) -> int:
    """Accesses of that width that copy everything."""
    return request.dtype.bytes * math.prod(request.global_region.extents) // vector_bytes


def copies_text(count: int, vector_bytes: int) -> str:
    return f"{count} {'copy' if count == 1 else 'copies'} of {vector_bytes} B"


def tensor_map_text(tensor_map: TensorMap, address: int | None = None) -> str:
    """``rank 3, dims 64,8,4, strides 512,128 bytes, box 64,8,4, swizzle 128B, float16`` and what is out of the
    ordinary. With an ``address``: every argument that the driver's encoder gets."""
    complete, im2col = address is not None, tensor_map.im2col
    parts = [f"rank {tensor_map.rank}", f"dims {commas(tensor_map.dims)}"]
    if tensor_map.strides_bytes:
        parts.append(f"strides {commas(tensor_map.strides_bytes)} bytes")
    parts += [f"box {commas(tensor_map.box)}", f"swizzle {tensor_map.swizzle.label}", tensor_map.data_type.lower()]
    if im2col is not None:
        wide = f" ({im2col.wide})" if im2col.wide else ""
        parts.append(f"im2col{wide} corners {commas(im2col.lower_corner)} and {commas(im2col.upper_corner)}")
    if complete or any(step != 1 for step in tensor_map.element_strides):
        parts.append(f"element strides {commas(tensor_map.element_strides)}")
    if complete or tensor_map.oob_fill is not OobFill.ZERO:
        parts.append(f"{tensor_map.oob_fill.name.lower()} outside")
    if complete:
        parts += [f"L2 promotion {tensor_map.l2_promotion.label}", "interleave none"]
        parts.append(f"address {address:#x}")
    elif tensor_map.base_offset_bytes != 0:
        parts.append(f"base offset {tensor_map.base_offset_bytes} bytes")
    return ", ".join(parts)


def commas(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def coordinate_text(coordinate: Coordinate) -> str:
    text = str(coordinate.numerator)
    return text if coordinate.denominator == 1 else f"({text})/{coordinate.denominator}"


def group_text(group: IssueGroup) -> str:
    start = ", ".join(map(coordinate_text, group.coordinates))
    text = f"descriptor {group.tensor_map} at ({start}), shared byte {group.shared_offset_bytes}"
    if group.mode is not InstructionMode.TILE:
        text = f"{group.mode}, {text}"
    if group.im2col_offsets:
        text += f", filter offsets {commas(group.im2col_offsets)}"
    for loop in group.loops:
        text += f"; {loop.extent} times, every {commas(loop.steps)} and {loop.shared_step_bytes} B"
    return text


def bulk_text(group: BulkGroup) -> str:
    text = f"{group.size_bytes} B, global byte {group.global_offset_bytes}, shared byte {group.shared_offset_bytes}"
    for loop in group.loops:
        text += f"; {loop.extent} times, every {commas(loop.steps)} B and {loop.shared_step_bytes} B"
    return text


def condition_text(condition: Condition) -> str:
    tests = []
    if condition.divisor != 1:
        tests.append(f"{condition.value} is a multiple of {condition.divisor}")
    if condition.low is not None or condition.high is not None:
        low = "" if condition.low is None else f"{condition.low} <= "
        high = "" if condition.high is None else f" <= {condition.high}"
        tests.append(f"{low}{condition.value}{high}")
    text = " and ".join(tests)
    if condition.or_divisor:
        text += f", or {condition.or_value} is a multiple of {condition.or_divisor}"
    return f"{text} (rule: {condition.finding.rule})"
