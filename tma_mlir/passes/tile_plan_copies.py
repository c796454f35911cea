"""``tile-plan-copies``: gives every copy its ``#tile.plan``, or the reasons why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..analysis.copy_requests import copy_request
from ..analysis.global_views import fold_global_subviews
from ..analysis.ir_access import copies_in
from ..chips import DEFAULT_CHIP, chip
from ..dialect.plan_attr import plan_text
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError, TileErrors
from ..plan import PlanDeclined, plan_copy
from .registry import Option, Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    try:
        name = chip(options["chip"]).name
    except ValueError as error:
        raise TileError(op.location, str(error)) from None
    errors: list[TileError] = []
    for copy in copies_in(op):
        if "plan" in copy.operation.attributes:
            continue
        planned = fold_global_subviews(copy)
        try:
            plan = plan_copy(copy_request(planned, name))
        except PlanDeclined as declined:
            errors.append(_error(planned, declined))
            continue
        planned.operation.attributes["plan"] = ir.Attribute.parse(plan_text(plan), planned.operation.context)
    if errors:
        raise TileErrors(errors)


def _error(copy: CopyAsyncOp, declined: PlanDeclined) -> TileError:
    return TileError(copy.operation.location, f"'tile.copy_async' op {declined}")


PASS = Pass(
    "tile-plan-copies",
    "Plan every tile.copy_async: descriptors, instructions, conditions. Fails with reasons where no plan is legal.",
    run,
    options=(Option("chip", str, DEFAULT_CHIP, "architecture to plan for"),),
)
