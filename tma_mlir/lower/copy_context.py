"""What the lowerings of one copy share."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from ..analysis.clusters import ClusterLoad, cluster_load
from ..analysis.copy_requests import CLUSTER_SHARE, offset_values
from ..bindings import ir
from ..bindings.dialects import memref
from ..dialect.memrefs import MemRef, read_memref
from ..dialect.tile import CopyAsyncOp
from ..dtypes import dtype
from ..layout.expr import Expr
from ..plan.copy_plan import Coordinate
from .clusters import share_number
from .index_builder import build, exact_divide


@dataclass(frozen=True)
class CopyContext:
    """One planned ``tile.copy_async`` being lowered, at the current insertion point."""

    op: CopyAsyncOp

    @functools.cached_property
    def _groups(self) -> list[list[ir.Value]]:
        return self.op.operand_groups

    def _optional(self, group: int) -> ir.Value | None:
        values = self._groups[group]
        return values[0] if values else None

    @property
    def mbarrier(self) -> ir.Value | None:
        return self._optional(4)

    @property
    def mbarrier_index(self) -> ir.Value | None:
        return self._optional(5)

    @property
    def predicate(self) -> ir.Value | None:
        return self._optional(6)

    @property
    def multicast_mask(self) -> ir.Value | None:
        return self._optional(7)

    @property
    def cache_hint(self) -> ir.Value | None:
        return self._optional(8)

    @property
    def is_load(self) -> bool:
        """Global to shared. Only loads have an mbarrier."""
        return self.mbarrier is not None

    @functools.cached_property
    def tensor(self) -> ir.Value:
        """The global side."""
        return self._groups[0 if self.is_load else 1][0]

    @functools.cached_property
    def tile(self) -> ir.Value:
        """The shared side."""
        return self._groups[1 if self.is_load else 0][0]

    @functools.cached_property
    def tile_layout(self) -> MemRef:
        layout = read_memref(self.tile.type)
        assert layout is not None
        return layout

    @functools.cached_property
    def element_bytes(self) -> int:
        return dtype(self.tile_layout.element).tile_bytes

    @functools.cached_property
    def offsets(self) -> dict[str, ir.Value]:
        """The dynamic offsets, by the planner's symbol names."""
        return offset_values(self.op)

    @functools.cached_property
    def cluster(self) -> ClusterLoad:
        """What is known of the copy's cluster."""
        return cluster_load(self.op)

    @property
    def location(self) -> ir.Location:
        return self.op.operation.location

    def has(self, attribute: str) -> bool:
        return attribute in self.op.operation.attributes

    def string(self, attribute: str) -> str:
        return ir.StringAttr(self.op.operation.attributes[attribute]).value

    def integer(self, attribute: str, default: int) -> int:
        return ir.IntegerAttr(self.op.operation.attributes[attribute]).value if self.has(attribute) else default

    def value(self, expr: Expr | int) -> int | ir.Value:
        """A plan's expression as a value, built at the current insertion point."""
        return expr if isinstance(expr, int) else plan_value(expr, self._symbols(expr), self.tensor)

    def coordinate(self, coordinate: Coordinate) -> int | ir.Value:
        """A start coordinate of the plan as a value."""
        return exact_divide(self.value(coordinate.numerator), coordinate.denominator)

    def _symbols(self, expr: Expr) -> dict[str, ir.Value]:
        if self.multicast_mask is None or CLUSTER_SHARE not in {symbol.name for symbol in expr.symbols()}:
            return self.offsets
        return self.offsets | {CLUSTER_SHARE: share_number(self.cluster, self.multicast_mask)}


def coordinate_value(coordinate: Coordinate, offsets: Mapping[str, ir.Value], tensor: ir.Value) -> int | ir.Value:
    """A start coordinate of a plan as a value."""
    return exact_divide(plan_value(coordinate.numerator, offsets, tensor), coordinate.denominator)


def plan_value(expr: Expr | int, offsets: Mapping[str, ir.Value], tensor: ir.Value) -> int | ir.Value:
    """A plan's expression as a value. Symbols of the tensor are read from the memref."""
    if isinstance(expr, int):
        return expr
    values = dict(offsets)
    names = {symbol.name for symbol in expr.symbols()}
    if any(name.startswith("global.") for name in names):
        values |= _tensor_values(tensor)
    return build(expr, values)


def _tensor_values(tensor: ir.Value) -> dict[str, ir.Value]:
    layout = read_memref(tensor.type)
    assert layout is not None
    _, offset, *numbers = memref.extract_strided_metadata(tensor)
    values = {"global.offset": offset}
    for dimension in range(layout.rank):
        values[f"global.dim{dimension}"] = numbers[dimension]
        values[f"global.stride{dimension}"] = numbers[layout.rank + dimension]
    return values
