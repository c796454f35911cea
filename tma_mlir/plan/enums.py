"""The words a plan is written in, as enumerations that are also their text."""

from __future__ import annotations

import enum


class Word(str, enum.Enum):
    """A word of the dialect: equal to its text, and printed as it."""

    def __str__(self) -> str:
        return str(self.value)

    __format__ = str.__format__
    __hash__ = str.__hash__


class Direction(Word):
    LOAD = "load"
    """Global to shared."""
    STORE = "store"
    """Shared to global (also reductions)."""


class Variant(Word):
    """How a copy is asked for, or made. ``AUTO`` and ``TMA_EXPLICIT`` are only asked for, ``EMPTY`` is only made."""

    AUTO = "auto"
    TMA = "tma"
    """Tensor maps."""
    TMA_EXPLICIT = "tma_explicit"
    """The tensor map that the caller describes, in one instruction."""
    BULK = "bulk"
    """``cp.async.bulk`` without a tensor map."""
    CP_ASYNC = "cp_async"
    """Threads, with ``cp.async``."""
    SIMT = "simt"
    """Threads, through registers."""
    EMPTY = "empty"
    """A region without elements."""

    @property
    def by_threads(self) -> bool:
        return self in (Variant.CP_ASYNC, Variant.SIMT)


class InstructionMode(Word):
    """The mode of a tensor instruction (PTX ISA, "Tensors")."""

    TILE = "tile"
    GATHER4 = "gather4"
    SCATTER4 = "scatter4"
    IM2COL = "im2col"
    IM2COL_W = "im2col_w"
    IM2COL_W_128 = "im2col_w_128"

    @property
    def boxes(self) -> int:
        """Boxes one instruction moves: four for the modes that name four rows."""
        return 4 if self in (InstructionMode.GATHER4, InstructionMode.SCATTER4) else 1


class MbarrierCta(Word):
    """Whose mbarrier a load of ``cta_group`` 2 completes on: of the CTA that issues it, or of one of its CTA pair."""

    OWN = "own"
    PEER = "peer"
    EVEN = "even"
    """The CTA of even rank, which is also the one that issues tcgen05.mma with ``cta_group::2``."""
    ODD = "odd"


class Scope(Word):
    """Who executes a copy together: exactly one thread, or all threads of a warp or CTA."""

    THREAD = "thread"
    WARP = "warp"
    CTA = "cta"
