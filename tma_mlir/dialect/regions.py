"""How the sizes of a copy apply to a shared tile of lower rank."""

from __future__ import annotations

from collections.abc import Sequence


def shared_sizes(sizes: Sequence[int], rank: int) -> list[int] | None:
    """``sizes`` (one per global dimension) as extents of a shared memref of ``rank`` dimensions.

    Unit sizes are dropped from the left until the ranks agree, or added on the left where the shared side has more.
    None when no choice fits.
    """
    result = list(sizes)
    while len(result) > rank:
        if 1 not in result:
            return None
        result.remove(1)
    return [1] * (rank - len(result)) + result
