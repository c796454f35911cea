"""``tile-merge-expect-tx``: loads of one phase are announced together, by one arrival before the first of them.

Loads with ``expect_tx`` in one block, on the same mbarrier and under the same predicate, belong to one phase unless
something in between waits or arrives on the mbarrier. Announced one by one they would be as many arrivals, and the
first could complete the phase before the second is announced. The first load gets ``announce_bytes``, the sum; the
others lose ``expect_tx``. Where the bytes depend on which CTA of a cluster executes the loads, there is no sum to write
down: each load announces its own, and only the last one arrives (``announce_only`` on the others). The phase cannot end
before that arrival.

Where the mbarrier is seen to expect at least as many arrivals as there are announcements they are left alone: then each
of them was counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..analysis.clusters import cluster_load
from ..analysis.copy_requests import options_of
from ..analysis.index_facts import facts_of
from ..analysis.ir_access import collect, copies_in
from ..bindings import ir
from ..diagnostics import remark
from ..dialect.memrefs import read_memref
from ..dialect.plan_attr import PLAN, PlanReader, plan_attribute
from ..dialect.tile import CopyAsyncOp
from ..dtypes import dtype
from .registry import Pass

ANNOUNCE = "announce_bytes"
ANNOUNCE_ONLY = "announce_only"

_BARRIER_TYPE = "!nvgpu.mbarrier.group"


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    announcing = [copy for copy in copies_in(op) if _announces(copy)]
    blocks: dict[ir.Block, None] = {copy.operation.block: None for copy in announcing}
    counts = _expected_arrivals(op) if announcing else {}
    plans = PlanReader()
    for block in blocks:
        for phase in _phases(block):
            if len(phase) > 1:
                _merge(phase, counts.get(phase[0].mbarrier), plans)


def _announces(copy: CopyAsyncOp) -> bool:
    """Whether the copy announces bytes of its own. Nothing is copied, or announced, by an empty one."""
    attributes = copy.operation.attributes
    if "expect_tx" not in attributes or ANNOUNCE in attributes or ANNOUNCE_ONLY in attributes or copy.mbarrier is None:
        return False
    return 0 not in copy.sizes


def _phases(block: ir.Block) -> Iterator[list[CopyAsyncOp]]:
    """Announcing copies of ``block`` in groups of one phase, in order."""
    open_: dict[tuple[Any, ...], list[CopyAsyncOp]] = {}
    for op in block.operations:
        operation = op.operation
        if operation.name == CopyAsyncOp.OPERATION_NAME:
            if _announces(operation.opview):
                open_.setdefault(_key(operation.opview), []).append(operation.opview)
            continue
        if _may_change_phase(operation):
            yield from open_.values()
            open_ = {}
    yield from open_.values()


def _key(copy: CopyAsyncOp) -> tuple[Any, ...]:
    index, predicate = copy.mbarrier_index, copy.predicate
    assert index is not None
    constant = facts_of(index).constant
    attributes = copy.operation.attributes
    scope, cta = (str(attributes[name]) if name in attributes else "" for name in ("scope", "mbarrier_cta"))
    return (copy.mbarrier, index if constant is None else constant, predicate, scope, cta)


def _may_change_phase(op: ir.Operation) -> bool:
    """Whether ``op``, or something inside it, waits or arrives on an mbarrier, or may do so in a function."""
    found = False

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        name = inner.name
        if name in ("nvgpu.mbarrier.create", "nvgpu.mbarrier.get"):
            return ir.WalkResult.ADVANCE
        touches = any(str(operand.type).startswith(_BARRIER_TYPE) for operand in inner.operands)
        if touches or name.startswith("nvvm.mbarrier") or name in ("func.call", "llvm.call", "llvm.inline_asm"):
            found = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _merge(phase: list[CopyAsyncOp], arrivals: int | None, plans: PlanReader) -> None:
    first = phase[0].operation
    if arrivals is not None and arrivals >= len(phase):
        remark(
            first.location,
            f"{len(phase)} announcements on one mbarrier stay apart: it expects {arrivals} arrivals. Initialise it "
            "with one arrival for all of them to have them merged",
        )
        return
    tiles = [cluster_load(copy).tiles for copy in phase]
    known = [
        count * transaction_bytes(copy, plans) for count, copy in zip(tiles, phase, strict=True) if count is not None
    ]
    if len(known) == len(phase):
        total = sum(known)
        first.attributes[ANNOUNCE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, first.context), total)
        for copy in phase[1:]:
            del copy.operation.attributes["expect_tx"]
        remark(first.location, f"announces the {total} bytes of {len(phase)} copies at once")
    else:
        for copy in phase[:-1]:
            copy.operation.attributes[ANNOUNCE_ONLY] = ir.UnitAttr.get(first.context)
        remark(first.location, f"announces its bytes; the last of {len(phase)} copies arrives for all of them")
    for copy in phase:
        _keep_plan(copy, plans)


def _keep_plan(copy: CopyAsyncOp, plans: PlanReader) -> None:
    """The copy's plan is right whoever announces its bytes: it is now one for the copy as it stands."""
    attributes = copy.operation.attributes
    if PLAN in attributes:
        plan = plans.read(attributes[PLAN])
        request = replace(plan.request, options=options_of(copy))
        attributes[PLAN] = plan_attribute(replace(plan, request=request), copy.operation.context)


def transaction_bytes(copy: CopyAsyncOp, plans: PlanReader) -> int:
    """Bytes that the copy completes on its mbarrier: the plan's number, without a plan those of its sizes."""
    attributes = copy.operation.attributes
    planned = plans.read(attributes[PLAN]).transaction_bytes if PLAN in attributes else 0
    memref = read_memref(copy.source.type)
    assert memref is not None
    if not planned:
        return math.prod(copy.sizes) * dtype(memref.element).bits // 8
    # A plan covers the part that one CTA of the cluster issues; all parts arrive here.
    parts = ir.IntegerAttr(attributes["cluster_split"]).value if "cluster_split" in attributes else 1
    return planned * parts


def _expected_arrivals(root: ir.Operation) -> dict[ir.Value | None, int | None]:
    """The largest count that each mbarrier group is initialised with; None where one is not constant."""
    counts: dict[ir.Value | None, int | None] = {}
    for init in collect(root, ("nvgpu.mbarrier.init",)):
        group, count = init.operands[0], facts_of(init.operands[1]).constant
        before = counts.get(group, 0)
        counts[group] = None if count is None or before is None else max(before, count)
    return counts


PASS = Pass("tile-merge-expect-tx", "Announce the bytes of all loads of one phase at once.", run)
