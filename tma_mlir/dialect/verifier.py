"""What IRDL cannot say about ``tile.copy_async``: types against each other, regions, options.

Only what is wrong whatever the planner does is checked here; what TMA cannot do is the planner's to say.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator

from ..bindings import ir
from ..dtypes import DTYPES, dtype
from ..hardware import CACHE_POLICIES, REDUCTION_NAMES
from ..layout.atoms import atom_layout
from ..plan.enums import InstructionMode, MbarrierCta, Scope, Variant
from ..plan.tensor_map import L2Promotion
from .assumptions import ASSUME, assume_problem
from .attributes import ATOMS_FORMS, SWIZZLE_FORMS, AtomsAttr, LayoutAttr, SwizzleAttr
from .copy_modes import global_offset_count, im2col_problem, mode_of, mode_problems, size_count
from .memrefs import MemRef, read_memref
from .packed import PACKING, packed_problems
from .regions import shared_sizes
from .tile import DYNAMIC, CopyAsyncOp

_REQUIRED = {"operandSegmentSizes", "static_source_offsets", "static_destination_offsets", "sizes"}


def problems(op: CopyAsyncOp) -> list[str]:
    """Every problem of one copy as a message with rule, value and remedy; empty when it is well formed."""
    found = list(_attribute_problems(op))
    source, destination = read_memref(op.source.type), read_memref(op.destination.type)
    if source is None or destination is None:
        side = "source" if source is None else "destination"
        type_ = (op.source if source is None else op.destination).type
        found.append(f"needs a ranked memref with a strided layout as its {side}, not {type_}")
        return found
    found += _space_problems(source, destination)
    if source.element != destination.element:
        found.append(
            f"copies bytes and converts nothing, but the element types differ: {source.element} to "
            f"{destination.element}. Give both sides one element type"
        )
    elif source.element == "tf32":
        found.append("cannot have memrefs of tf32, which MLIR does not lower. Use f32 and the attribute 'tf32'")
    elif source.element not in DTYPES:
        known = ", ".join(DTYPES)
        found.append(f"does not know the element type {source.element}. It knows {known}")
    elif not found:
        found += packed_problems(op, dtype(source.element))
    if not found:
        found += _count_problems(op, source, destination)
    if found:
        return found
    global_ = source if destination.space == "shared" else destination
    mode, is_load = mode_of(op), destination.space == "shared"
    found += mode_problems(op, mode, global_.rank, op.sizes, is_load=is_load)
    if found:
        return found
    found += _region_problems(op, source, destination)
    found += _layout_problems(op, source, destination)
    found += _completion_problems(op, is_load=destination.space == "shared")
    found += _option_problems(op, is_load=destination.space == "shared")
    return found


def _space_problems(source: MemRef, destination: MemRef) -> Iterator[str]:
    spaces = {source.space, destination.space}
    if spaces != {"global", "shared"}:
        yield (
            f"copies between global and shared memory, not from {source.space} to {destination.space}. "
            "Put exactly one side in #gpu.address_space<workgroup>"
        )


def _integer(op: CopyAsyncOp, name: str) -> int | None:
    attribute = op.operation.attributes[name]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def _string(op: CopyAsyncOp, name: str) -> str | None:
    attributes = op.operation.attributes
    return ir.StringAttr(attributes[name]).value if name in attributes else None


def _one_of(*allowed: str) -> Callable[[CopyAsyncOp, str], str | None]:
    def check(op: CopyAsyncOp, name: str) -> str | None:
        attribute = op.operation.attributes[name]
        if isinstance(attribute, ir.StringAttr) and attribute.value in allowed:
            return None
        return "must be one of " + ", ".join(f'"{each}"' for each in allowed)

    return check


def _integer_of(*allowed: int) -> Callable[[CopyAsyncOp, str], str | None]:
    def check(op: CopyAsyncOp, name: str) -> str | None:
        return None if _integer(op, name) in allowed else "must be one of " + ", ".join(map(str, allowed))

    return check


def _unit(op: CopyAsyncOp, name: str) -> str | None:
    return None if isinstance(op.operation.attributes[name], ir.UnitAttr) else "is a flag and takes no value"


def _bytes(op: CopyAsyncOp, name: str) -> str | None:
    # The count of transactions in an mbarrier has 20 bits (PTX ISA, tx-count).
    if "expect_tx" not in op.operation.attributes:
        return "is what 'expect_tx' announces, which is missing"
    value = _integer(op, name)
    return None if value is not None and 0 < value < 2**20 else "must be a number of bytes below 1048576"


def _announce_only(op: CopyAsyncOp, name: str) -> str | None:
    missing = "expect_tx" not in op.operation.attributes
    return "is how 'expect_tx' announces, which is missing" if missing else _unit(op, name)


def _layout(op: CopyAsyncOp, name: str) -> str | None:
    attribute = op.operation.attributes[name]
    if LayoutAttr.isinstance(attribute) or AtomsAttr.isinstance(attribute):
        return None
    return f"must be #tile.layout<[extents], [strides]> or {ATOMS_FORMS}"


def _swizzle(op: CopyAsyncOp, name: str) -> str | None:
    return None if SwizzleAttr.isinstance(op.operation.attributes[name]) else f"must be {SWIZZLE_FORMS}"


def _explicit(op: CopyAsyncOp, name: str) -> str | None:
    attribute = op.operation.attributes[name]
    wanted = "must be {box = [8, 64]}, with order = [0, 1] and dims = [64, 256] where they are not the tensor's own"
    if not isinstance(attribute, ir.DictAttr) or "box" not in attribute:
        return wanted
    for entry in attribute:
        integers = isinstance(entry.attr, ir.ArrayAttr) and all(isinstance(each, ir.IntegerAttr) for each in entry.attr)
        if entry.name not in ("box", "order", "dims") or not integers:
            return wanted
    memref = read_memref((op.source if op.mbarrier is not None else op.destination).type)
    if memref is None:
        return None
    order = [each.value for each in attribute["order"]] if "order" in attribute else list(range(memref.rank))
    if sorted(order) != list(range(memref.rank)):
        return f"needs each of the tensor's {memref.rank} dimensions once in 'order'"
    if any(len(attribute[key]) != memref.rank for key in ("box", "dims") if key in attribute):
        return f"needs {memref.rank} entries in 'box' and 'dims', one for each dimension of the tensor"
    return None


def _plan(op: CopyAsyncOp, name: str) -> str | None:
    return None if str(op.operation.attributes[name]).startswith("#tile.plan<") else "must be #tile.plan<{...}>"


def _cache(op: CopyAsyncOp, name: str) -> str | None:
    attribute = op.operation.attributes[name]
    if not isinstance(attribute, ir.StringAttr):
        return 'must be a string such as "evict_last" or "evict_last:0.5"'
    policy, _, fraction = attribute.value.partition(":")
    if policy == "no_allocate":
        return (
            "cannot be no_allocate: that is a property of L1, which TMA does not go through, and createpolicy has no "
            'such priority. Use "evict_first"'
        )
    if policy not in CACHE_POLICIES:
        return "must be one of " + ", ".join(f'"{each}"' for each in CACHE_POLICIES) + ', or one with ":FRACTION"'
    try:
        share = float(fraction) if ":" in attribute.value else 1.0
    except ValueError:
        share = 0.0
    return None if 0.0 < share <= 1.0 else f"needs a fraction above 0 and up to 1 after the colon, not '{fraction}'"


OPTIONAL_ATTRIBUTES: dict[str, Callable[[CopyAsyncOp, str], str | None]] = {
    "source_layout": _layout,
    "destination_layout": _layout,
    "swizzle": _swizzle,
    "oob": _one_of("zero", "nan"),
    "in_bounds": _unit,
    "l2_promotion": _integer_of(*(each.bytes for each in L2Promotion)),
    "variant": _one_of(*(each for each in Variant if each is not Variant.EMPTY)),
    "explicit": _explicit,
    "padding_is_scratch": _unit,
    "scope": _one_of(*Scope),
    "expect_tx": _unit,
    "announce_bytes": _bytes,
    "tf32": _unit,
    "reduce": _one_of(*REDUCTION_NAMES),
    "cache": _cache,
    "announce_only": _announce_only,
    "cta_group": _integer_of(1, 2),
    "mbarrier_cta": _one_of(*MbarrierCta),
    "cluster_split": _integer_of(2, 4, 8, 16),
    ASSUME: assume_problem,
    "mode": _one_of(*InstructionMode),
    "im2col": im2col_problem,
    PACKING: _one_of("8B", "16B"),
    "plan": _plan,
}
"""Attributes that a copy may leave out, with the check of each (IRDL can declare required ones only)."""


def _attribute_problems(op: CopyAsyncOp) -> Iterator[str]:
    names = [str(getattr(named, "name", named)) for named in op.operation.attributes]
    for name in names:
        if name in _REQUIRED or "." in name:
            continue
        if name not in OPTIONAL_ATTRIBUTES:
            near = difflib.get_close_matches(name, OPTIONAL_ATTRIBUTES, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"It knows {', '.join(OPTIONAL_ATTRIBUTES)}"
            yield f"does not know the attribute '{name}'. {hint}"
        elif problem := OPTIONAL_ATTRIBUTES[name](op, name):
            yield f"attribute '{name}' {problem}; found {op.operation.attributes[name]}"


def _count_problems(op: CopyAsyncOp, source: MemRef, destination: MemRef) -> Iterator[str]:
    """Lengths of offset and size lists; the rest cannot be read without these."""
    for side, memref, static, segment in (
        ("source", source, "static_source_offsets", 2),
        ("destination", destination, "static_destination_offsets", 3),
    ):
        attribute = op.operation.attributes[static]
        if not isinstance(attribute, ir.DenseI64ArrayAttr):
            yield f"attribute '{static}' must be array<i64: ...>; found {attribute}"
            continue
        offsets = list(attribute)
        given = ir.DenseI32ArrayAttr(op.operation.attributes["operandSegmentSizes"])[segment]
        dynamic = offsets.count(DYNAMIC)
        mode = mode_of(op)
        if mode == "tile" or memref.space == "shared":
            if len(offsets) != memref.rank:
                yield (
                    f"needs one {side} offset for each of {memref.rank} dimensions of its {side}; found {len(offsets)}"
                )
        elif len(offsets) != (needed := global_offset_count(mode, memref.rank)):
            what = "four rows and the column" if needed == 5 and "4" in mode else "the start and the filter offsets"
            yield f'needs {needed} {side} offsets with mode "{mode}", {what}; found {len(offsets)}'
        if dynamic != given:
            yield f"has {dynamic} dynamic entries in {static} but {given} {side} offset operands"
    if not isinstance(op.operation.attributes["sizes"], ir.DenseI64ArrayAttr):
        yield f"attribute 'sizes' must be array<i64: ...>; found {op.operation.attributes['sizes']}"


def _region_problems(op: CopyAsyncOp, source: MemRef, destination: MemRef) -> Iterator[str]:
    global_, shared = (source, destination) if destination.space == "shared" else (destination, source)
    sizes = op.sizes
    mode = mode_of(op)
    if mode != "tile" and len(sizes) != size_count(mode, global_.rank):
        yield f'needs two sizes with mode "{mode}", rows and columns of the tile; found {sizes}'
        return
    if mode == "tile" and len(sizes) != global_.rank:
        yield (
            f"needs one size for each of the {global_.rank} dimensions of the global side; found {len(sizes)}: {sizes}"
        )
        return
    if any(size < 0 for size in sizes):
        yield f"sizes must not be negative; found {sizes}"
        return
    shared_is_destination = destination.space == "shared"
    shared_offsets = op.destination_offsets if shared_is_destination else op.source_offsets
    inner = shared_sizes(sizes, shared.shape, shared_offsets)
    if inner is None:
        yield (
            f"sizes {sizes} do not fit a shared memref of rank {shared.rank}: dropping unit sizes does not leave "
            f"{shared.rank} of them. Give the shared side as many dimensions as there are sizes above 1"
        )
        return
    if None in shared.shape:
        yield "needs a shared memref of static shape"
        return
    name = "destination_layout" if destination.space == "shared" else "source_layout"
    if None in shared.strides and name not in op.operation.attributes:
        found = "x".join("?" if each is None else str(each) for each in shared.strides)
        yield (
            f"needs a shared memref whose strides are known when it is compiled; found strides {found}. Write numbers "
            f"in its type (memref.cast), or say {name}"
        )
        return
    for dimension, (size, extent, offset) in enumerate(zip(inner, shared.shape, shared_offsets, strict=True)):
        start = offset if isinstance(offset, int) else 0
        if start < 0 or (extent is not None and start + size > extent):
            at = f" at offset {start}" if isinstance(offset, int) and offset else ""
            yield (
                f"size {size}{at} does not fit dimension {dimension} of the shared memref, which has {extent}. "
                "Shrink the size or give the tile more shared memory"
            )
    if shared_is_destination or mode != "tile":
        return
    for dimension, (extent, offset) in enumerate(zip(global_.shape, op.destination_offsets, strict=True)):
        if isinstance(offset, int) and extent is not None and offset < 0:
            yield f"a store must not start before the tensor: offset {offset} in dimension {dimension}"


def _layout_problems(op: CopyAsyncOp, source: MemRef, destination: MemRef) -> Iterator[str]:
    attributes = op.operation.attributes
    for side, memref in (("source", source), ("destination", destination)):
        name = f"{side}_layout"
        if name not in attributes:
            continue
        attribute = attributes[name]
        if AtomsAttr.isinstance(attribute):
            if memref.space != "shared":
                yield f"'{name}' gives swizzle atoms to global memory; only the shared side has them"
            elif "swizzle" in attributes and SwizzleAttr(attributes["swizzle"]).mode != AtomsAttr(attribute).mode:
                yield f"'swizzle' {attributes['swizzle']} contradicts {attribute}. Drop 'swizzle': the atoms imply it"
            else:
                yield from _atom_problems(attribute, memref)
            continue
        layout = LayoutAttr(attribute)
        if len(layout.extents) != len(layout.strides):
            yield f"'{name}' has {len(layout.extents)} extents but {len(layout.strides)} strides"
        elif any(extent <= 0 for extent in layout.extents):
            yield f"'{name}' needs positive extents; found {list(layout.extents)}"
        elif None not in memref.shape and math.prod(layout.extents) != math.prod(
            e for e in memref.shape if e is not None
        ):
            yield (
                f"'{name}' covers {math.prod(layout.extents)} elements, the memref has "
                f"{math.prod(e for e in memref.shape if e is not None)}"
            )
        elif memref.space == "shared" and (outside := _outside(layout, memref)):
            yield f"'{name}' {attribute} leaves the tile: {outside}"


def _outside(layout: LayoutAttr, memref: MemRef) -> str:
    """Which elements of a layout lie outside the memory of a static memref; empty for none."""
    if None in memref.shape or None in memref.strides:
        return ""
    reach = sum((e - 1) * abs(s) for e, s in zip(memref.shape, memref.strides, strict=True) if e and s)
    steps = [(extent - 1) * stride for extent, stride in zip(layout.extents, layout.strides, strict=True)]
    first, last = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
    if first >= 0 and last <= reach:
        return ""
    return f"its elements are {first}..{last}, the memref has 0..{reach}. Correct the strides"


def _atom_problems(attribute: ir.Attribute, memref: MemRef) -> Iterator[str]:
    shape = tuple(extent for extent in memref.shape if extent is not None)
    try:
        atom_layout(shape, dtype(memref.element).bytes, AtomsAttr(attribute).mode)
    except ValueError as error:
        yield f"cannot store its shared side as {attribute}: {error}"


def _completion_problems(op: CopyAsyncOp, *, is_load: bool) -> Iterator[str]:
    has_barrier = op.mbarrier is not None
    if has_barrier != (op.mbarrier_index is not None):
        yield "needs the mbarrier group and the index in it together"
    elif is_load and not has_barrier:
        yield (
            "loads from global to shared memory complete on an mbarrier, and none is given. Pass an "
            "!nvgpu.mbarrier.group and an index after the offsets"
        )
    elif not is_load and has_barrier:
        yield (
            "stores to global memory join the bulk async group and do not complete on an mbarrier. Drop the mbarrier; "
            "use nvvm.cp.async.bulk.commit.group and wait_group"
        )
    if not is_load and "expect_tx" in op.operation.attributes:
        yield "'expect_tx' announces bytes on the mbarrier of a load; a store has none. Drop it"
    if not is_load and "oob" in op.operation.attributes:
        yield "'oob' says what a load reads outside of the tensor; a store writes nothing there. Drop it"


def _option_problems(op: CopyAsyncOp, *, is_load: bool) -> Iterator[str]:
    attributes = op.operation.attributes
    if is_load and "reduce" in attributes:
        yield "reduces into global memory only; a load cannot. Drop 'reduce', or swap source and destination"
    if not is_load and op.multicast_mask is not None:
        yield "multicasts loads only; a store writes its tile once. Drop the multicast mask"
    if not is_load and "cta_group" in attributes and _integer(op, "cta_group") == 2:
        yield "'cta_group' 2 says whose mbarrier a load completes on; a store has none. Drop it"
    pair = "cta_group" in attributes and _integer(op, "cta_group") == 2
    if "mbarrier_cta" in attributes and not (is_load and pair):
        yield "'mbarrier_cta' says which mbarrier of a pair of CTAs a load completes on. Add cta_group = 2, or drop it"
    memref = read_memref(op.source.type)
    if "tf32" in attributes and memref is not None and memref.element != "f32":
        yield f"'tf32' rounds f32 elements on their way; these are {memref.element}. Drop it"
    if is_load and _string(op, "oob") == "nan" and memref is not None and not dtype(memref.element).is_float:
        yield (
            f"'oob' fills with NaN, which elements of type {memref.element} do not have. Fill with \"zero\", or copy "
            "elements of a float type"
        )
    if op.cache_hint is not None and "cache" in attributes:
        yield "has both a cache hint operand and the attribute 'cache'. Keep one"
    explicit = "variant" in attributes and str(attributes["variant"]) == '"tma_explicit"'
    if explicit != ("explicit" in attributes):
        yield "variant \"tma_explicit\" and the attribute 'explicit' with its box belong together. Give both or neither"
    if "cluster_split" in attributes and op.multicast_mask is None:
        yield "'cluster_split' divides a multicast load among the CTAs of a cluster. Add a multicast mask, or drop it"
