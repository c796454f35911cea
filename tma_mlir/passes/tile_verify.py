"""``tile-verify``: the checks IRDL cannot make, every problem at its own operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..analysis.copy_requests import RequestReader
from ..analysis.ir_access import collect, copies_in
from ..analysis.issuers import threads_that_all_arrive
from ..analysis.stale_plans import stale_plan_error
from ..dialect.completion_ops import COMPLETION_OPS
from ..dialect.completion_verifier import completion_problems
from ..dialect.plan_attr import PlanReader
from ..dialect.prefetch_op import PrefetchAsyncOp, prefetch_problems
from ..dialect.rebase_op import RebaseTensorOp, rebase_problems
from ..dialect.tile import CopyAsyncOp
from ..dialect.verifier import problems
from ..errors import TileError, TileErrors
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    errors: list[TileError] = []
    plans, requests = PlanReader(), RequestReader()
    for copy in copies_in(op):
        found = [TileError(copy.operation.location, f"'tile.copy_async' op {message}") for message in problems(copy)]
        found += [error for error in [_scope_error(copy)] if error]
        # Only of a well-formed copy is it known what to plan.
        errors += found or [error for error in [stale_plan_error(copy, plans, requests)] if error]
    errors += [
        TileError(op_.location, f"'{op_.name}' op {message}")
        for op_ in collect(op, COMPLETION_OPS)
        for message in completion_problems(op_)
    ]
    for op_ in collect(op, (PrefetchAsyncOp.OPERATION_NAME,)):
        prefetch: PrefetchAsyncOp = op_.opview  # type: ignore[assignment]
        found = [TileError(op_.location, f"'{op_.name}' op {message}") for message in prefetch_problems(prefetch)]
        errors += found or [error for error in [stale_plan_error(prefetch, plans, requests)] if error]
    errors += [
        TileError(op_.location, f"'{op_.name}' op {message}")
        for op_ in collect(op, (RebaseTensorOp.OPERATION_NAME,))
        for message in rebase_problems(op_.opview)
    ]
    if errors:
        raise TileErrors(errors)


def _scope_error(copy: CopyAsyncOp) -> TileError | None:
    """A copy for one thread that plainly all threads execute would be made once by each of them."""
    attributes = copy.operation.attributes
    if copy.predicate is not None or ("scope" in attributes and str(attributes["scope"]) != '"thread"'):
        return None
    threads = threads_that_all_arrive(copy.operation)
    if threads is None or threads == 1:
        return None
    return TileError(
        copy.operation.location,
        f"'tile.copy_async' op is for one thread, and all {threads} threads of the block execute it. Put it under a "
        'condition that one thread meets, or say scope = "cta" to have the lowering elect one',
    )


PASS = Pass("tile-verify", "Check every tile operation beyond what its IRDL definition says.", run)
