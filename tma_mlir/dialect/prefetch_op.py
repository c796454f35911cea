"""``tile.prefetch_async`` as a Python class, and its verifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..bindings import ir
from ..bindings.views import _cext, segmented_accessor
from ..dtypes import DTYPES
from .copy_modes import PREFETCH_MODES, global_offset_count, im2col_problem, mode_of, mode_problems, size_count
from .memrefs import read_memref
from .tile import DYNAMIC, _Dialect


@_cext.register_operation(_Dialect)
class PrefetchAsyncOp(ir.OpView):
    """``tile.prefetch_async``: brings a box of a global tensor into the L2 cache. Offsets and sizes as in a copy, also
    with the attributes ``mode`` (``"tile"``, ``"gather4"``, ``"im2col"``) and ``im2col``."""

    OPERATION_NAME = "tile.prefetch_async"
    _ODS_OPERAND_SEGMENTS = (1, -1, 0, 0)
    _ODS_REGIONS = (0, True)

    def __init__(
        self,
        source: ir.Value,
        *,
        sizes: Sequence[int],
        source_offsets: Sequence[int | ir.Value] = (),
        predicate: ir.Value | None = None,
        cache_hint: ir.Value | None = None,
        loc: ir.Location | None = None,
        ip: ir.InsertionPoint | None = None,
    ):
        offsets = list(source_offsets) or [0] * ir.MemRefType(source.type).rank
        attributes = {
            "static_source_offsets": ir.DenseI64ArrayAttr.get([o if isinstance(o, int) else DYNAMIC for o in offsets]),
            "sizes": ir.DenseI64ArrayAttr.get(list(sizes)),
        }
        dynamic = [o for o in offsets if not isinstance(o, int)]
        super().__init__(
            self.build_generic(
                operands=[source, dynamic, predicate, cache_hint], results=[], attributes=attributes, loc=loc, ip=ip
            )
        )

    def _segment(self, index: int) -> list[ir.Value]:
        sizes = self.operation.attributes["operandSegmentSizes"]
        return list(segmented_accessor(self.operation.operands, sizes, index))

    @property
    def source(self) -> ir.Value:
        return self._segment(0)[0]

    @property
    def source_offsets(self) -> list[int | ir.Value]:
        dynamic = iter(self._segment(1))
        static = ir.DenseI64ArrayAttr(self.operation.attributes["static_source_offsets"])
        return [next(dynamic) if offset == DYNAMIC else offset for offset in static]

    @property
    def sizes(self) -> list[int]:
        return list(ir.DenseI64ArrayAttr(self.operation.attributes["sizes"]))

    @property
    def predicate(self) -> ir.Value | None:
        return next(iter(self._segment(2)), None)

    @property
    def cache_hint(self) -> ir.Value | None:
        return next(iter(self._segment(3)), None)


def prefetch_problems(op: PrefetchAsyncOp) -> Iterator[str]:
    """What IRDL cannot say about a prefetch: rule, value, remedy."""
    memref = read_memref(op.source.type)
    if memref is None or memref.space != "global":
        yield f"needs a strided memref in global memory, not {op.source.type}"
        return
    if memref.element not in DTYPES:
        yield f"does not know the element type {memref.element}. It knows {', '.join(DTYPES)}"
    attributes = op.operation.attributes
    for name in ("static_source_offsets", "sizes"):
        if not isinstance(attributes[name], ir.DenseI64ArrayAttr):
            yield f"attribute '{name}' must be array<i64: ...>; found {attributes[name]}"
            return
    offsets = list(ir.DenseI64ArrayAttr(attributes["static_source_offsets"]))
    given = ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"])[1]
    if offsets.count(DYNAMIC) != given:
        yield f"has {offsets.count(DYNAMIC)} dynamic entries in static_source_offsets but {given} offset operands"
    elif "mode" in attributes and str(attributes["mode"]).strip('"') not in PREFETCH_MODES:
        known = ", ".join(f'"{each}"' for each in PREFETCH_MODES)
        yield f"attribute 'mode' must be one of {known}; found {attributes['mode']}"
    elif "im2col" in attributes and (problem := im2col_problem(op, "im2col")):
        yield f"attribute 'im2col' {problem}; found {attributes['im2col']}"
    elif problems := list(mode_problems(op, mode_of(op), memref.rank, op.sizes, is_load=True)):
        yield from problems
    elif len(offsets) != global_offset_count(mode_of(op), memref.rank) or len(op.sizes) != size_count(
        mode_of(op), memref.rank
    ):
        if mode_of(op) == "tile":
            needed = f"one offset and one size for each of {memref.rank} dimensions"
        else:
            needed = f"{global_offset_count(mode_of(op), memref.rank)} offsets and two sizes"
        yield f"needs {needed}; found {len(offsets)} and {op.sizes}"
    elif any(size < 0 for size in op.sizes):
        yield f"sizes must not be negative; found {op.sizes}"
