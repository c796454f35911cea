"""Plans on operations: reading them, and whether they are still right for the operation that they are on."""

from __future__ import annotations

from ..dialect.plan_attr import PLAN, PlanReader
from ..dialect.prefetch_op import PrefetchAsyncOp
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError
from ..plan.copy_plan import CopyPlan
from ..plan.staleness import changes
from .copy_requests import RequestReader


def plan_of(op: CopyAsyncOp | PrefetchAsyncOp, plans: PlanReader) -> CopyPlan | None:
    """The plan of a copy or prefetch; None without one. ``TileError`` for one that cannot be read."""
    attributes = op.operation.attributes
    if PLAN not in attributes:
        return None
    try:
        return plans.read(attributes[PLAN])
    except ValueError as error:
        raise TileError(
            op.operation.location,
            f"'{op.operation.name}' op has a plan that cannot be read ({error}). Drop it and run tile-plan-copies",
        ) from None


def stale_reasons(
    op: CopyAsyncOp | PrefetchAsyncOp, plan: CopyPlan, requests: RequestReader, chip: str | None = None
) -> list[str]:
    """What has changed since ``plan`` was made for ``op``; with ``chip``, also where that is another one."""
    read = requests.copy if isinstance(op, CopyAsyncOp) else requests.prefetch
    return changes(plan.request, read(op, chip or plan.request.chip))  # type: ignore[arg-type]


def stale_plan_error(op: CopyAsyncOp | PrefetchAsyncOp, plans: PlanReader, requests: RequestReader) -> TileError | None:
    """The error of an operation whose plan was made for another one."""
    try:
        plan = plan_of(op, plans)
    except TileError as error:
        return error
    if plan is None:
        return None
    reasons = stale_reasons(op, plan, requests)
    if not reasons:
        return None
    return TileError(
        op.operation.location,
        f"'{op.operation.name}' op has a stale plan: {'; '.join(reasons)}. Run tile-plan-copies, which plans it anew, "
        f"or drop the attribute '{PLAN}'",
    )
