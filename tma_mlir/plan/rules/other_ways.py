"""What copies without a tensor map demand: ``cp.async.bulk``, ``cp.async``, and plain loads and stores."""

from __future__ import annotations

from ...layout.layout import AddressSwizzle
from ...layout.swizzle import ADDRESS_SWIZZLES, Swizzle
from ..findings import USE_TENSOR_MAP
from .answers import Answer, Value, holds, multiple, rule


@rule
def bulk_size(size_bytes: int) -> Answer:
    """A ``cp.async.bulk`` moves a multiple of 16 bytes (PTX ISA)."""
    remedy = f"Copy {-(-size_bytes // 16) * 16} B at a time."
    return holds(size_bytes % 16 == 0, f"contiguous run of {size_bytes} B", "a multiple of 16 B", remedy)


@rule
def bulk_address_alignment(offset_bytes: Value, known_alignment: int, what: str) -> Answer:
    """Both addresses of a ``cp.async.bulk`` are multiples of 16 bytes (PTX ISA).

    The offset is from a base aligned to ``known_alignment`` bytes.
    """
    remedy = "Make it a multiple of 16 bytes."
    if known_alignment % 16:
        return multiple(known_alignment, 16, f"{what} base aligned to", " B", remedy)
    return multiple(offset_bytes, 16, f"{what} byte", " B", remedy)


@rule
def unswizzled(swizzle: Swizzle | None) -> Answer:
    """A bulk copy without a tensor map does not swizzle (PTX ISA, cp.async.bulk)."""
    found = f"swizzle {'of another kind' if swizzle is None else swizzle.label}"
    return holds(swizzle is Swizzle.NONE, found, "none", USE_TENSOR_MAP)


@rule
def known_step(step_bytes: Value) -> Answer:
    """Loops of bulk copies have constant strides (a limit of this planner, not of the hardware)."""
    ok = isinstance(step_bytes, int)
    return holds(ok, f"stride {step_bytes} B", "a constant", USE_TENSOR_MAP)


@rule
def plain_copy(reduction: str | None, multicast: bool, cta_group: int, rounds: bool = False) -> Answer:
    """Only tensor-map copies are planned as reductions, multicast or for CTA pairs.

    And only they round: a load of tf32 rounds each element (docs/hardware.md, execution rule 8).
    """
    wanted = [reduction or "", "multicast" * multicast, f"cta_group {cta_group}" * (cta_group != 1)]
    wanted.append("rounding to tf32" * rounds)
    found = ", ".join(filter(None, wanted))
    return holds(not found, found or "a plain copy", "a plain copy", USE_TENSOR_MAP)


@rule
def swizzle_pattern_known(swizzle: AddressSwizzle | Swizzle | None) -> Answer:
    """Threads compute swizzled addresses themselves, so the pattern is a known address XOR."""
    ok = not isinstance(swizzle, Swizzle) or swizzle is Swizzle.NONE or swizzle in ADDRESS_SWIZZLES
    return holds(ok, f"swizzle {swizzle!r}", "a known address XOR", USE_TENSOR_MAP)


@rule
def cp_async_direction(is_load: bool) -> Answer:
    """``cp.async`` copies from global to shared memory only (PTX ISA)."""
    return holds(is_load, "a store" if not is_load else "a load", "a load", 'Use variant = "simt".')


@rule
def cp_async_size(width_bytes: int) -> Answer:
    """``cp.async`` copies 4, 8 or 16 bytes (PTX ISA)."""
    remedy = 'Use variant = "simt", or rows and starts of multiples of 4 bytes.'
    return holds(width_bytes in (4, 8, 16), f"vectors of {width_bytes} B", "4, 8 or 16 B", remedy)


@rule
def cp_async_fill(is_zero: bool) -> Answer:
    """``cp.async`` fills with zeros only (PTX ISA, src-size)."""
    remedy = 'Fill with zero, or use variant = "simt".'
    return holds(is_zero, "zero fill" if is_zero else "NaN fill", "zero fill", remedy)


@rule
def inside_tensor(proven: bool) -> Answer:
    """A copy without a tensor map neither fills nor clips: its region lies inside the tensor."""
    remedy = "Say in_bounds where it does, or use another variant."
    return holds(proven, "a region that may leave the tensor", "a region inside", remedy)
