"""What ``tile::gather4``/``scatter4`` and im2col copies demand on top of the rules of every copy.

"HW" is docs/hardware.md. Other sources: PTX ISA, "Tensors" (im2col mode, gather/scatter) and cp.async.bulk.tensor; the
driver API's cuTensorMapEncodeIm2col and cuTensorMapEncodeIm2colWide.
"""

from __future__ import annotations

from ...chips import Feature, chip_has, chips_with
from ...layout.expr import bounds
from ...layout.swizzle import Swizzle
from ..copy_plan import Condition
from ..findings import Finding, Status
from ..tensor_map import Im2col
from .answers import Answer, Value, holds, rule, within

CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""Bits of a corner (signed) and of a filter offset (unsigned), by rank (driver API; PTX ISA, im2colOffsets)."""


def broken(conditions: list[Condition]) -> tuple[Finding, ...]:
    """The findings that forbid the copy."""
    return tuple(each.finding for each in conditions if each.finding.status is Status.DISPROVEN)


@rule
def way_of_mode(variant: str) -> Answer:
    """Only TMA gathers, scatters and walks im2col boxes (planner: there is no fallback for them)."""
    ok = variant in ("auto", "tma")
    return holds(ok, f"variant {variant}", "tma", "Drop 'variant', or drop 'mode'.")


@rule
def mode_reduction(operation: str | None) -> Answer:
    """Scatters have no reducing form (PTX ISA, cp.reduce.async.bulk.tensor); that of im2col is not modelled."""
    return holds(operation is None, f"{operation}", "no reduction", "Reduce tile by tile.")


@rule
def row_pitch(found_bytes: int, needed_bytes: int) -> Answer:
    """Rows named one by one land one after another, at the box's width or the swizzle's span (HW, execution rule 4)."""
    remedy = "Store the tile with rows that close together, or as #tile.atoms."
    return holds(found_bytes == needed_bytes, f"rows {found_bytes} B apart", f"{needed_bytes} B", remedy)


@rule
def gather_supported(chip: str, form: Feature = Feature.GATHER4) -> Answer:
    """The chip has this form of ``tile::gather4`` or ``scatter4`` (PTX ISA, cp.async.bulk.tensor, target notes)."""
    needed = f"one of {', '.join(chips_with(form))}"
    remedy = "Copy the rows one by one, or target sm_100a."
    return holds(chip_has(chip, form), f"{form.value} on {chip}", needed, remedy)


@rule
def gather_rank(rank: int) -> Answer:
    """The tensor of a gather or scatter is two-dimensional (PTX ISA, tiled::gather4 and scatter4 modes)."""
    return holds(rank == 2, f"a tensor of rank {rank}", "rank 2", "View the tensor as a matrix.")


@rule
def gather_rows(count: int, extent: int) -> Answer:
    """One instruction moves four rows (PTX ISA, tiled::gather4 and scatter4 modes)."""
    found = f"{count} rows for {extent} of the tile"
    return holds(count == extent == 4, found, "4", "Make one copy for every four rows.")


@rule
def im2col_rank(rank: int) -> Answer:
    """im2col tensors are NWC, NHWC or NDHWC (driver API)."""
    return holds(3 <= rank <= 5, f"a tensor of rank {rank}", "3..5", "View it as N(D)(H)WC.")


@rule
def im2col_corner_range(corner: int, rank: int, name: str) -> Answer:
    """Corners have 16, 8 or 5 signed bits at rank 3, 4, 5 (driver API); 16 in the wide modes."""
    half = 1 << (CORNER_BITS.get(rank, 16) - 1)
    remedy = f"Use a corner from {-half} to {half - 1}, and copy the rest by itself."
    return within(corner, -half, half - 1, f"{name} corner", "", remedy)


@rule
def im2col_bounding_box(extent: Value, lower: int, upper: int, index: int) -> Answer:
    """The bounding box holds at least one pixel (driver API). The driver adds extent and upper corner in a signed
    32-bit number and compares that with the lower corner, so an extent of 2**31 needs a negative upper corner and one
    of 2**32 counts as nothing (measured on an H200)."""
    end = (extent + upper + (1 << 31)) % (1 << 32) - (1 << 31) if isinstance(extent, int) else extent + upper
    what = f"bounding box of dimension {index} has"
    return within(end - lower, 1, None, what, " pixels", "Move the upper corner up or the lower one down.")


@rule
def im2col_channels(count: int) -> Answer:
    """1 to 256 channels per pixel (driver API)."""
    return holds(1 <= count <= 256, f"{count} channels", "1..256", "Copy fewer channels at a time.")


@rule
def im2col_pixels(count: int) -> Answer:
    """1 to 1024 pixels per column (driver API)."""
    return holds(1 <= count <= 1024, f"{count} pixels", "1..1024", "Copy fewer pixels at a time.")


@rule
def im2col_offset_range(offset: Value, rank: int) -> Answer:
    """Filter offsets are unsigned, of 16, 8 or 5 bits at rank 3, 4, 5 (PTX ISA); of an unknown one it is promised."""
    most = (1 << CORNER_BITS.get(rank, 16)) - 1
    remedy = f"Use 0 to {most}, and shift the corners and the start by the rest."
    answer = within(offset, 0, most, "filter offset", "", remedy)
    return _promised(answer)


@rule
def im2col_start(start: Value, low: Value, high: Value, index: int) -> Answer:
    """The first pixel lies in the bounding box (PTX ISA, im2col mode); of an unknown one it is promised."""
    first, last = bounds(start)
    most, least = bounds(high)[1], bounds(low)[0]
    outside = (first is not None and most is not None and first > most) or (
        last is not None and least is not None and last < least
    )
    needed = f"{low}..{high}"
    remedy = "Start inside the box of the corners."
    return holds(not outside, f"first pixel at {start} in dimension {index}", needed, remedy)


@rule
def im2col_store_offset(offset: Value) -> Answer:
    """Stores have no filter offsets (PTX ISA: im2col_no_offs)."""
    return holds(offset == 0, f"filter offset {offset}", "0", "Leave it out of a store.")


@rule
def im2col_store_corner(corner: int) -> Answer:
    """A store stays at coordinates from 0 on: tiled stores below it kill the kernel (HW, execution rule 2), and im2col
    ones were not measured."""
    return holds(corner >= 0, f"lower corner {corner}", "0 or more", "Store without padding.")


@rule
def im2col_wide_supported(chip: str, form: Feature = Feature.IM2COL_W) -> Answer:
    """The chip has this form of ``im2col::w`` (PTX ISA, cp.async.bulk.tensor, target notes); its descriptors need
    compute capability 10.0 (driver API)."""
    needed = f"one of {', '.join(chips_with(form))}"
    return holds(chip_has(chip, form), f"{form.value} on {chip}", needed, 'Use mode = "im2col".')


@rule
def im2col_wide_swizzle(swizzle: Swizzle) -> Answer:
    """The wide modes need a swizzle of 64 B or more, and not the one that flips 8 bytes (driver API, PTX ISA)."""
    ok = swizzle in (Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM_32B, Swizzle.B128_ATOM_64B)
    return holds(ok, f"swizzle {swizzle.label}", "64B or 128B", 'Use #tile.swizzle<"128B">.')


@rule
def im2col_wide_pixels(wide: str, pixels: int) -> Answer:
    """``im2col::w::128`` always moves 128 pixels (PTX ISA)."""
    ok = wide != "w_128" or pixels == 128
    return holds(ok, f"{pixels} pixels", "128", 'Use mode = "im2col_w".')


@rule
def im2col_wide_halo(halo: Value) -> Answer:
    """A halo adds pixels to the shared tile in a way that is not modelled here (planner)."""
    return holds(halo == 0, f"halo {halo}", "0", "Copy the halo by itself.")


@rule
def im2col_wide_direction(is_store: bool) -> Answer:
    """Only loads and prefetches have the wide modes (PTX ISA)."""
    found = "a store" if is_store else "a load"
    return holds(not is_store, found, "a load", 'Use mode = "im2col".')


def im2col_conditions(
    im2col: Im2col, dims: tuple[Value, ...], box: tuple[int, ...], swizzle: int, chip: str
) -> list[Condition]:
    """What ``cuTensorMapEncodeIm2col`` demands besides the rules it shares with tiled maps."""
    rank = len(dims)
    if im2col_rank(rank).finding.status is Status.DISPROVEN:
        return [im2col_rank(rank)]  # there are no spatial dimensions to ask about
    found = [im2col_rank(rank), im2col_channels(box[0]), im2col_pixels(box[1])]
    if im2col.wide:
        found += [im2col_wide_supported(chip), im2col_wide_swizzle(Swizzle(swizzle))]
    corner_rank = 3 if im2col.wide else rank
    for index, (lower, upper) in enumerate(zip(im2col.lower_corner, im2col.upper_corner, strict=True), 1):
        found += [im2col_corner_range(lower, corner_rank, "lower"), im2col_corner_range(upper, corner_rank, "upper")]
        found.append(im2col_bounding_box(dims[index], lower, upper, index))
    return found


def _promised(answer: Answer) -> Answer:
    if answer.status is not Status.UNKNOWN:
        return answer
    return holds(True, f"{answer.found}, promised to fit", answer.needed, answer.remedy)
