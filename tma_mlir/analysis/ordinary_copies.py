"""Copies that no pass has raised, and who executes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..bindings import ir
from ..dialect.memrefs import read_memref
from .ir_access import collect
from .uniformity import is_uniform, why_not_whole_block


@dataclass(frozen=True)
class OrdinaryCopy:
    """One ``memref.copy`` or ``linalg.copy`` of a kernel."""

    op: ir.Operation
    source: ir.Value
    destination: ir.Value
    alone: str | None
    """Why each thread copies for itself; None where the threads of the block can share the work."""

    @property
    def problem(self) -> str | None:
        """Why threads cannot copy it, with what to do; None where they can."""
        if not all(isinstance(side.type, ir.MemRefType) for side in (self.source, self.destination)):
            return "has an unranked memref. Cast it to a memref of known rank (memref.cast) in front of the copy"
        bits = getattr(ir.MemRefType(self.source.type).element_type, "width", 8)
        if 1 < bits < 8:
            return (
                f"copies elements of {bits} bits, which threads can only access in a byte each. Copy them with "
                "tile.copy_async, or as the bytes they lie in (memrefs of i8)"
            )
        return None

    @property
    def barrier_follows(self) -> bool:
        """Whether the next operation is a ``gpu.barrier``."""
        ops = [each.operation for each in self.op.block.operations]
        after = ops[ops.index(self.op) + 1 :]
        return bool(after) and after[0].name == "gpu.barrier"


def ordinary_copies(function: ir.Operation) -> Iterator[OrdinaryCopy]:
    """Every copy of memrefs in ``function`` that keeps the element type; ``linalg.copy`` may convert it."""
    for op in collect(function, ("memref.copy", "linalg.copy")):
        source, destination = list(op.operands)[:2]
        if not op.results and _element(source) == _element(destination):
            yield OrdinaryCopy(op, source, destination, _why_alone(op, source, destination))


def _element(value: ir.Value) -> str:
    return str(value.type.element_type) if isinstance(value.type, ir.ShapedType) else ""


def _why_alone(op: ir.Operation, source: ir.Value, destination: ir.Value) -> str | None:
    if reason := why_not_whole_block(op):
        return reason
    if not all(is_uniform(side) for side in (source, destination)):
        return "what it copies may differ between threads"
    memrefs = [read_memref(side.type) for side in (source, destination)]
    if not all(memref is not None and memref.space in ("global", "shared") for memref in memrefs):
        return "a side of it is a thread's own memory"
    return None
