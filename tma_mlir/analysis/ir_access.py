"""Finding operations, and walking from values to what defines them.

``name`` of an operation view can be an attribute of that name (``memref.get_global`` has one), so everything here
returns plain ``ir.Operation``.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..bindings import ir
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


def collect_dialect(root: ir.Operation, dialect: str) -> list[ir.Operation]:
    """Every operation of a dialect under ``root``, in order."""
    prefix = f"{dialect}."
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith(prefix):
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def copies_in(root: ir.Operation) -> list[CopyAsyncOp]:
    """Every ``tile.copy_async`` under ``root``."""
    return [op.opview for op in collect(root, (CopyAsyncOp.OPERATION_NAME,))]


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The operation ``value`` is a result of; None for block arguments."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def block_owner(argument: ir.Value) -> ir.Operation:
    """The operation whose region a block argument belongs to."""
    return ir.BlockArgument(argument).owner.owner.operation


def enclosing(op: ir.Operation, *names: str) -> ir.Operation | None:
    """The nearest ancestor of ``op`` with one of ``names``."""
    parent = op.parent
    while parent is not None:
        if parent.operation.name in names:
            return parent.operation
        parent = parent.operation.parent
    return None


def attribute_names(op: ir.Operation) -> list[str]:
    """Names of an operation's attributes; iterating them gives names in MLIR 22 and pairs later."""
    return [str(getattr(each, "name", each)) for each in op.attributes]


def known_block_size(function: ir.Operation) -> tuple[int, int, int] | None:
    """``known_block_size`` of a ``gpu.func``, x first; None without."""
    if "known_block_size" not in function.attributes:
        return None
    x, y, z = ir.DenseI32ArrayAttr(function.attributes["known_block_size"])
    return (x, y, z)


def gpu_axis(op: ir.Operation) -> int:
    """The axis of ``gpu.thread_id`` and its like: 0 for x."""
    return "xyz".index(str(op.attributes["dimension"]).removeprefix("#gpu<dim ").rstrip(">"))


def function_inputs(function: ir.Operation) -> list[ir.Type]:
    """Argument types of a ``gpu.func`` (its block has workgroup attributions after them)."""
    return list(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs)


def is_kernel(function: ir.Operation) -> bool:
    """Whether a ``gpu.func`` can be launched: the keyword ``kernel``, or the attribute of MLIR's own outlining."""
    return "kernel" in function.attributes or "gpu.kernel" in function.attributes
