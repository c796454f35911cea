"""Finding the operations that passes work on."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from ..dialect.tile import CopyAsyncOp


def collect(root: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """Every operation under ``root`` with one of ``names``, in order. Collect first, then change: a walk that meets
    an erased operation ends the process."""
    wanted = frozenset(names)
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in wanted:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def copies_in(root: ir.Operation) -> list[CopyAsyncOp]:
    """Every ``tile.copy_async`` under ``root``."""
    return [op.opview for op in collect(root, (CopyAsyncOp.OPERATION_NAME,))]
