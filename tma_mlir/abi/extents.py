"""Grid, block and cluster of a launch, against what the module promised."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from .scalars import shown

Dim3 = tuple[int, int, int]
Extent = int | Sequence[int] | None
"""A grid, block or cluster as it is given; None for what the module says."""


MOST: dict[str, Dim3] = {
    "grid": ((1 << 31) - 1, 65535, 65535),
    "block": (1024, 1024, 64),
    "cluster": (16, 16, 16),
}
"""Along x, y and z, of every chip (CUDA C++ Programming Guide, compute capabilities)."""
MOST_TOGETHER = {"block": (1024, "threads"), "cluster": (16, "blocks")}
"""Along all three, and of what."""


def dim3(value: int | Sequence[int], what: str, least: int = 1) -> Dim3:
    """One to three extents of at least ``least``, x first, missing ones 1. Raises ``TypeError`` or ``ValueError``."""
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    needed = f"{what} is {shown(value)}, needed: one to three integers"
    if not 1 <= len(values) <= 3:
        raise TypeError(needed)
    try:
        x, y, z = (*map(operator.index, values), 1, 1)[:3]
    except TypeError:
        raise TypeError(needed) from None
    if min(x, y, z) < least:
        raise ValueError(f"{what} is {shown((x, y, z))}, needed: at least {least} each")
    return x, y, z


def promised(what: str, given: Extent, compiled: Dim3 | None, kernel: str) -> Dim3:
    """The extent to launch with: the compiled one is a promise the code relies on. ``what``: ``grid``, ``block`` or
    ``cluster``, each with limits of its own. Raises as ``dim3`` does."""
    if given is None:
        if compiled is None:
            raise TypeError(f"kernel {kernel!r} does not say its {what}: pass {what}=")
        return compiled
    extent = dim3(given, what, least=0 if what == "grid" else 1)
    if compiled is not None and extent != compiled:
        raise ValueError(
            f"{what} {shown(extent)}, but kernel {kernel!r} was compiled for {compiled}. Pass None or {compiled}"
        )
    if any(found > most for found, most in zip(extent, MOST[what], strict=True)):
        raise ValueError(f"{what} is {shown(extent)}, needed: at most {MOST[what]}")
    together, parts = MOST_TOGETHER.get(what, (0, ""))
    if together and math.prod(extent) > together:
        raise ValueError(f"{what} {extent} has {math.prod(extent)} {parts}, needed: at most {together}")
    return extent


def promised_cluster(given: Extent, compiled: Dim3 | None, grid: Dim3, kernel: str) -> Dim3 | None:
    """Blocks of a cluster, None where neither side says anything; the grid has to be a multiple of it."""
    cluster = compiled if given is None else promised("cluster", given, compiled, kernel)
    if cluster is not None and any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise ValueError(f"grid {grid} is not a multiple of the cluster {cluster}. Round the grid up")
    return cluster
