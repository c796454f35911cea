"""What ``cuTensorMapEncodeTiled`` accepts. "HW" is TMA_HARDWARE.md: what an H200's driver was seen to do."""

from __future__ import annotations

import math

from ...dtypes import DRIVER_BYTES, DRIVER_FLOATS
from ...layout.expr import Expr
from ...layout.swizzle import Swizzle
from ..copy_plan import Condition
from ..findings import Finding, Status
from ..tensor_map import Im2col, OobFill, TensorMap
from .answers import Value, chip_number, holds, multiple, rule, within
from .row_modes import im2col_conditions

SHARED_MEMORY_BYTES = 232_448
"""Shared memory one block can have on sm_90 and sm_100 (227 KiB)."""


@rule
def known_on_host(values: tuple[Value, ...]) -> Condition:
    """A descriptor is encoded on the host, from values the host knows before launch (driver API)."""
    missing = sorted({s.name for v in values if isinstance(v, Expr) for s in v.symbols() if not s.host})
    found = f"a descriptor over {', '.join(missing) or 'host values'}"
    return holds("known on host", not missing, found, "values known before launch", "Pass them as kernel arguments.")


@rule
def rank(count: int) -> Condition:
    """A tensor map has 1 to 5 dimensions (HW, encoding)."""
    return holds("rank", 1 <= count <= 5, f"{count} dimensions", "1..5", "Merge or drop dimensions.")


@rule
def data_type(name: str) -> Condition:
    """The element type is one of the 13 un-packed ``CUtensorMapDataType`` (driver API); packed 4/6-bit types are not
    planned."""
    known = ", ".join(DRIVER_BYTES)
    return holds("data type", name in DRIVER_BYTES, f"data type {name}", f"one of {known}", "Copy it as UINT8.")


@rule
def interleave(mode: str) -> Condition:
    """Interleaved layouts are legal in the driver but never emitted or modelled here (HW, encoding)."""
    return holds(
        "interleave", mode == "none", f"interleave {mode}", "none", "Describe the layout with strides instead."
    )


@rule
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
    return multiple(
        "global address alignment", address_bytes, 16, "tensor starts at byte", " B", "Start it at a 16-byte boundary."
    )


@rule
def global_dimension(extent: Value, index: int) -> Condition:
    """Each global dimension has 1 to 2^32 elements (HW, encoding)."""
    return within("global dimension", extent, 1, 1 << 32, f"dimension {index} has", " elements", "Split the tensor.")


@rule
def global_stride_alignment(stride_bytes: Value, index: int) -> Condition:
    """Strides of dimensions 1 and up are multiples of 16 bytes (HW, encoding)."""
    remedy = "Pad the pitch to a multiple of 16 bytes."
    if isinstance(stride_bytes, int) and stride_bytes % 16:
        remedy = f"Pad the pitch to {-(-stride_bytes // 16) * 16} B."
    return multiple("global stride alignment", stride_bytes, 16, f"stride {index} is", " B", remedy)


@rule
def global_stride_range(stride_bytes: Value, index: int) -> Condition:
    """Strides are below 2^40 bytes (HW, encoding). They may overlap, be zero, and need not grow."""
    most = (1 << 40) - 1
    return within("global stride range", stride_bytes, 0, most, f"stride {index} is", " B", "Split the tensor.")


@rule
def box_dimension(extent: int, index: int) -> Condition:
    """Each box dimension has 1 to 256 elements (HW, encoding)."""
    return holds(
        "box dimension", 1 <= extent <= 256, f"box dimension {index} has {extent} elements", "1..256", "Split the box."
    )


@rule
def box_size(box: tuple[int, ...], element_strides: tuple[int, ...], element_bytes: int) -> Condition:
    """The box fits the SM's shared memory (HW, encoding: 230,400 B accepted, 261,120 B refused).

    The driver divides every dimension by its element stride, the innermost one too, and rounds down.
    """
    size = element_bytes * math.prod(extent // step for extent, step in zip(box, element_strides, strict=True))
    needed = f"at most {SHARED_MEMORY_BYTES} B"
    return holds("box size", size <= SHARED_MEMORY_BYTES, f"box of {size} B", needed, "Split the box.")


@rule
def inner_box_bytes(size_bytes: int) -> Condition:
    """The innermost box dimension is a multiple of 16 bytes (HW, encoding)."""
    return holds(
        "inner box bytes",
        size_bytes > 0 and size_bytes % 16 == 0,
        f"contiguous run of {size_bytes} B",
        "a multiple of 16 B",
        f"Copy {-(-size_bytes // 16) * 16} B per row.",
    )


@rule
def unit_stride(step_bytes: Value, element_bytes: int) -> Condition:
    """Dimension 0 has no stride: its elements are neighbours in global memory (driver API, cuTensorMapEncodeTiled)."""
    same = step_bytes == element_bytes
    status = Status.PROVEN if same else Status.DISPROVEN if isinstance(step_bytes, int) else Status.UNKNOWN
    remedy = "" if same else "Make the dimension that is innermost in shared memory innermost in global memory."
    found = f"elements {step_bytes} B apart in global memory"
    finding = Finding("unit stride", status, found, f"{element_bytes} B", remedy)
    return Condition(step_bytes, finding, 1, element_bytes, element_bytes)


@rule
def element_stride(step: int, index: int) -> Condition:
    """Traversal strides are 1 to 8; entry 0 has no effect without interleave but is in range too (HW, encoding)."""
    return holds("element stride", 1 <= step <= 8, f"element stride {index} is {step}", "1..8", "Change the strides.")


@rule
def swizzle_supported(swizzle: int, chip: str) -> Condition:
    """Modes 0..3 everywhere; the 32-byte and 64-byte atom variants are refused on sm_90 (HW, encoding)."""
    known = 0 <= swizzle <= 6
    ok = known and (swizzle <= 3 or chip_number(chip) >= 100)
    label = Swizzle(swizzle).label if known else str(swizzle)
    return holds("swizzle supported", ok, f"swizzle {label} on {chip}", "none, 32B, 64B or 128B", "Target sm_100a.")


@rule
def swizzle_inner_box(size_bytes: int, swizzle: Swizzle) -> Condition:
    """A swizzled inner box is at most 32, 64 or 128 bytes (HW, encoding); it may be shorter."""
    span = swizzle.span_bytes
    return holds(
        "swizzle inner box",
        not span or size_bytes <= span,
        f"inner box of {size_bytes} B with swizzle {swizzle.label}",
        f"at most {span} B",
        "Split the rows.",
    )


@rule
def oob_fill_type(fill: int, data_type_name: str) -> Condition:
    """Fill is zero, or NaN for float types only (HW, encoding)."""
    ok = fill == OobFill.ZERO or (fill == OobFill.NAN and data_type_name in DRIVER_FLOATS)
    return holds(
        "oob fill type", ok, f"fill {fill} for {data_type_name}", "zero, or NaN for a float type", "Fill with zero."
    )


@rule
def l2_promotion(index: int) -> Condition:
    """L2 promotion is 0..3: none, 64, 128 or 256 bytes (driver API)."""
    return holds("l2 promotion", 0 <= index <= 3, f"l2 promotion {index}", "0..3", "Use 2 (128 B).")


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
    im2col: Im2col | None = None,
) -> list[Condition]:
    """Every encoding rule, on the arguments of one ``cuTensorMapEncodeTiled`` or ``cuTensorMapEncodeIm2col`` call."""
    found = [rank(len(dims)), data_type(data_type_name), interleave(interleave_mode)]
    found += [swizzle_supported(swizzle, chip), l2_promotion(l2_promotion_index), oob_fill_type(fill, data_type_name)]
    found.append(global_address_alignment(address_bytes, known_alignment))
    found += [global_dimension(extent, index) for index, extent in enumerate(dims)]
    for index, stride in enumerate(strides_bytes, 1):
        found += [global_stride_alignment(stride, index), global_stride_range(stride, index)]
    if im2col is None:
        found += [box_dimension(extent, index) for index, extent in enumerate(box)]
    else:
        found += im2col_conditions(im2col, dims, box, swizzle, chip)
    found += [element_stride(step, index) for index, step in enumerate(element_strides)]
    if all(condition.finding.status is not Status.DISPROVEN for condition in found):
        element_bytes = DRIVER_BYTES[data_type_name]
        inner = box[0] * element_bytes
        steps = element_strides if im2col is None else (1, 1)
        found += [box_size(box, steps, element_bytes), inner_box_bytes(inner)]
        found.append(swizzle_inner_box(inner, Swizzle(swizzle)))
    return found


def tensor_map_conditions(
    tensor_map: TensorMap, address_bytes: Value, chip: str, known_alignment: int = 16
) -> list[Condition]:
    """Every encoding rule on ``tensor_map`` for a tensor at ``address_bytes`` plus a multiple of the alignment."""
    return encode_conditions(
        tensor_map.data_type,
        tensor_map.dims,
        tensor_map.strides_bytes,
        tensor_map.box,
        tensor_map.element_strides,
        tensor_map.swizzle,
        l2_promotion_index=tensor_map.l2_promotion,
        fill=tensor_map.oob_fill,
        address_bytes=address_bytes,
        known_alignment=known_alignment,
        chip=chip,
        im2col=tensor_map.im2col,
    )
