"""What copies of packed 4- and 6-bit elements demand on top of the rules of every copy.

Sources: the driver API's cuTensorMapEncodeTiled, on ``CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B``, ``16U4_ALIGN16B`` and
``16U6_ALIGN16B``; PTX ISA, "Tensors", sub-byte types. Nothing here was measured: it needs a chip after sm_90.
"""

from __future__ import annotations

import math

from ...chips import Feature, chip_has, chips_with
from ...dtypes import PACKED_TYPES
from ...layout.swizzle import Swizzle
from ..copy_plan import Condition
from ..enums import Variant
from ..tensor_map import TensorMap
from .answers import Answer, Value, holds, multiple, rule


@rule
def packed_supported(chip: str, data_type_name: str) -> Answer:
    """Packed data types came with sm_100 (driver API: compute capability 10.0)."""
    needed = f"one of {', '.join(chips_with(Feature.PACKED_TYPES))}"
    remedy = "Copy the bytes as i8, or target sm_100a."
    return holds(chip_has(chip, Feature.PACKED_TYPES), f"{data_type_name} on {chip}", needed, remedy)


@rule
def packed_way(variant: Variant) -> Answer:
    """Nothing but TMA copies packed elements (planner: threads cannot address half a byte)."""
    ok = variant in (Variant.AUTO, Variant.TMA)
    return holds(ok, f"variant {variant}", "tma", "Drop 'variant', or copy the bytes as i8.")


@rule
def packed_mode(mode: str) -> Answer:
    """Gathers, scatters and im2col copies of packed elements are not modelled here (planner)."""
    return holds(mode == "tile", f"mode {mode}", "tile", "Drop 'mode', or copy the bytes as i8.")


@rule
def packed_direction(data_type_name: str, is_store: bool) -> Answer:
    """Sixteen 4-bit elements with a gap of 8 bytes can only be loaded (driver API)."""
    ok = not is_store or data_type_name != "16U4_ALIGN16B"
    return holds(ok, f"a store of {data_type_name}", "a load", 'Store from a tile with packing = "8B".')


@rule
def packed_tile(problem: str) -> Answer:
    """One instruction fills the whole tile, whose rows lie one behind the other (planner)."""
    needed = "row-major tensors, and a whole tile of the extents of the sizes"
    return holds(not problem, problem, needed, "Give the copy a tile of its own, with the shape of the sizes.")


@rule
def packed_box(columns: int, data_type_name: str) -> Answer:
    """The box has 128 columns with gaps, and without a multiple of 32, which are 16 bytes (driver API)."""
    if PACKED_TYPES[data_type_name].has_gaps:
        return holds(columns == 128, f"{columns} columns of {data_type_name}", "128", "Copy 128 columns at a time.")
    remedy = f"Copy {max(1, -(-columns // 32)) * 32} columns."
    return holds(columns % 32 == 0, f"{columns} columns of {data_type_name}", "a multiple of 32", remedy)


@rule
def packed_dimension(extent: Value, data_type_name: str) -> Answer:
    """Rows of the tensor have a multiple of 128 elements with gaps, else an even number (driver API)."""
    divisor = 128 if PACKED_TYPES[data_type_name].has_gaps else 2
    return multiple(extent, divisor, "rows of", " elements", f"Pad the rows to a multiple of {divisor} elements.")


@rule
def packed_pitch(stride: Value, bits: int, needed_bytes: int) -> Answer:
    """Rows begin a multiple of 32 bytes apart with gaps, else of 16 (driver API)."""
    elements = needed_bytes * 8 // math.gcd(bits, needed_bytes * 8)
    remedy = f"Pad the pitch to a multiple of {elements} elements, and say it with 'assume' where it is dynamic."
    return multiple(stride, elements, "pitch", f" elements of {bits} bits", remedy)


@rule
def packed_address(offset: Value, bits: int, needed_bytes: int) -> Answer:
    """The tensor starts at a multiple of 32 bytes with gaps, else of 16 (driver API); of the array itself the launch
    must see to it."""
    elements = needed_bytes * 8 // math.gcd(bits, needed_bytes * 8)
    remedy = f"Start it at a multiple of {needed_bytes} bytes."
    return multiple(offset, elements, "tensor starts at element", "", remedy)


@rule
def packed_start(start: Value, data_type_name: str) -> Answer:
    """The innermost start coordinate is a multiple of 128 elements with gaps (PTX ISA); without, of 32, which are the
    16 bytes that other types need."""
    divisor = 128 if PACKED_TYPES[data_type_name].has_gaps else 32
    return multiple(start, divisor, "innermost start at element", "", f"Start rows at steps of {divisor} elements.")


@rule
def packed_store_end(columns: Value) -> Answer:
    """A store past the inner end is cut at 16 bytes, as with other types; asked only of stores that may pass it."""
    remedy = "Keep the region inside the tensor."
    return multiple(columns, 32, "a store passes the end of rows of", " elements", remedy)


@rule
def packed_swizzle(swizzle: Swizzle, data_type_name: str, is_store: bool) -> Answer:
    """With gaps: no swizzle, 128B, 128B with 32-byte atoms; stores of 6-bit elements 64-byte atoms too (driver API)."""
    allowed = [Swizzle.NONE, Swizzle.B128, Swizzle.B128_ATOM_32B]
    if is_store:
        allowed.append(Swizzle.B128_ATOM_64B)
    ok = not PACKED_TYPES[data_type_name].has_gaps or swizzle in allowed
    needed = ", ".join(each.label for each in allowed)
    return holds(ok, f"swizzle {swizzle.label} of {data_type_name}", needed, "Use one of those.")


def packed_conditions(tensor_map: TensorMap, chip: str) -> list[Condition]:
    """What ``cuTensorMapEncodeTiled`` demands of a packed map besides the rules it shares with others."""
    name = tensor_map.data_type
    if not tensor_map.box or not tensor_map.dims:
        return [packed_supported(chip, name)]  # the rank is wrong, which another rule says
    found = [packed_supported(chip, name), packed_box(tensor_map.box[0], name)]
    found.append(packed_dimension(tensor_map.dims[0], name))
    return found
