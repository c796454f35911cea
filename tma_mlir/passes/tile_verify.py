"""``tile-verify``: the checks IRDL cannot make, every problem at its own operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..analysis.clusters import cluster_problems
from ..analysis.copy_requests import RequestReader
from ..analysis.ir_access import collect_dialect
from ..analysis.issuers import threads_that_all_arrive
from ..analysis.stale_plans import stale_plan_error
from ..bindings import ir
from ..dialect.completion_ops import COMPLETION_OPS
from ..dialect.completion_verifier import completion_problems
from ..dialect.plan_attr import PlanReader
from ..dialect.prefetch_op import PrefetchAsyncOp, prefetch_problems
from ..dialect.rebase_op import RebaseTensorOp, rebase_problems
from ..dialect.tile import CopyAsyncOp
from ..dialect.verifier import problems
from ..errors import TileError, TileErrors
from .registry import Option, Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    checker = _Checker(options["stale-plans"])
    errors = [error for each in collect_dialect(op, "tile") for error in checker.errors(each)]
    if errors:
        raise TileErrors(errors)


class _Checker:
    """Remembers what it has seen: modules repeat their copies."""

    def __init__(self, stale_plans: bool) -> None:
        self._stale_plans = stale_plans
        self._plans, self._requests = PlanReader(), RequestReader()
        self._copies: dict[tuple[Any, ...], list[str]] = {}

    def errors(self, op: ir.Operation) -> list[TileError]:
        """What is wrong with one operation of the dialect."""
        if op.name == CopyAsyncOp.OPERATION_NAME:
            return self._copy_errors(op.opview)  # type: ignore[arg-type]
        if op.name == PrefetchAsyncOp.OPERATION_NAME:
            return self._with_plan(op.opview, prefetch_problems(op.opview))  # type: ignore[arg-type]
        if op.name == RebaseTensorOp.OPERATION_NAME:
            return _located(op, rebase_problems(op.opview))  # type: ignore[arg-type]
        return _located(op, completion_problems(op)) if op.name in COMPLETION_OPS else []

    def _copy_errors(self, copy: CopyAsyncOp) -> list[TileError]:
        # Which operands there are is an attribute, so types and attributes are all that is looked at.
        source, destination = copy.source, copy.destination
        key = (source.type, destination.type, tuple(copy.operation.attributes.items()))
        found = self._copies.get(key)
        if found is None:
            found = self._copies[key] = problems(copy)
        scope = _scope_error(copy)
        # Of a copy that is not well formed its cluster cannot be read.
        errors = self._with_plan(copy, found or list(cluster_problems(copy)))
        return [*errors, *([scope] if scope else [])]

    def _with_plan(self, op: CopyAsyncOp | PrefetchAsyncOp, messages: Iterable[str]) -> list[TileError]:
        errors = _located(op.operation, messages)
        # Only of a well-formed operation is it known what to plan.
        if errors or not self._stale_plans:
            return errors
        stale = stale_plan_error(op, self._plans, self._requests)
        return [stale] if stale else []


def _located(op: ir.Operation, messages: Iterable[str]) -> list[TileError]:
    return [TileError(op.location, f"'{op.name}' op {message}") for message in messages]


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


WITHOUT_PLANS = {"stale-plans": False}
"""Options for a look in between, which leaves plans to the passes that need them: one of these may plan anew."""

PASS = Pass(
    "tile-verify",
    "Check every tile operation beyond what its IRDL definition says.",
    run,
    options=(Option("stale-plans", bool, True, "report plans that were made for another copy"),),
)
