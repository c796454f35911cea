"""What each NVIDIA architecture can do: the only place that knows chips by name.

``tools/check_chips.py`` assembles a piece of PTX for every feature and chip and compares the verdicts with this table:
measured with nvJitLink 13.5 and ptxas 13.0. Everything said of ``Feature`` is measured so, unless it says otherwise.
Chips are those that both LLVM 22 and these assemblers know. All of them have tensor loads, stores, reductions,
prefetches and im2col copies, and loads with ``.multicast::cluster``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Feature(enum.Enum):
    """What some chips lack; the value is its name in messages."""

    FAST_MULTICAST = "multicast at full speed"
    """ptxas warns of "substantially reduced performance" of ``.multicast::cluster`` elsewhere."""
    CTA_PAIRS = "cta_group 2"
    """``.cta_group::2``: the mbarrier may be that of the other CTA of a pair."""
    GATHER4 = "gather4"
    """``tile::gather4`` into the CTA's own shared memory (``.shared::cta``)."""
    GATHER4_CLUSTER = "gather4 with multicast or cta_group 2"
    GATHER4_PREFETCH = "gather4 of a prefetch"
    SCATTER4 = "scatter4"
    IM2COL_W = "im2col_w"
    """``im2col::w`` into the CTA's own shared memory (``.shared::cta``)."""
    IM2COL_W_CLUSTER = "im2col_w with multicast or cta_group 2"
    IM2COL_W_128 = "im2col_w_128"
    ATOM_SWIZZLES = "128-byte swizzles with 32- and 64-byte atoms"
    """A property of the descriptor, which an assembler sees only where ``tensormap.replace.tile.swizzle_atomicity``
    changes it: it refuses that for sm_90a and takes it for every later chip that has ``tensormap.replace``. An H200's
    driver refuses to encode them; no driver of a later chip was asked."""
    PACKED_TYPES = "packed 4- and 6-bit elements"
    """A property of the descriptor too: ``tensormap.replace.tile.elemtype`` takes them for the same chips."""
    TENSORMAP_REPLACE = "tensormap.replace"
    SETMAXNREG = "setmaxnreg"
    WGMMA = "wgmma"
    FLOAT_REDUX = "redux.sync of f32"


_BLACKWELL = frozenset({Feature.GATHER4, Feature.IM2COL_W, Feature.ATOM_SWIZZLES, Feature.PACKED_TYPES})
_SPECIFIC = frozenset({Feature.TENSORMAP_REPLACE, Feature.SETMAXNREG})
_DATA_CENTRE = frozenset(
    {
        Feature.FLOAT_REDUX,
        Feature.FAST_MULTICAST,
        Feature.CTA_PAIRS,
        Feature.GATHER4_CLUSTER,
        Feature.GATHER4_PREFETCH,
        Feature.SCATTER4,
        Feature.IM2COL_W_CLUSTER,
        Feature.IM2COL_W_128,
    }
)

_LARGE, _SMALL = 227 * 1024, 99 * 1024


@dataclass(frozen=True)
class Chip:
    """``name`` is LLVM's processor; ``ptx`` the PTX ISA version (times ten) kernels are compiled to, the first that has
    the chip and all of its features in LLVM 22. ``shared_bytes``: most shared memory one block can have, static and
    dynamic together; ptxas takes as much static memory for the ``a`` targets, and not a byte more.
    """

    name: str
    ptx: int
    shared_bytes: int
    features: frozenset[Feature] = frozenset()

    def has(self, feature: Feature) -> bool:
        return feature in self.features


def _family(number: int, ptx: int, specific_ptx: int, shared_bytes: int, more: frozenset[Feature]) -> tuple[Chip, ...]:
    """One Blackwell architecture: what runs on all later ones, on itself alone (``a``), and on its family (``f``)."""
    specific = _BLACKWELL | _SPECIFIC | more
    return (
        Chip(f"sm_{number}", ptx, shared_bytes, _BLACKWELL),
        Chip(f"sm_{number}a", ptx, shared_bytes, specific),
        Chip(f"sm_{number}f", specific_ptx, shared_bytes, specific),
    )


CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("sm_90", 86, _LARGE),
        Chip("sm_90a", 86, _LARGE, _SPECIFIC | {Feature.FAST_MULTICAST, Feature.WGMMA}),
        *_family(100, 86, 88, _LARGE, _DATA_CENTRE),
        *_family(103, 88, 88, _LARGE, _DATA_CENTRE),
        *_family(110, 90, 90, _LARGE, _DATA_CENTRE - {Feature.FLOAT_REDUX}),
        *_family(120, 87, 88, _SMALL, frozenset()),
        *_family(121, 88, 88, _SMALL, frozenset()),
    )
}
DEFAULT_CHIP = "sm_90a"


def chip(name: str) -> Chip:
    """The chip called ``name``; raises ``ValueError`` that lists the known ones."""
    if name in CHIPS:
        return CHIPS[name]
    raise ValueError(f"unknown chip '{name}'. TMA exists from sm_90 on; known chips: {', '.join(CHIPS)}")


def chips_with(feature: Feature) -> tuple[str, ...]:
    """Names of the chips that have ``feature``, in the table's order."""
    return tuple(each.name for each in CHIPS.values() if each.has(feature))


def chip_has(name: str, feature: Feature) -> bool:
    """Whether the chip called ``name`` has ``feature``; False for one that is not known."""
    return name in CHIPS and CHIPS[name].has(feature)


def shared_bytes(name: str) -> int:
    """Most shared memory a block can have on the chip called ``name``; the most of any for one that is not known."""
    return CHIPS[name].shared_bytes if name in CHIPS else _LARGE


def native_name(major: int, minor: int) -> str:
    """What to compile for on a GPU of that compute capability: its own instructions from 9.0 on (``sm_90a``)."""
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"
