"""The outline of a kernel: its grid and block, its steps, and who does what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .starts import Position


@dataclass(frozen=True)
class Multicast:
    """For each rank of a cluster the mask of the loads it issues; 0: it issues none for others.

    ``split``: so many CTAs, those of the mask, share each load (``cluster_split``); 0: they do not. ``by_all``: the
    others execute the split load too, and issue nothing. ``argument``: the mask is a kernel argument.
    """

    masks: tuple[int, ...]
    split: int = 0
    by_all: bool = False
    argument: bool = False

    @property
    def mask(self) -> int:
        """The only mask, or the first."""
        return next(mask for mask in self.masks if mask)

    def receives(self, rank: int) -> bool:
        return any(mask >> rank & 1 for mask in self.masks)

    def arrivals(self, rank: int) -> int:
        """How many CTAs tell ``rank`` that a stage is free: itself, and those that it loads for."""
        return bin(self.masks[rank] | 1 << rank).count("1")


@dataclass
class Frame:
    """``schedule``: ``plain`` (one step after the other), ``multistage`` (all threads, loads ahead) or ``ring`` (a
    producer warp and consumers).

    ``steps``: of each CTA, less ``fewer`` in CTAs with odd x; ``steps_argument``: the kernel is told the number.
    ``scope``: who issues loads. ``announce``: ``attribute`` (expect_tx), ``each`` (expect_tx, an arrival for each
    load), ``before`` or ``after`` (by hand). ``release``: how consumers of a ring say that a stage is free.
    """

    grid: tuple[int, int] = (1, 1)
    block: tuple[int, int] = (128, 1)
    cluster: int = 1
    schedule: str = "plain"
    stages: int = 1
    steps: int = 1
    steps_argument: bool = False
    fewer: int = 0
    scope: str = "thread"
    announce: str = "attribute"
    wait: str = "tile.wait"
    counters: str = "remainder"
    release: str = "leader"
    store_lag: bool = False
    cluster_barriers: bool = True
    multicast: Multicast | None = None
    features: set[str] = field(default_factory=set)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1]

    @property
    def consumers(self) -> int:
        """Threads that read tiles."""
        return self.threads - 32 if self.schedule == "ring" else self.threads

    def steps_of(self, x: int) -> int:
        return max(0, self.steps - self.fewer * (x % 2))

    def positions(self) -> Iterator[tuple[Position, int]]:
        """Every step of every CTA, and the row it has in an array of all steps."""
        for y in range(self.grid[1]):
            for x in range(self.grid[0]):
                for step in range(self.steps_of(x)):
                    row = (y * self.grid[0] + x) * max(self.steps, 1) + step
                    yield Position(x, y, x // self.cluster, step), row

    @property
    def rows(self) -> int:
        return self.grid[0] * self.grid[1] * max(self.steps, 1)
