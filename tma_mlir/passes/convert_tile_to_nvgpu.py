"""``convert-tile-to-nvgpu``: turns planned copies into TMA instructions.

nvgpu says what it can; what it cannot (another element type than the memref's, a box narrower than its swizzle,
traversal strides) becomes the nvvm operation. Descriptors become ``tile.create_descriptor`` at the top of the kernel,
one for each distinct tensor map and tensor.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from mlir import ir
from mlir.dialects import nvgpu, scf

from ..analysis.copy_requests import offset_values
from ..analysis.global_views import kernel_argument
from ..analysis.ir_access import copies_in
from ..analysis.shared_tiles import placement, raise_alignment
from ..dialect.memrefs import read_memref
from ..dialect.plan_attr import read_plan
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError
from ..lower.descriptors import DescriptorPool
from ..lower.index_builder import add, build, constant, materialize, multiply
from ..lower.tma_issue import Issue, emit_issue
from ..plan import CopyPlan, IssueGroup
from .registry import Pass

MAX_UNROLLED = 8
"""Instructions of one loop nest that are written out; more become an ``scf.for``."""


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    pool = DescriptorPool()
    for copy in copies_in(op):
        attributes = copy.operation.attributes
        if "plan" not in attributes:
            raise TileError(copy.operation.location, "'tile.copy_async' op has no plan. Run tile-plan-copies first")
        plan = read_plan(attributes["plan"])
        if plan.variant not in ("tma", "empty"):
            raise TileError(
                copy.operation.location,
                f"'tile.copy_async' op is planned as '{plan.variant}', which this pass cannot lower yet",
            )
        with copy.operation.context, copy.operation.location, ir.InsertionPoint(copy.operation):
            _lower(copy, plan, pool)
        copy.operation.erase()


def _lower(copy: CopyAsyncOp, plan: CopyPlan, pool: DescriptorPool) -> None:
    is_load = copy.mbarrier is not None
    tensor, tile = (copy.source, copy.destination) if is_load else (copy.destination, copy.source)
    argument = kernel_argument(tensor)
    if argument is None:
        raise TileError(
            copy.operation.location,
            "'tile.copy_async' op needs a descriptor that the host can encode, but its global side is not an argument "
            "of a gpu.func (nor a static view of one). Pass the tensor to the kernel and give offsets to the copy",
        )
    memref = read_memref(tile.type)
    assert memref is not None
    from ..dtypes import dtype

    element_bytes = dtype(memref.element).bytes
    if not raise_alignment(placement(tile, element_bytes).root, plan.shared_alignment_bytes):
        raise TileError(
            copy.operation.location,
            f"'tile.copy_async' op needs shared memory aligned to {plan.shared_alignment_bytes} bytes, and cannot see "
            "where its tile is reserved. Use a memref.global, a workgroup attribution or gpu.dynamic_shared_memory",
        )
    if copy.predicate is not None:
        branch = scf.IfOp(copy.predicate)
        with ir.InsertionPoint(branch.then_block):
            _issue(copy, plan, argument, tile, is_load, pool)
            scf.yield_([])
        return
    _issue(copy, plan, argument, tile, is_load, pool)


def _issue(
    copy: CopyAsyncOp, plan: CopyPlan, argument: ir.BlockArgument, tile: ir.Value, is_load: bool, pool: DescriptorPool
) -> None:
    if is_load and plan.transaction_bytes and "expect_tx" in copy.operation.attributes:
        nvgpu.mbarrier_arrive_expect_tx(copy.mbarrier, constant(plan.transaction_bytes), copy.mbarrier_index)
    values = offset_values(copy)
    for group in plan.groups:
        map_ = plan.tensor_maps[group.tensor_map]
        descriptor = pool.get(argument, map_, plan.host_checks)
        starts = [build(each.numerator, values) for each in group.coordinates]
        offset = build(group.shared_offset_bytes, values)

        def emit(
            indices: list[int | ir.Value], group=group, map_=map_, descriptor=descriptor, starts=starts, offset=offset
        ):
            coordinates = list(starts)
            shared_offset = offset
            for index, steps, shared_step in zip(
                indices, group.coordinate_steps, group.shared_steps_bytes, strict=True
            ):
                coordinates = [add(c, multiply(index, step)) for c, step in zip(coordinates, steps, strict=True)]
                shared_offset = add(shared_offset, multiply(index, shared_step))
            emit_issue(Issue(map_, descriptor, coordinates, tile, shared_offset, copy.mbarrier, copy.mbarrier_index))

        _loop_nest(group, emit)


def _loop_nest(group: IssueGroup, emit: Any) -> None:
    if group.instruction_count <= MAX_UNROLLED:
        for indices in itertools.product(*map(range, group.loops)):
            emit(list(indices))
        return
    _nested(group.loops, [], emit)


def _nested(loops: tuple[int, ...], outer: list[int | ir.Value], emit: Any) -> None:
    if not loops:
        emit(outer)
        return
    loop = scf.ForOp(constant(0), materialize(loops[0]), constant(1))
    with ir.InsertionPoint(loop.body):
        _nested(loops[1:], [*outer, loop.induction_variable], emit)
        scf.yield_([])


PASS = Pass("convert-tile-to-nvgpu", "Lower planned copies to nvgpu and nvvm TMA operations.", run)
