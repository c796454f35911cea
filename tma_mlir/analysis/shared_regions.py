"""Which bytes of a reservation of shared memory a memref covers, as far as the IR shows."""

from __future__ import annotations

from dataclasses import dataclass

from ..bindings import ir
from ..dialect.memrefs import read_memref
from ..dialect.tile import DYNAMIC
from ..dtypes import DTYPES
from .index_facts import facts_of
from .ir_access import defining_op
from .memref_views import SAME_OFFSET
from .ordinary_writes import Root, shared_root


@dataclass(frozen=True)
class SharedRegion:
    """``size`` bytes from byte ``start`` of ``root``; None where not known. ``exact``: the memref is just these bytes;
    otherwise it lies somewhere in them, at a place known at run time."""

    root: Root
    start: int
    size: int | None
    exact: bool

    def is_that_of(self, other: SharedRegion) -> bool:
        """Whether both are certainly views of one tile (or of one ring of tiles)."""
        if self.root != other.root or self.root[0] == "unknown":
            return False
        if not (self.exact and other.exact):
            return (self.start, self.size) == (other.start, other.size)
        if self.size is None or other.size is None:
            return False
        return self.start < other.start + other.size and other.start < self.start + self.size


def shared_region(tile: ir.Value) -> SharedRegion:
    """The region of a memref in shared memory."""
    root = shared_root(tile)
    start, size, exact = 0, _bytes(tile), True
    while (op := defining_op(tile)) is not None:
        if op.name in ("memref.subview", "memref.view"):
            moved = _moved_bytes(op)
            if moved is None:
                start, size, exact = 0, _bytes(op.operands[0]), False
            else:
                start += moved
        elif op.name not in SAME_OFFSET:
            break
        tile = op.operands[0]
    return SharedRegion(root, start, size, exact)


def _bytes(value: ir.Value) -> int | None:
    """From the first to the last element of a memref; None where it has dynamic extents or strides."""
    memref = read_memref(value.type) if isinstance(value.type, ir.MemRefType) else None
    if memref is None or None in memref.shape or None in memref.strides or memref.element not in DTYPES:
        return None
    last = sum((extent - 1) * stride for extent, stride in zip(memref.shape, memref.strides, strict=True))  # type: ignore[operator]
    return (last + 1) * DTYPES[memref.element].tile_bytes


def _moved_bytes(op: ir.Operation) -> int | None:
    """How many bytes behind its operand a view starts; None where that is not constant."""
    if op.name == "memref.view":
        return facts_of(op.operands[1]).constant
    source = read_memref(op.operands[0].type)
    if source is None or None in source.strides or source.element not in DTYPES:
        return None
    dynamic = iter(list(op.operands)[1:])
    offsets = [
        facts_of(next(dynamic)).constant if offset == DYNAMIC else offset
        for offset in ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    ]
    if None in offsets:
        return None
    elements = sum(offset * stride for offset, stride in zip(offsets, source.strides, strict=True))  # type: ignore[operator]
    return elements * DTYPES[source.element].tile_bytes
