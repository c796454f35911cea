"""How the sizes of a copy apply to a shared tile of lower rank."""

from __future__ import annotations

from collections.abc import Sequence


def shared_sizes(sizes: Sequence[int], shape: Sequence[int | None], starts: Sequence[object] = ()) -> list[int] | None:
    """``sizes`` (one per global dimension) as extents of a shared memref of ``shape``, from ``starts`` on.

    Unit sizes are dropped until the ranks agree: those on the left, unless only others leave sizes that fit ``shape``.
    They are added on the left where the shared side has more dimensions. What is not a number among ``starts`` (0 if
    left out) counts as 0. None when there are not enough unit sizes; what is found may still not fit.
    """
    rank = len(shape)
    result = list(sizes)
    while len(result) > rank:
        if 1 not in result:
            return None
        result.remove(1)
    first = [start if isinstance(start, int) else 0 for start in starts] or [0] * rank
    room = [None if extent is None else extent - start for extent, start in zip(shape, first, strict=True)]
    return _fitting(sizes, room) or [1] * (rank - len(result)) + result


def _fitting(sizes: Sequence[int], room: Sequence[int | None]) -> list[int] | None:
    """``sizes`` less unit sizes, those on the left first, that fit ``room``; None if no choice does."""
    # The choices for the last dimensions, from the right: best[d] is for room[d:] and the sizes looked at so far.
    best: list[list[int] | None] = [None] * len(room) + [[]]
    for size in reversed(sizes):
        for d, most in enumerate(room):
            rest = best[d + 1]
            taken = [size, *rest] if rest is not None and (most is None or size <= most) else None
            dropped = best[d] if size == 1 else None
            best[d] = dropped if dropped is not None else taken
        best[-1] = best[-1] if size == 1 else None
    return best[0]
