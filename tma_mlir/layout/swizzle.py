"""The swizzle modes of the hardware, and what they do to shared-memory addresses."""

from __future__ import annotations

import enum

from .layout import AddressSwizzle


class Swizzle(enum.IntEnum):
    """``CUtensorMapSwizzle``, with the driver's numbers."""

    NONE = 0
    B32 = 1
    B64 = 2
    B128 = 3
    B128_ATOM_32B = 4
    B128_ATOM_32B_FLIP_8B = 5
    B128_ATOM_64B = 6

    @property
    def span_bytes(self) -> int:
        """Bytes of one swizzled row, and the largest inner box; 0 without swizzle."""
        return (0, 32, 64, 128, 128, 128, 128)[self]

    @property
    def label(self) -> str:
        """The name in IR and in messages: ``none``, ``32B``, ``64B``, ``128B``, ``128B_atom_32B`` ..."""
        return ("none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B")[self]


ADDRESS_SWIZZLES: dict[Swizzle, AddressSwizzle] = {
    Swizzle.B32: AddressSwizzle(bits=1, base=4, shift=3),
    Swizzle.B64: AddressSwizzle(bits=2, base=4, shift=3),
    Swizzle.B128: AddressSwizzle(bits=3, base=4, shift=3),
    Swizzle.B128_ATOM_32B: AddressSwizzle(bits=2, base=5, shift=2),
}
"""What each mode does to a shared-memory byte address.

The 16-byte-chunk modes are measured (docs/hardware.md, execution rule 5); the 32-byte atom follows the driver's text
("32B chunks within 128B span"). The 8-byte flip is not an address XOR of this form, and nobody has measured the 64-byte
atom: those two are asked for by name.
"""

_MODES = {swizzle: mode for mode, swizzle in ADDRESS_SWIZZLES.items()}


def swizzle_mode(swizzle: AddressSwizzle | Swizzle | None) -> Swizzle | None:
    """The hardware mode that swizzles addresses this way; ``Swizzle.NONE`` for no swizzle, None if there is none."""
    if swizzle is None:
        return Swizzle.NONE
    if isinstance(swizzle, Swizzle):
        return swizzle
    return Swizzle.NONE if swizzle.bits == 0 else _MODES.get(swizzle)


def address_swizzle(mode: Swizzle) -> AddressSwizzle | None:
    """The address swizzle of a mode; None without swizzle. ``ValueError`` for a mode whose pattern is not known."""
    if mode is Swizzle.NONE:
        return None
    if mode not in ADDRESS_SWIZZLES:
        raise ValueError(f"the address pattern of swizzle {mode.label} is not known")
    return ADDRESS_SWIZZLES[mode]


def swizzle_period_bytes(swizzle: AddressSwizzle | Swizzle | None) -> int:
    """Shared-memory distance after which a swizzle repeats, the alignment a tile with it needs; 1 without swizzle."""
    if isinstance(swizzle, Swizzle):
        return 1 if swizzle is Swizzle.NONE else {32: 256, 64: 512}.get(swizzle.span_bytes, 1024)
    if swizzle is None or swizzle.bits == 0:
        return 1
    return 1 << (swizzle.base + swizzle.shift + swizzle.bits)


def effective_swizzle(swizzle: AddressSwizzle | Swizzle | None, tile_bytes: int) -> AddressSwizzle | Swizzle | None:
    """What is left of an address XOR inside a tile of that many bytes, whose base is aligned to the XOR's period.

    Source bits above the tile are zero: the XOR may do nothing there, or be one of the hardware's although it is not
    everywhere.
    """
    if not isinstance(swizzle, AddressSwizzle):
        return swizzle
    source = swizzle.base + swizzle.shift
    bits = min(swizzle.bits, max(0, (tile_bytes - 1).bit_length() - source))
    if bits == 0:
        return None
    return swizzle if swizzle in _MODES else AddressSwizzle(bits, swizzle.base, swizzle.shift)
