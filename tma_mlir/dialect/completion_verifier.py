"""What IRDL cannot say about the operations that wait for copies."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ..bindings import ir
from .completion_ops import CommitGroupOp, WaitGroupOp, WaitOp

_KNOWN: dict[str, tuple[str, ...]] = {
    WaitOp.OPERATION_NAME: (),
    CommitGroupOp.OPERATION_NAME: (),
    WaitGroupOp.OPERATION_NAME: ("pending", "read"),
}


def completion_problems(op: ir.Operation) -> Iterator[str]:
    """Every problem of one ``tile.wait``, ``tile.commit_group`` or ``tile.wait_group``."""
    known = _KNOWN[op.name]
    for name in (str(getattr(named, "name", named)) for named in op.attributes):
        if name in known or "." in name:
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"It knows {', '.join(known) or 'none'}"
        yield f"does not know the attribute '{name}'. {hint}"
    if op.name == WaitGroupOp.OPERATION_NAME:
        yield from _wait_group_problems(op)


def _wait_group_problems(op: ir.Operation) -> Iterator[str]:
    pending = op.attributes["pending"]
    if not isinstance(pending, ir.IntegerAttr) or str(pending.type) != "i64" or not 0 <= pending.value < 2**31:
        yield (
            f"attribute 'pending' must be the number of groups that may stay open, as 0 : i64 or more; found {pending}"
        )
    if "read" in op.attributes and not isinstance(op.attributes["read"], ir.UnitAttr):
        yield f"attribute 'read' is a flag and takes no value; found {op.attributes['read']}"
