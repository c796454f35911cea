"""Operations of the tile dialect as Python classes, with builders."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..bindings import ir
from ..bindings.views import _cext
from ..plan.enums import Scope

DYNAMIC = -(2**63)
"""What a static offset array holds where the offset is an operand (MLIR's ``ShapedType::kDynamic``)."""


@_cext.register_dialect
class _Dialect(ir.Dialect):
    DIALECT_NAMESPACE = "tile"


def _segment(op: ir.OpView, index: int) -> list[ir.Value]:
    """Operand group ``index``. The bounds of the groups are read once for each view: that is most of the cost."""
    bounds = op.__dict__.get("_bounds")
    if bounds is None:
        sizes = list(ir.DenseI32ArrayAttr(op.operation.attributes["operandSegmentSizes"]))
        bounds = [0, *itertools.accumulate(sizes)]
        op.__dict__["_bounds"] = bounds
    start, end = bounds[index], bounds[index + 1]
    if start == end:
        return []
    operands = op.operation.operands
    return [operands[position] for position in range(start, end)]


def _optional(op: ir.OpView, index: int) -> ir.Value | None:
    values = _segment(op, index)
    return values[0] if values else None


@_cext.register_operation(_Dialect)
class CopyAsyncOp(ir.OpView):
    """``tile.copy_async``: one asynchronous copy between global and shared memory.

    Offsets and sizes are in elements, one per memref dimension. Optional attributes: ``source_layout``,
    ``destination_layout`` (``#tile.layout`` or ``#tile.atoms``), ``swizzle`` (``#tile.swizzle``, the shared side),
    ``oob`` (``"zero"``, ``"nan"``), ``in_bounds``, ``l2_promotion`` (0, 64, 128, 256), ``variant``, ``scope``
    (``"thread"``, ``"warp"``, ``"cta"``), ``expect_tx`` (the lowering announces the bytes on the mbarrier), ``reduce``,
    ``cache`` (``"evict_last"``, ``"evict_first:0.5"``), ``cta_group`` (1, 2), ``mbarrier_cta`` (``"own"``, ``"peer"``,
    ``"even"``, ``"odd"``), ``cluster_split``, ``tf32`` (f32
    elements are rounded by loads and added as tf32 by reductions), ``assume``, ``mode`` and ``im2col`` (see
    ``copy_modes``, which says what offsets and sizes are then).
    """

    OPERATION_NAME = "tile.copy_async"
    _ODS_OPERAND_SEGMENTS = (1, 1, -1, -1, 0, 0, 0, 0, 0)
    _ODS_REGIONS = (0, True)

    def __init__(
        self,
        source: ir.Value,
        destination: ir.Value,
        *,
        sizes: Sequence[int],
        source_offsets: Sequence[int | ir.Value] = (),
        destination_offsets: Sequence[int | ir.Value] = (),
        mbarrier: ir.Value | None = None,
        mbarrier_index: ir.Value | None = None,
        predicate: ir.Value | None = None,
        multicast_mask: ir.Value | None = None,
        cache_hint: ir.Value | None = None,
        attributes: dict[str, ir.Attribute] | None = None,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ):
        """Builds the operation. Offsets left out are zero; ints become static, values dynamic offsets."""
        attributes = dict(attributes or {})
        groups: list[list[ir.Value] | ir.Value | None] = [source, destination]
        for name, offsets, memref in (
            ("static_source_offsets", source_offsets, source),
            ("static_destination_offsets", destination_offsets, destination),
        ):
            offsets = list(offsets) or [0] * ir.MemRefType(memref.type).rank
            attributes[name] = ir.DenseI64ArrayAttr.get([o if isinstance(o, int) else DYNAMIC for o in offsets])
            groups.append([o for o in offsets if not isinstance(o, int)])
        attributes["sizes"] = ir.DenseI64ArrayAttr.get(list(sizes))
        groups += [mbarrier, mbarrier_index, predicate, multicast_mask, cache_hint]
        super().__init__(self.build_generic(operands=groups, attributes=attributes, results=[], loc=loc, ip=ip))

    @property
    def source(self) -> ir.Value:
        return _segment(self, 0)[0]

    @property
    def destination(self) -> ir.Value:
        return _segment(self, 1)[0]

    @property
    def source_offsets(self) -> list[int | ir.Value]:
        """Static and dynamic offsets merged, one per dimension."""
        return self._offsets("static_source_offsets", 2)

    @property
    def destination_offsets(self) -> list[int | ir.Value]:
        return self._offsets("static_destination_offsets", 3)

    @property
    def scope(self) -> Scope:
        """Who executes the copy together; one thread where nothing is said."""
        attributes = self.operation.attributes
        return Scope(ir.StringAttr(attributes["scope"]).value) if "scope" in attributes else Scope.THREAD

    @property
    def operand_groups(self) -> list[list[ir.Value]]:
        """All operands by group, in the order of ``operandSegmentSizes``; for who reads most of them."""
        operands = list(self.operation.operands)
        bounds = itertools.accumulate(ir.DenseI32ArrayAttr(self.operation.attributes["operandSegmentSizes"]))
        ends = [0, *bounds]
        return [operands[start:end] for start, end in itertools.pairwise(ends)]

    def _offsets(self, attribute: str, segment: int) -> list[int | ir.Value]:
        dynamic = iter(_segment(self, segment))
        static = ir.DenseI64ArrayAttr(self.operation.attributes[attribute])
        return [next(dynamic) if offset == DYNAMIC else offset for offset in static]

    @property
    def sizes(self) -> list[int]:
        return list(ir.DenseI64ArrayAttr(self.operation.attributes["sizes"]))

    @property
    def mbarrier(self) -> ir.Value | None:
        return _optional(self, 4)

    @property
    def mbarrier_index(self) -> ir.Value | None:
        return _optional(self, 5)

    @property
    def predicate(self) -> ir.Value | None:
        return _optional(self, 6)

    @property
    def multicast_mask(self) -> ir.Value | None:
        return _optional(self, 7)

    @property
    def cache_hint(self) -> ir.Value | None:
        return _optional(self, 8)


@_cext.register_operation(_Dialect)
class CreateDescriptorOp(ir.OpView):
    """``tile.create_descriptor``: the tensor map ``map`` made on the memory of ``tensor``."""

    OPERATION_NAME = "tile.create_descriptor"
    _ODS_REGIONS = (0, True)

    def __init__(
        self,
        descriptor: ir.Type,
        tensor: ir.Value,
        map: ir.Attribute,
        *,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ):
        super().__init__(
            self.build_generic(operands=[tensor], results=[descriptor], attributes={"map": map}, loc=loc, ip=ip)
        )

    @property
    def tensor(self) -> ir.Value:
        return self.operation.operands[0]

    @property
    def map(self) -> ir.Attribute:
        return self.operation.attributes["map"]

    @property
    def descriptor(self) -> ir.Value:
        return self.operation.results[0]
