"""What a load means in a cluster: who receives it, which share a CTA issues, which mbarriers are signalled.

Written from the definition of ``tile.copy_async`` (docs/dialect.md) and from the PTX ISA (cp.async.bulk.tensor), by
listing CTAs rather than by arithmetic on masks, so that it can judge the lowering.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def members(mask: int) -> list[int]:
    """Ranks of the CTAs that a multicast mask names, in order."""
    return [rank for rank in range(16) if mask >> rank & 1]


def named_cta(attributes: Mapping[str, Any], rank: int) -> int:
    """The CTA whose mbarrier a load that CTA ``rank`` issues names."""
    even = rank - rank % 2
    return {"own": rank, "even": even, "odd": even + 1, "peer": even + 1 - rank % 2}[attributes["mbarrier_cta"]]


def signalled_cta(attributes: Mapping[str, Any], destination: int, issuer: int) -> int:
    """The CTA on whose mbarrier the bytes that arrive at ``destination`` count."""
    if attributes["cta_group"] == 1:
        return destination
    return destination - destination % 2 + named_cta(attributes, issuer) % 2


def announced_tiles(attributes: Mapping[str, Any], rank: int, mask: int | None) -> int:
    """Tiles that CTA ``rank`` announces: those that its own load brings to the mbarrier it names. Of a split load, of
    which each CTA issues a share, the tile that it receives."""
    if mask is None:
        return 1
    if attributes["cluster_split"] > 1:
        return int(rank in members(mask))
    named = named_cta(attributes, rank)
    return sum(signalled_cta(attributes, each, rank) == named for each in members(mask))


def share(attributes: Mapping[str, Any], rank: int, mask: int | None) -> np.ndarray | slice:
    """Which elements, in row-major order of ``sizes``, CTA ``rank`` copies: an equal part of the outermost dimension
    above one that can be divided; none if the mask does not name the CTA."""
    parts, sizes = attributes["cluster_split"], attributes["sizes"]
    if parts == 1 or mask is None:
        return slice(None)
    if rank not in members(mask):
        return slice(0)
    number = members(mask).index(rank)
    dimension = next(d for d, size in enumerate(sizes) if size > 1 and size % parts == 0)
    index = np.indices(sizes)[dimension].reshape(-1)
    return index // (sizes[dimension] // parts) == number
