"""What each NVIDIA architecture can do, for checks before LLVM's "Cannot select".

Sources: PTX ISA 9.x "Target ISA notes" of each instruction; LLVM 22's NVPTX feature table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """``name`` is LLVM's processor; ``ptx`` the PTX ISA version (times ten) the kernels are compiled to."""

    name: str
    ptx: int
    blackwell: bool = False
    """Has ``tile::gather4`` into the CTA's own memory, and the 128-byte swizzles with 32- and 64-byte atoms."""
    cta_pairs: bool = False
    """Has ``cta_group::2``, every ``tile::gather4``, ``tile::scatter4``, ``im2col::w`` and ``im2col::w::128``."""
    tuned_multicast: bool = False
    """``.multicast::cluster`` runs at full speed; ptxas warns elsewhere."""


CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("sm_90", 86),
        Chip("sm_90a", 86, tuned_multicast=True),
        Chip("sm_100", 86, blackwell=True),
        Chip("sm_100a", 86, blackwell=True, cta_pairs=True, tuned_multicast=True),
        Chip("sm_103a", 88, blackwell=True, cta_pairs=True, tuned_multicast=True),
        Chip("sm_110a", 90, blackwell=True, cta_pairs=True, tuned_multicast=True),
        Chip("sm_120", 87),
        Chip("sm_120a", 87),
    )
}
DEFAULT_CHIP = "sm_90a"


def chip(name: str) -> Chip:
    """The chip called ``name``; raises ``ValueError`` that lists the known ones and what older ones lack."""
    if name in CHIPS:
        return CHIPS[name]
    known = ", ".join(CHIPS)
    raise ValueError(f"unknown chip '{name}'. TMA exists from sm_90 on; known chips: {known}")
