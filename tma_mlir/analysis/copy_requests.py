"""From ``tile.copy_async`` to the planner's ``CopyRequest``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..bindings import ir
from ..dialect.assumptions import Promises, read_promises
from ..dialect.attributes import AtomsAttr, LayoutAttr, SwizzleAttr
from ..dialect.copy_modes import IM2COL, mode_of
from ..dialect.memrefs import MemRef, read_memref
from ..dialect.packed import PACKING
from ..dialect.plan_attr import PLAN
from ..dialect.prefetch_op import PrefetchAsyncOp, prefetch_problems
from ..dialect.regions import shared_sizes
from ..dialect.tile import CopyAsyncOp
from ..dialect.verifier import problems
from ..dtypes import dtype
from ..errors import TileError, TileErrors
from ..layout.atoms import atom_layout
from ..layout.expr import Expr, Symbol
from ..layout.layout import AddressSwizzle, Layout
from ..layout.swizzle import ADDRESS_SWIZZLES, Swizzle, swizzle_mode
from ..plan.copy_request import CopyRequest, ExplicitDescriptor, Region, Tile
from ..plan.enums import Direction, Variant
from ..plan.explicit import described
from ..plan.tensor_map import L2Promotion, OobFill
from .global_views import kernel_argument
from .index_facts import facts_of
from .integer_facts import Facts, both
from .integer_facts import known as constant_facts
from .ir_access import attribute_names
from .mode_requests import mode_fields
from .shared_tiles import placement

_PROMOTIONS = {each.bytes: each for each in L2Promotion}

PLANNED_WITH = frozenset(
    ("operandSegmentSizes", "static_source_offsets", "static_destination_offsets", "sizes", "source_layout",
     "destination_layout", "swizzle", "oob", "in_bounds", "l2_promotion", "variant", "explicit", "padding_is_scratch",
     "tf32", "reduce", "cta_group", "mode", "im2col", PACKING, PLAN)
)  # fmt: skip
"""Attributes whose meaning other fields of a ``CopyRequest`` hold; all others become its ``options``."""


class RequestReader:
    """``copy_request`` and ``prefetch_request``, once for each kind of operation: modules repeat them.

    For one pass: it keeps attributes and values, and the operations that define offsets must not change. Both raise
    ``TileErrors`` for an operation that is not well formed and cannot be read.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[Any, ...], CopyRequest] = {}
        self._facts: dict[ir.Value, Facts] = {}

    def copy(self, copy: CopyAsyncOp, chip: str) -> CopyRequest:
        """What ``copy_request`` gives."""
        (source,), (destination,), source_offsets, destination_offsets, mbarrier, *_ = copy.operand_groups
        tile = destination if mbarrier else source
        key = (
            chip,
            source.type,
            destination.type,
            tuple(copy.operation.attributes.items()),
            tuple(map(self.facts, (*source_offsets, *destination_offsets))),
            placement(tile, 1).offset_divisor_bytes,
            kernel_argument(source if mbarrier else destination) is not None,
        )
        request = self._requests.get(key)
        if request is None:
            try:
                request = self._requests[key] = copy_request(copy, chip, self.facts)
            except TileError:
                raise
            except Exception:
                self._explain(copy.operation, problems(copy))
                raise
        return request

    def prefetch(self, prefetch: PrefetchAsyncOp, chip: str) -> CopyRequest:
        """What ``prefetch_request`` gives."""
        try:
            return prefetch_request(prefetch, chip, self.facts)
        except Exception:
            self._explain(prefetch.operation, prefetch_problems(prefetch))
            raise

    @staticmethod
    def _explain(op: ir.Operation, problems: Iterable[str]) -> None:
        """What is wrong with an operation that could not be read: ``tile-verify`` was left out."""
        if errors := [TileError(op.location, f"'{op.name}' op {problem}") for problem in problems]:
            raise TileErrors(errors)

    def facts(self, value: ir.Value) -> Facts:
        """``facts_of``, remembered."""
        found = self._facts.get(value)
        if found is None:
            found = self._facts[value] = facts_of(value)
        return found


FactsOf = Callable[[ir.Value], Facts]


def copy_request(copy: CopyAsyncOp, chip: str, facts: FactsOf = facts_of) -> CopyRequest:
    """The question to the planner. ``copy`` must have passed ``tile-verify``.

    Symbols are named ``global.dim<d>``, ``global.stride<d>``, ``global.offset`` (known to the host) and
    ``source_offset<d>``, ``destination_offset<d>`` (known in the kernel, where also those of the tensor are if it is no
    kernel argument).
    """
    source, destination = _memref(copy.source), _memref(copy.destination)
    is_load = destination.space == "shared"
    global_, shared = (source, destination) if is_load else (destination, source)
    tile = copy.destination if is_load else copy.source
    attributes = copy.operation.attributes
    element = dtype("tf32" if "tf32" in attributes else global_.element)
    promised = _Promised(copy.operation, read_promises(copy))

    source_starts = _starts("source_offset", copy.source_offsets, promised, facts)
    destination_starts = _starts("destination_offset", copy.destination_offsets, promised, facts)
    inner_sizes = shared_sizes(copy.sizes, shared.shape, copy.destination_offsets if is_load else copy.source_offsets)
    assert inner_sizes is not None, "tile-verify admits only sizes that fit"
    shared_shape = tuple(extent for extent in shared.shape if extent is not None)
    shared_name, global_name = ("destination", "source") if is_load else ("source", "destination")
    shared_layout, swizzle = _shared_layout(attributes, shared_name, shared, shared_shape, element.tile_bytes)
    known = kernel_argument(copy.source if is_load else copy.destination) is not None
    global_shape, global_layout = _global_layout(attributes, global_name, global_, promised, host=known)

    oob = ir.StringAttr(attributes["oob"]).value if "oob" in attributes else "zero"
    starts = source_starts if is_load else destination_starts
    by_mode = mode_fields(copy, global_.rank, starts, copy.sizes)
    if "l2_promotion" in attributes:
        by_mode["l2_promotion"] = _PROMOTIONS[ir.IntegerAttr(attributes["l2_promotion"]).value]
    shared_region = Region(destination_starts if is_load else source_starts, tuple(inner_sizes))
    if "cluster_split" in attributes:
        by_mode["global_region"], shared_region = _one_share(copy, by_mode["global_region"], shared_region)
    default_way = Variant.AUTO if mode_of(copy) == "tile" else Variant.TMA
    request = CopyRequest(
        dtype=element,
        direction=Direction.LOAD if is_load else Direction.STORE,
        global_shape=global_shape,
        global_layout=global_layout,
        shared_shape=shared_shape,
        shared_layout=shared_layout,
        shared_region=shared_region,
        shared_swizzle=swizzle,
        shared_base_alignment_bytes=placement(tile, element.tile_bytes).known_alignment_bytes,
        shared_padding_is_scratch="padding_is_scratch" in attributes,
        oob_fill=OobFill.NAN if oob == "nan" else OobFill.ZERO,
        host_tensor=known,
        in_bounds="in_bounds" in attributes,
        reduction=ir.StringAttr(attributes["reduce"]).value if "reduce" in attributes else None,
        cta_group=ir.IntegerAttr(attributes["cta_group"]).value if "cta_group" in attributes else 1,
        multicast=copy.multicast_mask is not None,
        variant=Variant(ir.StringAttr(attributes["variant"]).value) if "variant" in attributes else default_way,
        chip=chip,
        packing=ir.StringAttr(attributes[PACKING]).value if PACKING in attributes else None,
        options=options_of(copy),
        **by_mode,
    )
    if "explicit" in attributes:
        return dataclasses.replace(request, kind=Tile(_explicit(ir.DictAttr(attributes["explicit"]), request)))
    return request


def options_of(copy: CopyAsyncOp) -> tuple[tuple[str, str], ...]:
    """What else the copy says: attributes that lead to no other plan, and operands that are there."""
    attributes = copy.operation.attributes
    said = [(name, str(attributes[name])) for name in attribute_names(copy.operation) if name not in PLANNED_WITH]
    if "im2col" in attributes and mode_of(copy) not in IM2COL:
        said.append(("im2col", str(attributes["im2col"])))  # without its mode it means nothing
    given = (("predicate", copy.predicate), ("cache_hint", copy.cache_hint))
    said += [(name, "given") for name, value in given if value is not None]
    return tuple(sorted((name, text) for name, text in said if "." not in name))


def _explicit(fields: ir.DictAttr, request: CopyRequest) -> ExplicitDescriptor:
    def integers(name: str) -> tuple[int, ...] | None:
        return tuple(each.value for each in ir.ArrayAttr(fields[name])) if name in fields else None

    swizzle = swizzle_mode(request.shared_swizzle)
    assert swizzle is not None, "attributes name hardware modes only"
    return described(request, integers("box") or (), integers("order"), integers("dims"), swizzle)


CLUSTER_SHARE = "cluster_share"
"""Symbol for the number of the share that a CTA issues, in copies that a cluster splits."""


def _one_share(copy: CopyAsyncOp, global_region: Region, shared_region: Region) -> tuple[Region, Region]:
    """The slice of a multicast load that one CTA of the mask issues: of the outermost dimension that divides evenly, as
    many steps in as the mask names CTAs of lower rank."""
    parts = ir.IntegerAttr(copy.operation.attributes["cluster_split"]).value
    number = Expr.of(Symbol(CLUSTER_SHARE, 0, parts - 1, host=False))
    for position, extent in enumerate(each for each in global_region.extents if each != 1):
        if extent % parts == 0:
            share = extent // parts
            return tuple(_slice(region, position, share, number) for region in (global_region, shared_region))  # type: ignore[return-value]
    raise TileError(
        copy.operation.location,
        f"'tile.copy_async' op cannot split its sizes {copy.sizes} among {parts} CTAs: none is a multiple of {parts}. "
        "Drop 'cluster_split' or change the tile",
    )


def _slice(region: Region, position: int, share: int, number: Expr | int) -> Region:
    """``region`` cut to ``share`` along its ``position``-th dimension above one, at ``number * share``."""
    dimension = [d for d, extent in enumerate(region.extents) if extent != 1][position]
    starts, extents = list(region.starts), list(region.extents)
    starts[dimension] = starts[dimension] + number * share
    extents[dimension] = share
    return Region(tuple(starts), tuple(extents))


def prefetch_request(prefetch: PrefetchAsyncOp, chip: str, facts: FactsOf = facts_of) -> CopyRequest:
    """The question for a prefetch: a load of the same box into a dense tile that nobody sees."""
    memref = _memref(prefetch.source)
    shape, layout = _global_layout(prefetch.operation.attributes, "source", memref, _Promised(prefetch.operation, {}))
    sizes = tuple(prefetch.sizes)
    strides = tuple(math.prod(sizes[dimension + 1 :]) for dimension in range(len(sizes)))
    starts = _starts("source_offset", prefetch.source_offsets, _Promised(prefetch.operation, {}), facts)
    return CopyRequest(
        dtype=dtype(memref.element),
        direction=Direction.LOAD,
        global_shape=shape,
        global_layout=layout,
        shared_shape=sizes,
        shared_layout=Layout(sizes, strides),
        shared_region=Region((0,) * len(sizes), sizes),
        variant=Variant.TMA,
        chip=chip,
        **mode_fields(prefetch, memref.rank, starts, sizes),
    )


def offset_values(copy: CopyAsyncOp) -> dict[str, ir.Value]:
    """The dynamic offsets by symbol name, for building coordinates."""
    _, _, from_source, from_destination, *_ = copy.operand_groups
    named = _named("source_offset", copy.source_offsets) if from_source else {}
    return named | (_named("destination_offset", copy.destination_offsets) if from_destination else {})


def prefetch_offset_values(prefetch: PrefetchAsyncOp) -> dict[str, ir.Value]:
    """The same for a prefetch."""
    return _named("source_offset", prefetch.source_offsets)


def _named(prefix: str, offsets: list[int | ir.Value]) -> dict[str, ir.Value]:
    return {f"{prefix}{d}": each for d, each in enumerate(offsets) if not isinstance(each, int)}


def _memref(value: ir.Value) -> MemRef:
    memref = read_memref(value.type)
    assert memref is not None, "tile-verify admits only strided memrefs"
    return memref


@dataclasses.dataclass(frozen=True)
class _Promised:
    """What ``assume`` says of the numbers of one operation."""

    op: ir.Operation
    promises: Promises

    def narrow(self, entry: str, index: int, known: Facts) -> Facts:
        """``known`` and what is promised of number ``index`` of ``entry``. ``TileError`` where they contradict."""
        given = self.promises.get(entry, ())
        if index >= len(given):
            return known
        promise = given[index]
        found = both(known, Facts(promise.low, promise.high, promise.divisor, promise.residue))
        if found.is_empty:
            fixed = known.constant
            says = f"it is {fixed}" if fixed is not None else _symbol("it", known, host=False).known_text
            raise TileError(
                self.op.location,
                f"'{self.op.name}' op assumes of entry {index} of '{entry}' what cannot be: the "
                f"kernel says {says}. Drop or correct that entry",
            )
        return found


def _starts(
    prefix: str, offsets: list[int | ir.Value], promised: _Promised, facts_of: FactsOf
) -> tuple[Expr | int, ...]:
    starts: list[Expr | int] = []
    for dimension, offset in enumerate(offsets):
        if isinstance(offset, int):
            promised.narrow(f"{prefix}s", dimension, constant_facts(offset))
            starts.append(offset)
            continue
        known = promised.narrow(f"{prefix}s", dimension, facts_of(offset))
        starts.append(_value(f"{prefix}{dimension}", known, host=False))
    return tuple(starts)


def _value(name: str, known: Facts, *, host: bool) -> Expr | int:
    """What is ``known``, as a number or a symbol. What the host knows stays a symbol, for the host to check it."""
    if known.constant is not None:
        return Expr.of(Symbol(name, known.low, known.high, known.constant or 1)) if host else known.constant
    return Expr.of(_symbol(name, known, host=host))


def _symbol(name: str, known: Facts, *, host: bool) -> Symbol:
    return Symbol(name, known.low, known.high, known.divisor, host, known.residue)


def _global_layout(
    attributes: ir.OpAttributeMap, name: str, memref: MemRef, promised: _Promised, *, host: bool = True
) -> tuple[tuple[Expr | int, ...], Layout]:
    def value(entry: str, dimension: int, given: int | None, symbol: str) -> Expr | int:
        if given is not None:
            promised.narrow(entry, dimension, constant_facts(given))
            return given
        return _value(symbol, promised.narrow(entry, dimension, Facts(low=0)), host=host)

    shape = tuple(value("global_sizes", d, each, f"global.dim{d}") for d, each in enumerate(memref.shape))
    strides = tuple(value("global_strides", d, each, f"global.stride{d}") for d, each in enumerate(memref.strides))
    offset = value("global_offset", 0, memref.offset, "global.offset")
    if (layout_name := f"{name}_layout") in attributes:
        layout = LayoutAttr(attributes[layout_name])
        return shape, Layout(layout.extents, layout.strides, offset)
    return shape, Layout(shape, strides, offset)


def _shared_layout(
    attributes: ir.OpAttributeMap, name: str, memref: MemRef, shape: tuple[int, ...], element_bytes: int
) -> tuple[Layout, AddressSwizzle | Swizzle | None]:
    """Layout from the start of the tile, and the swizzle on its addresses."""
    swizzle = _swizzle(SwizzleAttr(attributes["swizzle"]).mode) if "swizzle" in attributes else None
    if (layout_name := f"{name}_layout") in attributes:
        attribute = attributes[layout_name]
        if AtomsAttr.isinstance(attribute):
            mode = AtomsAttr(attribute).mode
            return atom_layout(shape, element_bytes, mode), _swizzle(mode)
        layout = LayoutAttr(attribute)
        return Layout(layout.extents, layout.strides), swizzle
    strides = tuple(stride for stride in memref.strides if stride is not None)
    return Layout(shape, strides), swizzle


def _swizzle(mode: Swizzle) -> AddressSwizzle | Swizzle | None:
    """The XOR of a mode; the mode itself where only its name is known."""
    return None if mode is Swizzle.NONE else ADDRESS_SWIZZLES.get(mode, mode)
