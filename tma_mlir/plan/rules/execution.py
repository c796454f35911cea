"""What a tensor-map copy demands when it executes. "HW" is docs/hardware.md: what an H200 was measured to do."""

from __future__ import annotations

import math

from ...chips import CHIPS, Feature, chip_has, chips_with
from ...hardware import REDUCTIONS
from ...layout.expr import congruence
from ...layout.layout import AddressSwizzle
from ...layout.swizzle import Swizzle, swizzle_mode
from ..findings import Status
from .answers import Answer, Value, holds, multiple, rule, within

INT32 = 1 << 31


def _start_remedy(start_bytes: Value) -> str:
    if isinstance(start_bytes, int):
        return f"Start at byte {start_bytes // 16 * 16} or {-(-start_bytes // 16) * 16}."
    modulus, residue = congruence(start_bytes)
    if residue % math.gcd(modulus, 16):
        return "Start at multiples of 16 bytes."
    return "Where it is one, say its divisor with assume. Otherwise start at multiples of 16 bytes."


_BOX_REMEDY = (
    "Start slices of the tile at multiples of 128 bytes; give it rows of such multiples, or of a swizzle's width as "
    "#tile.atoms."
)


@rule
def common_pieces(problem: str) -> Answer:
    """Both layouts cut the copy into pieces that nest, so that each moves by constant strides (planner)."""
    remedy = "Let the region begin and end where tiles do, in both layouts."
    return holds(not problem, problem, "layouts whose tiles nest", remedy)


@rule
def swizzle_recognised(swizzle: AddressSwizzle | Swizzle | None) -> Answer:
    """The shared tile's address swizzle is one of the hardware's (HW, execution rule 5)."""
    ok = swizzle_mode(swizzle) is not None
    return holds(ok, f"swizzle {swizzle}", "none, 32B, 64B, 128B or an atom variant", "Use one of those.")


@rule
def start_coordinate_alignment(start_bytes: Value) -> Answer:
    """The innermost start coordinate is at a multiple of 16 bytes, for loads and stores (HW, execution rule 1).

    Otherwise the kernel dies with "illegal instruction"; no encode-time check sees it.
    """
    return multiple(start_bytes, 16, "innermost start at byte", " B", _start_remedy(start_bytes))


@rule
def coordinate_range(start: Value, index: int, promised: bool) -> Answer:
    """Coordinates are 32-bit signed (PTX ISA, cp.async.bulk.tensor); of an unknown one the caller may promise it."""
    remedy = "Give the kernel a view of the tensor that begins nearer to the region."
    answer = within(start, -INT32, INT32 - 1, f"start {index} is", "", remedy)
    if promised and answer.status is Status.UNKNOWN:
        return holds(True, f"start {index} is {start}, promised to fit", answer.needed, "")
    return answer


@rule
def negative_coordinate_on_store(start: Value, index: int) -> Answer:
    """A store or reduction never starts below 0 in any dimension: that kills the kernel (HW, execution rule 2)."""
    remedy = "Crop the region at the tensor's start."
    if not isinstance(start, int):
        remedy = "Where it is never negative, say so with assume: {min = 0}. Otherwise crop the region."
    return within(start, 0, None, f"start {index} is", "", remedy)


@rule
def store_clip_granularity(inner_dimension_bytes: Value) -> Answer:
    """A store past the inner end is cut at 16 bytes, so the tensor's rows are multiples of 16 (HW, execution rule 3).

    Otherwise up to 14 bytes behind the row are overwritten silently. Asked only of stores that may pass the end.
    """
    return multiple(
        inner_dimension_bytes,
        16,
        "a store passes the end of rows of",
        " B",
        "Keep the region inside the tensor, with in_bounds, or pad the rows to a multiple of 16 bytes.",
    )


@rule
def store_inside(room: Value) -> Answer:
    """A store whose rows end at any byte does not pass the tensor's inner end (HW, execution rule 3); threads copy the
    tiles that do. Asked instead of ``store_clip_granularity`` where they can. ``room``: elements left behind the tile.
    """
    return within(room, 0, None, "room behind the tile is", "", "Keep the region inside the tensor, with in_bounds.")


@rule
def shared_address_alignment(offset_bytes: Value) -> Answer:
    """Each box lands at a multiple of 128 bytes of shared memory (HW, execution rule 5)."""
    return multiple(offset_bytes, 128, "box at shared byte", " B", _BOX_REMEDY)


@rule
def shared_base_alignment(base_alignment_bytes: int | None) -> Answer:
    """A tile filled by tensor maps starts at a multiple of 128 bytes (HW, execution rule 5)."""
    ok = base_alignment_bytes is None or base_alignment_bytes % 128 == 0
    found = f"tile aligned to {base_alignment_bytes} B"
    return holds(ok, found, "128 B", "Align the tile to 128 bytes.")


@rule
def swizzle_phase(base_alignment_bytes: int | None, period_bytes: int) -> Answer:
    """A swizzled tile starts at a multiple of the pattern's period, 256, 512 or 1024 bytes (HW, execution rule 5).

    The pattern is one of absolute addresses: a tile that starts elsewhere is accepted and comes out shifted.
    """
    ok = base_alignment_bytes is None or base_alignment_bytes % period_bytes == 0
    found = f"tile aligned to {base_alignment_bytes} B"
    return holds(ok, found, f"{period_bytes} B", f"Align the tile to {period_bytes} bytes.")


@rule
def reduction_supported(operation: str | None, data_type_name: str) -> Answer:
    """The reduction exists for the type; all others die with "illegal instruction" (HW, execution rule 9)."""
    legal = REDUCTIONS.get(data_type_name, frozenset())
    needed = ", ".join(sorted(legal)) or "no reduction exists for this type"
    remedy = "Reduce with one of these, or in registers." if legal else "Reduce in registers."
    return holds(
        operation is None or operation in legal,
        f"{operation} on {data_type_name}",
        needed,
        remedy,
    )


@rule
def reduction_direction(operation: str | None, is_store: bool) -> Answer:
    """Reductions go from shared to global memory only (PTX ISA, cp.reduce.async.bulk.tensor)."""
    return holds(operation is None or is_store, f"{operation} on a load", "a store", "Drop the reduction.")


@rule
def multicast_direction(multicast: bool, is_store: bool) -> Answer:
    """Only loads can be multicast (PTX ISA, cp.async.bulk.tensor)."""
    return holds(not (multicast and is_store), "multicast on a store", "a load", "Drop the multicast.")


@rule
def host_tensor(known: bool) -> Answer:
    """The host encodes descriptors before the launch, so it has to know the tensor (driver API)."""
    return holds(
        known,
        "a tensor that is no kernel argument, nor a static view of one",
        "a tensor that the host knows",
        "Copy from the argument itself: where one of several is chosen at run time, put a copy of each under its own "
        "condition (scf.if or the predicate).",
    )


@rule
def cta_group_supported(group: int, chip: str) -> Answer:
    """``cta_group`` 2 needs a chip with CTA pairs (PTX ISA, cp.async.bulk.tensor, target notes)."""
    ok = group == 1 or (group == 2 and chip_has(chip, Feature.CTA_PAIRS))
    needed = ", ".join(chips_with(Feature.CTA_PAIRS))
    return holds(ok, f"cta_group {group} on {chip}", f"1, or 2 on one of {needed}", "Target sm_100a.")


@rule
def chip_supported(chip: str) -> Answer:
    """Bulk asynchronous copies need sm_90 (PTX ISA, cp.async.bulk), and a chip that is known."""
    return holds(chip in CHIPS, f"chip {chip}", f"one of {', '.join(CHIPS)}", "Target sm_90a.")
