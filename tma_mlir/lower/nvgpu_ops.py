"""Builders of the nvgpu operations that copies become. Some builds of the bindings know the dialect without having its
generated builders.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings import ir


def _make(
    name: str, groups: Sequence[Sequence[ir.Value]], results: Sequence[ir.Type] = (), segments: bool = False
) -> ir.Operation:
    attributes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(each) for each in groups])} if segments else {}
    operands = [value for group in groups for value in group]
    return ir.Operation.create(f"nvgpu.{name}", results=list(results), operands=operands, attributes=attributes)


def mbarrier_create(type: ir.Type) -> ir.Value:
    return _make("mbarrier.create", (), [type]).result


def mbarrier_init(barriers: ir.Value, count: ir.Value, index: ir.Value) -> None:
    _make("mbarrier.init", [[barriers, count, index]])


def mbarrier_arrive_expect_tx(barriers: ir.Value, byte_count: ir.Value, index: ir.Value) -> None:
    _make("mbarrier.arrive.expect_tx", [[barriers, byte_count, index]])


def mbarrier_try_wait_parity(barriers: ir.Value, parity: ir.Value, ticks: ir.Value, index: ir.Value) -> None:
    _make("mbarrier.try_wait.parity", [[barriers, parity, ticks, index]])


def tma_create_descriptor(type: ir.Type, tensor: ir.Value, box: Sequence[ir.Value]) -> ir.Value:
    return _make("tma.create.descriptor", [[tensor, *box]], [type]).result


def tma_fence_descriptor(descriptor: ir.Value) -> None:
    _make("tma.fence.descriptor", [[descriptor]])


def tma_prefetch_descriptor(descriptor: ir.Value) -> None:
    _make("tma.prefetch.descriptor", [[descriptor]])


def tma_async_load(
    tile: ir.Value,
    barriers: ir.Value,
    descriptor: ir.Value,
    coordinates: Sequence[ir.Value],
    index: ir.Value,
    *,
    multicast_mask: ir.Value | None = None,
) -> None:
    mask = [] if multicast_mask is None else [multicast_mask]
    _make("tma.async.load", [[tile], [barriers], [descriptor], coordinates, [index], mask, []], segments=True)


def tma_async_store(tile: ir.Value, descriptor: ir.Value, coordinates: Sequence[ir.Value]) -> None:
    _make("tma.async.store", [[tile], [descriptor], coordinates, []], segments=True)
