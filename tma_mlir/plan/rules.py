"""What the hardware and the driver demand of a TMA copy, one function a rule.

Every function answers with a ``Condition`` whose finding is PROVEN, DISPROVEN or UNKNOWN. An UNKNOWN condition
can be tested at run time: on the host if its symbols are known there, in the kernel otherwise. "HW" in a docstring is
TMA_HARDWARE.md: what an H200 was measured to do.
"""

from __future__ import annotations

import math
from functools import lru_cache

from ..dtypes import DRIVER_BYTES, DRIVER_FLOATS
from ..layout.expr import Expr, bounds, known_divisor
from ..layout.layout import AddressSwizzle
from ..layout.swizzle import ADDRESS_SWIZZLES, Swizzle, swizzle_mode
from .copy_plan import Condition
from .findings import Finding, Status
from .tensor_map import OobFill

Value = Expr | int

SHARED_MEMORY_BYTES = 232_448
"""Shared memory one block can have on sm_90 and sm_100 (227 KiB)."""

INT32 = 1 << 31

REDUCTIONS: dict[str, frozenset[str]] = {
    "UINT32": frozenset({"add", "min", "max", "inc", "dec", "and", "or", "xor"}),
    "INT32": frozenset({"add", "min", "max", "and", "or", "xor"}),
    "UINT64": frozenset({"add", "min", "max", "and", "or", "xor"}),
    "INT64": frozenset({"min", "max"}),
    "FLOAT16": frozenset({"add", "min", "max"}),
    "BFLOAT16": frozenset({"add", "min", "max"}),
    "FLOAT32": frozenset({"add"}),
    "FLOAT32_FTZ": frozenset({"add"}),
    "TFLOAT32": frozenset({"add"}),
    "TFLOAT32_FTZ": frozenset({"add"}),
    "FLOAT64": frozenset({"add"}),
}
"""Reductions that execute on sm_90, by data type (HW, execution rule 9)."""


_rule = lru_cache(maxsize=4096)
"""Rules are pure: the same question gets the same answer object."""


def _holds(rule: str, ok: bool, found: str, needed: str, remedy: str) -> Condition:
    status = Status.PROVEN if ok else Status.DISPROVEN
    return Condition(0, Finding(rule, status, found, needed, "" if ok else remedy))


def _multiple(rule: str, value: Value, divisor: int, what: str, unit: str, remedy: str) -> Condition:
    known = known_divisor(value) % divisor == 0
    status = Status.PROVEN if known else Status.DISPROVEN if isinstance(value, int) else Status.UNKNOWN
    finding = Finding(rule, status, f"{what} {value}{unit}", f"a multiple of {divisor}{unit}", "" if known else remedy)
    return Condition(value, finding, divisor)


def _within(rule: str, value: Value, low: int | None, high: int | None, what: str, unit: str, remedy: str) -> Condition:
    if isinstance(value, int):
        least = most = value
    else:
        least, most = bounds(value)
    low_ok = low is None or (least is not None and least >= low)
    high_ok = high is None or (most is not None and most <= high)
    if low_ok and high_ok:
        status, remedy = Status.PROVEN, ""
    elif (low is not None and most is not None and most < low) or (
        high is not None and least is not None and least > high
    ):
        status = Status.DISPROVEN
    else:
        status = Status.UNKNOWN
    needed = f"at least {low}{unit}" if high is None else f"{low}..{high}{unit}"
    return Condition(value, Finding(rule, status, f"{what} {value}{unit}", needed, remedy), 1, low, high)


@_rule
def common_pieces(problem: str) -> Condition:
    """Both layouts cut the copy into pieces that nest, so that each moves by constant strides (planner)."""
    return _holds("common pieces", not problem, problem, "layouts whose tiles nest", "Align the region to the tiles.")


# What cuTensorMapEncodeTiled accepts


@_rule
def known_on_host(values: tuple[Value, ...]) -> Condition:
    """A descriptor is encoded on the host, from values the host knows before launch (driver API)."""
    missing = sorted({s.name for v in values if isinstance(v, Expr) for s in v.symbols() if not s.host})
    found = f"a descriptor over {', '.join(missing) or 'host values'}"
    return _holds("known on host", not missing, found, "values known before launch", "Pass them as kernel arguments.")


@_rule
def rank(count: int) -> Condition:
    """A tensor map has 1 to 5 dimensions (HW, encoding)."""
    return _holds("rank", 1 <= count <= 5, f"{count} dimensions", "1..5", "Merge or drop dimensions.")


@_rule
def data_type(name: str) -> Condition:
    """The element type is one of the 13 un-packed ``CUtensorMapDataType`` (driver API); packed 4/6-bit types are not
    planned."""
    known = ", ".join(DRIVER_BYTES)
    return _holds("data type", name in DRIVER_BYTES, f"data type {name}", f"one of {known}", "Copy it as UINT8.")


@_rule
def interleave(mode: str) -> Condition:
    """Interleaved layouts are legal in the driver but never emitted or modelled here (HW, encoding)."""
    return _holds(
        "interleave", mode == "none", f"interleave {mode}", "none", "Describe the layout with strides instead."
    )


@_rule
def global_address_alignment(address_bytes: Value, known_alignment: int) -> Condition:
    """The tensor's address is a multiple of 16 bytes (HW, encoding).

    ``address_bytes`` is relative to a base whose own alignment is ``known_alignment`` bytes.
    """
    if known_alignment % 16:
        finding = Finding(
            "global address alignment",
            Status.DISPROVEN,
            f"base known to be aligned to {known_alignment} B",
            "16 B",
            "State the base's alignment.",
        )
        return Condition(address_bytes, finding, 16)
    return _multiple(
        "global address alignment", address_bytes, 16, "tensor starts at byte", " B", "Start it at a 16-byte boundary."
    )


@_rule
def global_dimension(extent: Value, index: int) -> Condition:
    """Each global dimension has 1 to 2^32 elements (HW, encoding)."""
    return _within("global dimension", extent, 1, 1 << 32, f"dimension {index} has", " elements", "Split the tensor.")


@_rule
def global_stride_alignment(stride_bytes: Value, index: int) -> Condition:
    """Strides of dimensions 1 and up are multiples of 16 bytes (HW, encoding)."""
    remedy = "Pad the pitch to a multiple of 16 bytes."
    if isinstance(stride_bytes, int) and stride_bytes % 16:
        remedy = f"Pad the pitch to {-(-stride_bytes // 16) * 16} B."
    return _multiple("global stride alignment", stride_bytes, 16, f"stride {index} is", " B", remedy)


@_rule
def global_stride_range(stride_bytes: Value, index: int) -> Condition:
    """Strides are below 2^40 bytes (HW, encoding). They may overlap, be zero, and need not grow."""
    most = (1 << 40) - 1
    return _within("global stride range", stride_bytes, 0, most, f"stride {index} is", " B", "Split the tensor.")


@_rule
def box_dimension(extent: int, index: int) -> Condition:
    """Each box dimension has 1 to 256 elements (HW, encoding)."""
    return _holds(
        "box dimension", 1 <= extent <= 256, f"box dimension {index} has {extent} elements", "1..256", "Split the box."
    )


@_rule
def box_size(box: tuple[int, ...], element_strides: tuple[int, ...], element_bytes: int) -> Condition:
    """The box fits the SM's shared memory (HW, encoding: 230,400 B accepted, 261,120 B refused).

    The driver divides every dimension by its element stride, the innermost one too, and rounds down.
    """
    size = element_bytes * math.prod(extent // step for extent, step in zip(box, element_strides, strict=True))
    needed = f"at most {SHARED_MEMORY_BYTES} B"
    return _holds("box size", size <= SHARED_MEMORY_BYTES, f"box of {size} B", needed, "Split the box.")


@_rule
def inner_box_bytes(size_bytes: int) -> Condition:
    """The innermost box dimension is a multiple of 16 bytes (HW, encoding)."""
    return _holds(
        "inner box bytes",
        size_bytes > 0 and size_bytes % 16 == 0,
        f"contiguous run of {size_bytes} B",
        "a multiple of 16 B",
        f"Copy {-(-size_bytes // 16) * 16} B per row.",
    )


@_rule
def unit_stride(step_bytes: Value, element_bytes: int) -> Condition:
    """Dimension 0 has no stride: its elements are neighbours in global memory (driver API, cuTensorMapEncodeTiled)."""
    same = step_bytes == element_bytes
    status = Status.PROVEN if same else Status.DISPROVEN if isinstance(step_bytes, int) else Status.UNKNOWN
    remedy = "" if same else "Make the dimension that is innermost in shared memory innermost in global memory."
    found = f"elements {step_bytes} B apart in global memory"
    finding = Finding("unit stride", status, found, f"{element_bytes} B", remedy)
    return Condition(step_bytes, finding, 1, element_bytes, element_bytes)


@_rule
def element_stride(step: int, index: int) -> Condition:
    """Traversal strides are 1 to 8; entry 0 has no effect without interleave but is in range too (HW, encoding)."""
    return _holds("element stride", 1 <= step <= 8, f"element stride {index} is {step}", "1..8", "Change the strides.")


@_rule
def swizzle_supported(swizzle: int, chip: str) -> Condition:
    """Modes 0..3 everywhere; the 32-byte and 64-byte atom variants are refused on sm_90 (HW, encoding)."""
    known = 0 <= swizzle <= 6
    ok = known and (swizzle <= 3 or chip_number(chip) >= 100)
    label = Swizzle(swizzle).label if known else str(swizzle)
    return _holds("swizzle supported", ok, f"swizzle {label} on {chip}", "none, 32B, 64B or 128B", "Target sm_100a.")


@_rule
def swizzle_recognised(swizzle: AddressSwizzle | Swizzle | None) -> Condition:
    """The shared tile's address swizzle is one of the hardware's (HW, execution rule 5)."""
    ok = swizzle_mode(swizzle) is not None
    return _holds(
        "swizzle recognised", ok, f"swizzle {swizzle}", "none, 32B, 64B, 128B or an atom variant", "Use one of those."
    )


@_rule
def swizzle_inner_box(size_bytes: int, swizzle: Swizzle) -> Condition:
    """A swizzled inner box is at most 32, 64 or 128 bytes (HW, encoding); it may be shorter."""
    span = swizzle.span_bytes
    return _holds(
        "swizzle inner box",
        not span or size_bytes <= span,
        f"inner box of {size_bytes} B with swizzle {swizzle.label}",
        f"at most {span} B",
        "Split the rows.",
    )


@_rule
def oob_fill_type(fill: int, data_type_name: str) -> Condition:
    """Fill is zero, or NaN for float types only (HW, encoding)."""
    ok = fill == OobFill.ZERO or (fill == OobFill.NAN and data_type_name in DRIVER_FLOATS)
    return _holds(
        "oob fill type", ok, f"fill {fill} for {data_type_name}", "zero, or NaN for a float type", "Fill with zero."
    )


@_rule
def l2_promotion(index: int) -> Condition:
    """L2 promotion is 0..3: none, 64, 128 or 256 bytes (driver API)."""
    return _holds("l2 promotion", 0 <= index <= 3, f"l2 promotion {index}", "0..3", "Use 2 (128 B).")


# What a copy does when it executes


@_rule
def start_coordinate_alignment(start_bytes: Value) -> Condition:
    """The innermost start coordinate is at a multiple of 16 bytes, for loads and stores (HW, execution rule 1).

    Otherwise the kernel dies with "illegal instruction"; no encode-time check sees it.
    """
    return _multiple(
        "start coordinate alignment", start_bytes, 16, "innermost start at byte", " B", "Start rows at 16-byte steps."
    )


@_rule
def coordinate_range(start: Value, index: int, promised: bool) -> Condition:
    """Coordinates are 32-bit signed (PTX ISA, cp.async.bulk.tensor); of an unknown one the caller may promise it."""
    rule = "coordinate range"
    answer = _within(rule, start, -INT32, INT32 - 1, f"start {index} is", "", "Split the tensor.")
    if promised and answer.finding.status is Status.UNKNOWN:
        return _holds(rule, True, f"start {index} is {start}, promised to fit", answer.finding.needed, "")
    return answer


@_rule
def negative_coordinate_on_store(start: Value, index: int) -> Condition:
    """A store or reduction never starts below 0 in any dimension: that kills the kernel (HW, execution rule 2)."""
    remedy = "Crop the region at the tensor's start."
    return _within("negative coordinate on store", start, 0, None, f"start {index} is", "", remedy)


@_rule
def store_clip_granularity(inner_dimension_bytes: Value) -> Condition:
    """A store past the inner end is cut at 16 bytes, so the tensor's rows are multiples of 16 (HW, execution rule 3).

    Otherwise up to 14 bytes behind the row are overwritten silently. Asked only of stores that may pass the end.
    """
    return _multiple(
        "store clip granularity",
        inner_dimension_bytes,
        16,
        "a store passes the end of rows of",
        " B",
        "Keep the region inside the tensor.",
    )


@_rule
def shared_address_alignment(offset_bytes: Value) -> Condition:
    """Each box lands at a multiple of 128 bytes of shared memory (HW, execution rule 5)."""
    return _multiple(
        "shared address alignment", offset_bytes, 128, "box at shared byte", " B", "Align the slice to 128 bytes."
    )


@_rule
def shared_base_alignment(base_alignment_bytes: int | None) -> Condition:
    """A tile filled by tensor maps starts at a multiple of 128 bytes (HW, execution rule 5)."""
    ok = base_alignment_bytes is None or base_alignment_bytes % 128 == 0
    found = f"tile aligned to {base_alignment_bytes} B"
    return _holds("shared base alignment", ok, found, "128 B", "Align the tile to 128 bytes.")


@_rule
def swizzle_phase(base_alignment_bytes: int | None, period_bytes: int) -> Condition:
    """A swizzled tile starts at a multiple of the pattern's period, 256, 512 or 1024 bytes (HW, execution rule 5).

    The pattern is one of absolute addresses: a tile that starts elsewhere is accepted and comes out shifted.
    """
    ok = base_alignment_bytes is None or base_alignment_bytes % period_bytes == 0
    found = f"tile aligned to {base_alignment_bytes} B"
    return _holds("swizzle phase", ok, found, f"{period_bytes} B", f"Align the tile to {period_bytes} bytes.")


@_rule
def reduction_supported(operation: str | None, data_type_name: str) -> Condition:
    """The reduction exists for the type; all others die with "illegal instruction" (HW, execution rule 9)."""
    legal = REDUCTIONS.get(data_type_name, frozenset())
    needed = ", ".join(sorted(legal)) or "no reduction exists for this type"
    return _holds(
        "reduction supported",
        operation is None or operation in legal,
        f"{operation} on {data_type_name}",
        needed,
        "Reduce in registers.",
    )


@_rule
def reduction_direction(operation: str | None, is_store: bool) -> Condition:
    """Reductions go from shared to global memory only (PTX ISA, cp.reduce.async.bulk.tensor)."""
    return _holds(
        "reduction direction", operation is None or is_store, f"{operation} on a load", "a store", "Drop the reduction."
    )


@_rule
def multicast_direction(multicast: bool, is_store: bool) -> Condition:
    """Only loads can be multicast (PTX ISA, cp.async.bulk.tensor)."""
    return _holds(
        "multicast direction", not (multicast and is_store), "multicast on a store", "a load", "Drop the multicast."
    )


@_rule
def cta_group_supported(group: int, chip: str) -> Condition:
    """``cta_group`` 2 needs sm_100 (PTX ISA, cp.async.bulk.tensor)."""
    ok = group == 1 or (group == 2 and chip_number(chip) >= 100)
    return _holds("cta group supported", ok, f"cta_group {group} on {chip}", "1, or 2 on sm_100", "Target sm_100a.")


@_rule
def chip_supported(chip: str) -> Condition:
    """Bulk asynchronous copies need sm_90 (PTX ISA, cp.async.bulk)."""
    return _holds("chip supported", chip_number(chip) >= 90, f"chip {chip}", "sm_90 or later", "Target sm_90a.")


@_rule
def bulk_size(size_bytes: int) -> Condition:
    """A ``cp.async.bulk`` moves a multiple of 16 bytes (PTX ISA)."""
    return _holds(
        "bulk size", size_bytes % 16 == 0, f"contiguous run of {size_bytes} B", "a multiple of 16 B", "Pad the run."
    )


@_rule
def bulk_address_alignment(offset_bytes: Value, known_alignment: int, what: str) -> Condition:
    """Both addresses of a ``cp.async.bulk`` are multiples of 16 bytes (PTX ISA).

    The offset is from a base aligned to ``known_alignment`` bytes.
    """
    remedy = "Start at a 16-byte boundary."
    if known_alignment % 16:
        return _multiple("bulk address alignment", known_alignment, 16, f"{what} base aligned to", " B", remedy)
    return _multiple("bulk address alignment", offset_bytes, 16, f"{what} byte", " B", remedy)


@_rule
def unswizzled(swizzle: Swizzle | None) -> Condition:
    """A bulk copy without a tensor map does not swizzle (PTX ISA, cp.async.bulk)."""
    found = f"swizzle {'of another kind' if swizzle is None else swizzle.label}"
    return _holds("unswizzled", swizzle is Swizzle.NONE, found, "none", "Use a tensor map.")


@_rule
def known_step(step_bytes: Value) -> Condition:
    """Loops of bulk copies have constant strides (a limit of this planner, not of the hardware)."""
    ok = isinstance(step_bytes, int)
    return _holds("known step", ok, f"stride {step_bytes} B", "a constant", "Use a tensor map.")


@_rule
def plain_copy(reduction: str | None, multicast: bool, cta_group: int) -> Condition:
    """Only tensor-map copies are planned as reductions, multicast or for CTA pairs."""
    wanted = [reduction or "", "multicast" * multicast, f"cta_group {cta_group}" * (cta_group != 1)]
    found = ", ".join(filter(None, wanted))
    return _holds("plain copy", not found, found or "a plain copy", "a plain copy", "Use a tensor map.")


@_rule
def swizzle_pattern_known(swizzle: AddressSwizzle | Swizzle | None) -> Condition:
    """Threads compute swizzled addresses themselves, so the pattern is a known address XOR."""
    ok = not isinstance(swizzle, Swizzle) or swizzle is Swizzle.NONE or swizzle in ADDRESS_SWIZZLES
    return _holds("swizzle pattern known", ok, f"swizzle {swizzle!r}", "a known address XOR", "Use a tensor map.")


@_rule
def cp_async_direction(is_load: bool) -> Condition:
    """``cp.async`` copies from global to shared memory only (PTX ISA)."""
    return _holds("cp async direction", is_load, "a store" if not is_load else "a load", "a load", "Use plain stores.")


@_rule
def cp_async_size(width_bytes: int) -> Condition:
    """``cp.async`` copies 4, 8 or 16 bytes (PTX ISA)."""
    return _holds(
        "cp async size", width_bytes in (4, 8, 16), f"vectors of {width_bytes} B", "4, 8 or 16 B", "Align the rows."
    )


@_rule
def cp_async_fill(is_zero: bool) -> Condition:
    """``cp.async`` fills with zeros only (PTX ISA, src-size)."""
    return _holds("cp async fill", is_zero, "zero fill" if is_zero else "NaN fill", "zero fill", "Fill with zero.")


@_rule
def inside_tensor(proven: bool) -> Condition:
    """A copy without a tensor map neither fills nor clips: its region lies inside the tensor."""
    return _holds("inside tensor", proven, "a region that may leave the tensor", "a region inside", "State in_bounds.")


# What a descriptor written by the user must match


@_rule
def descriptor_given(given: bool) -> Condition:
    """``tma_explicit`` plans the descriptor it is given, and none otherwise."""
    return _holds("descriptor given", given, "no descriptor", "box, dims, strides and starts", "Describe it.")


@_rule
def equal_ranks(counts: tuple[int, ...]) -> Condition:
    """Box, dims, strides and starts have one entry a dimension."""
    found = f"{'/'.join(map(str, counts))} entries in box/dims/strides/starts"
    return _holds("equal ranks", len(set(counts)) == 1 and counts[0] > 0, found, "one a dimension", "Complete them.")


@_rule
def same_movement(described: tuple[tuple, ...], asked: tuple[tuple, ...]) -> Condition:
    """The box moves what the copy asks for: the same steps in global and in shared memory.

    Both are (extent, global bytes, shared bytes), innermost first.
    """
    return _holds(
        "same movement", described == asked, _steps_text(described), _steps_text(asked), "Change the box or the layout."
    )


def _steps_text(steps: tuple[tuple, ...]) -> str:
    texts = [f"{extent} steps of {source} B to {target} B" for extent, source, target in steps]
    return ", ".join(texts) or "one element"


@_rule
def same_start(difference_bytes: Value) -> Condition:
    """The box starts at the region's first element."""
    ok = isinstance(difference_bytes, int) and difference_bytes == 0
    return _holds("same start", ok, f"start off by {difference_bytes} B", "0 B", "Start at the region's first element.")


@_rule
def same_end(exact: bool) -> Condition:
    """Where the box can leave the descriptor or the tensor, both end at the same element: fill and clip are right."""
    found = "dims that end elsewhere than the tensor"
    return _holds("same end", exact, found, "the tensor's extents", "Use the tensor's extents as dims.")


@_rule
def same_swizzle(described: Swizzle, asked: Swizzle | None) -> Condition:
    """The descriptor swizzles as the shared tile does."""
    needed = "the tile's swizzle" if asked is None else asked.label
    return _holds("same swizzle", described is asked, f"swizzle {described.label}", needed, "Make them equal.")


def chip_number(chip: str) -> int:
    """``90`` for ``sm_90a``."""
    digits = "".join(character for character in chip.partition("_")[2] if character.isdigit())
    return int(digits) if digits else 0


def encode_conditions(
    data_type_name: str,
    dims: tuple[Value, ...],
    strides_bytes: tuple[Value, ...],
    box: tuple[int, ...],
    element_strides: tuple[int, ...],
    swizzle: int,
    *,
    l2_promotion_index: int = 0,
    fill: int = 0,
    address_bytes: Value = 0,
    known_alignment: int = 16,
    interleave_mode: str = "none",
    chip: str = "sm_90a",
) -> list[Condition]:
    """Every encoding rule, on the arguments of one ``cuTensorMapEncodeTiled`` call."""
    found = [rank(len(dims)), data_type(data_type_name), interleave(interleave_mode)]
    found += [swizzle_supported(swizzle, chip), l2_promotion(l2_promotion_index), oob_fill_type(fill, data_type_name)]
    found.append(global_address_alignment(address_bytes, known_alignment))
    found += [global_dimension(extent, index) for index, extent in enumerate(dims)]
    for index, stride in enumerate(strides_bytes, 1):
        found += [global_stride_alignment(stride, index), global_stride_range(stride, index)]
    found += [box_dimension(extent, index) for index, extent in enumerate(box)]
    found += [element_stride(step, index) for index, step in enumerate(element_strides)]
    if all(condition.finding.status is not Status.DISPROVEN for condition in found):
        element_bytes = DRIVER_BYTES[data_type_name]
        inner = box[0] * element_bytes
        found += [box_size(box, element_strides, element_bytes), inner_box_bytes(inner)]
        found.append(swizzle_inner_box(inner, Swizzle(swizzle)))
    return found
