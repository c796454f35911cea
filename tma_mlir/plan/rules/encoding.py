"""What ``cuTensorMapEncodeTiled`` accepts. "HW" is docs/hardware.md: what an H200's driver was seen to do."""

from __future__ import annotations

import math

from ...chips import DEFAULT_CHIP, Feature, chip_has, shared_bytes
from ...dtypes import DRIVER_BYTES, DRIVER_FLOATS, PACKED_TYPES
from ...hardware import MAX_BOX_EXTENT, MAX_RANK, MAX_STRIDE_BYTES
from ...layout.expr import Expr, Symbol
from ...layout.swizzle import Swizzle
from ..copy_plan import Condition
from ..findings import Status
from ..tensor_map import OobFill, TensorMap
from .answers import Answer, Value, holds, multiple, rule, within
from .packed import packed_conditions
from .row_modes import im2col_conditions


@rule
def known_on_host(values: tuple[Value, ...]) -> Answer:
    """A descriptor is encoded on the host, from values the host knows before launch (driver API)."""
    missing = sorted({s.name for v in values if isinstance(v, Expr) for s in v.symbols() if not s.host})
    found = f"a descriptor over {', '.join(missing) or 'host values'}"
    return holds(not missing, found, "values known before launch", "Pass them as kernel arguments.")


@rule
def promise_kept(symbol: Symbol) -> Answer:
    """What the caller promised of a number that the host knows is true of it (planner: the plan was made for that).

    That it is 0 or 1 at least is not a promise: other rules ask for it.
    """
    value, rest = Expr.of(symbol), symbol.residue
    low, high = (None if end is None else end - rest for end in (symbol.low, symbol.high))
    remedy = "Pass an array that is so, or correct the promise."
    status = (
        Status.UNKNOWN if symbol.divisor != 1 or symbol.high is not None or (symbol.low or 0) > 1 else Status.PROVEN
    )
    return Answer(
        status, f"a promise of {symbol.name}", symbol.known_text, remedy, value - rest, symbol.divisor, low, high
    )


@rule
def rank(count: int) -> Answer:
    """A tensor map has 1 to 5 dimensions (HW, encoding)."""
    return holds(1 <= count <= MAX_RANK, f"{count} dimensions", f"1..{MAX_RANK}", "Merge dimensions, or copy in parts.")


@rule
def data_type(name: str) -> Answer:
    """The element type is a ``CUtensorMapDataType`` (driver API)."""
    known = (*DRIVER_BYTES, *PACKED_TYPES)
    return holds(name in known, f"data type {name}", f"one of {', '.join(known)}", "Copy it as UINT8.")


@rule
def interleave(mode: str) -> Answer:
    """Interleaved layouts are legal in the driver but never emitted or modelled here (HW, encoding).

    No ``TensorMap`` has one: asked of descriptors that others made."""
    return holds(mode == "none", f"interleave {mode}", "none", "Describe the layout with strides instead.")


@rule
def global_address_alignment(address_bytes: Value, known_alignment: int) -> Answer:
    """The tensor's address is a multiple of 16 bytes (HW, encoding).

    ``address_bytes`` is relative to a base whose own alignment is ``known_alignment`` bytes.
    """
    if known_alignment % 16:
        found = f"base known to be aligned to {known_alignment} B"
        return holds(False, found, "16 B", "State that it is aligned to 16 bytes.")
    return multiple(address_bytes, 16, "tensor starts at byte", " B", "Start it at a multiple of 16 bytes.")


@rule
def global_dimension(extent: Value, index: int) -> Answer:
    """Each global dimension has 1 to 2^32 elements (HW, encoding)."""
    remedy = "Skip the copy where the tensor is empty." if extent == 0 else "Copy from a view of fewer elements."
    return within(extent, 1, 1 << 32, f"dimension {index} has", " elements", remedy)


@rule
def global_stride_alignment(stride_bytes: Value, index: int) -> Answer:
    """Strides of dimensions 1 and up are multiples of 16 bytes (HW, encoding)."""
    remedy = "Pad the pitch to a multiple of 16 bytes, and say it with assume where it is dynamic."
    if isinstance(stride_bytes, int) and stride_bytes % 16:
        remedy = f"Pad the pitch to {-(-stride_bytes // 16) * 16} B."
    return multiple(stride_bytes, 16, f"stride {index} is", " B", remedy)


@rule
def global_stride_range(stride_bytes: Value, index: int) -> Answer:
    """Strides are below 2^40 bytes (HW, encoding). They may overlap, be zero, and need not grow."""
    return within(stride_bytes, 0, MAX_STRIDE_BYTES, f"stride {index} is", " B", "Copy from a view of its own.")


@rule
def box_dimension(extent: int, index: int) -> Answer:
    """Each box dimension has 1 to 256 elements (HW, encoding)."""
    ok = 1 <= extent <= MAX_BOX_EXTENT
    return holds(ok, f"box dimension {index} has {extent} elements", f"1..{MAX_BOX_EXTENT}", "Split the box.")


@rule
def box_size(
    box: tuple[int, ...], element_strides: tuple[int, ...], element_bytes: int, chip: str = DEFAULT_CHIP
) -> Answer:
    """The box fits a block's shared memory (HW, encoding: 230,400 B accepted, 261,120 B refused).

    The driver divides every dimension by its element stride, the innermost one too, and rounds down.
    """
    size = element_bytes * math.prod(extent // step for extent, step in zip(box, element_strides, strict=True))
    most = shared_bytes(chip)
    needed = f"at most {most} B"
    return holds(size <= most, f"box of {size} B", needed, "Split the box.")


@rule
def inner_box_bytes(size_bytes: int) -> Answer:
    """The innermost box dimension is a multiple of 16 bytes (HW, encoding)."""
    return holds(
        size_bytes > 0 and size_bytes % 16 == 0,
        f"contiguous run of {size_bytes} B",
        "a multiple of 16 B",
        f"Copy {-(-size_bytes // 16) * 16} B per row.",
    )


@rule
def unit_stride(step_bytes: Value, element_bytes: int) -> Answer:
    """Dimension 0 has no stride: its elements are neighbours in global memory (driver API, cuTensorMapEncodeTiled)."""
    same = step_bytes == element_bytes
    status = Status.PROVEN if same else Status.DISPROVEN if isinstance(step_bytes, int) else Status.UNKNOWN
    remedy = "Make the dimension that is innermost in shared memory innermost in global memory."
    found = f"elements {step_bytes} B apart in global memory"
    return Answer(status, found, f"{element_bytes} B", remedy, step_bytes, 1, element_bytes, element_bytes)


@rule
def element_stride(step: int, index: int) -> Answer:
    """Traversal strides are 1 to 8; entry 0 has no effect without interleave but is in range too (HW, encoding)."""
    return holds(1 <= step <= 8, f"element stride {index} is {step}", "1..8", "Take steps of 1 to 8.")


@rule
def swizzle_supported(swizzle: int, chip: str) -> Answer:
    """Modes 0..3 everywhere; the 32-byte and 64-byte atom variants on some chips (HW, encoding: refused on sm_90)."""
    known = 0 <= swizzle <= 6
    ok = known and (swizzle <= Swizzle.B128 or chip_has(chip, Feature.ATOM_SWIZZLES))
    label = Swizzle(swizzle).label if known else str(swizzle)
    return holds(ok, f"swizzle {label} on {chip}", "none, 32B, 64B or 128B", "Target sm_100a.")


@rule
def swizzle_inner_box(size_bytes: int, swizzle: Swizzle) -> Answer:
    """A swizzled inner box is at most 32, 64 or 128 bytes (HW, encoding); it may be shorter."""
    span = swizzle.span_bytes
    return holds(
        not span or size_bytes <= span,
        f"inner box of {size_bytes} B with swizzle {swizzle.label}",
        f"at most {span} B",
        f"Copy {span} B of a row at a time.",
    )


@rule
def oob_fill_type(fill: int, data_type_name: str) -> Answer:
    """Fill is zero, or NaN for float types only (HW, encoding)."""
    ok = fill == OobFill.ZERO or (fill == OobFill.NAN and data_type_name in DRIVER_FLOATS)
    named = OobFill(fill).name.lower() if fill in list(OobFill) else fill
    return holds(ok, f"fill with {named} for {data_type_name}", "zero, or NaN for a float type", "Fill with zero.")


@rule
def l2_promotion(index: int) -> Answer:
    """L2 promotion is 0..3: none, 64, 128 or 256 bytes (driver API)."""
    return holds(0 <= index <= 3, f"l2 promotion {index}", "0..3", "Use 2 (128 B).")


def encode_conditions(
    tensor_map: TensorMap, *, address_bytes: Value = 0, known_alignment: int = 16, chip: str = DEFAULT_CHIP
) -> list[Condition]:
    """Every encoding rule on ``tensor_map``, tiled or im2col, for a tensor that starts ``address_bytes`` after a
    multiple of ``known_alignment``."""
    box, strides, swizzle = tensor_map.box, tensor_map.element_strides, tensor_map.swizzle
    name, im2col = tensor_map.data_type, tensor_map.im2col
    found = [rank(tensor_map.rank), data_type(name)]
    found += [swizzle_supported(swizzle, chip), l2_promotion(tensor_map.l2_promotion)]
    found += [oob_fill_type(tensor_map.oob_fill, name), global_address_alignment(address_bytes, known_alignment)]
    found += [global_dimension(extent, index) for index, extent in enumerate(tensor_map.dims)]
    for index, stride in enumerate(tensor_map.strides_bytes, 1):
        found += [global_stride_alignment(stride, index), global_stride_range(stride, index)]
    if im2col is None:
        found += [box_dimension(extent, index) for index, extent in enumerate(box)]
    else:
        found += im2col_conditions(im2col, tensor_map.dims, box, swizzle, chip)
    if name in PACKED_TYPES:
        found += packed_conditions(tensor_map, chip)
    found += [element_stride(step, index) for index, step in enumerate(strides)]
    if all(condition.finding.status is not Status.DISPROVEN for condition in found):
        inner = tensor_map.inner_box_bytes
        steps = strides if im2col is None else (1, 1)
        found += [box_size(box, steps, -(-tensor_map.element_bits // 8), chip), inner_box_bytes(inner)]
        found.append(swizzle_inner_box(inner, Swizzle(swizzle)))
    return found
