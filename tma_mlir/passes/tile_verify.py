"""``tile-verify``: the checks IRDL cannot make, every problem at its own operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..analysis.ir_access import collect, copies_in
from ..dialect.completion_ops import COMPLETION_OPS
from ..dialect.completion_verifier import completion_problems
from ..dialect.prefetch_op import PrefetchAsyncOp, prefetch_problems
from ..dialect.verifier import problems
from ..errors import TileError, TileErrors
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    errors = [
        TileError(copy.operation.location, f"'tile.copy_async' op {message}")
        for copy in copies_in(op)
        for message in problems(copy)
    ]
    errors += [
        TileError(op_.location, f"'{op_.name}' op {message}")
        for op_ in collect(op, COMPLETION_OPS)
        for message in completion_problems(op_)
    ]
    errors += [
        TileError(op_.location, f"'{op_.name}' op {message}")
        for op_ in collect(op, (PrefetchAsyncOp.OPERATION_NAME,))
        for message in prefetch_problems(op_.opview)
    ]
    if errors:
        raise TileErrors(errors)


PASS = Pass("tile-verify", "Check every tile operation beyond what its IRDL definition says.", run)
