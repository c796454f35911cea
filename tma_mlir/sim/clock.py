"""Vector clocks: what each warp has seen of the others, of barriers and of asynchronous copies.

A component is a warp (its counter steps at every release), an mbarrier (phases completed), or a thread's asynchronous
groups (groups completed). ``seen`` is ordinary happens-before; ``fenced`` holds what is also behind a
``fence.proxy.async``, so that the asynchronous proxy sees it.
"""

from __future__ import annotations

import numpy as np

COMPONENTS = 256
"""Components allocated at first; clocks grow as barriers are made."""


class Clock:
    __slots__ = ("fenced", "seen")

    def __init__(self, size: int):
        self.seen = np.zeros(size, np.int64)
        self.fenced = np.zeros(size, np.int64)

    def join(self, other: Clock) -> None:
        """Learn everything ``other`` knows."""
        if self.seen.size < other.seen.size:
            self.grow(other.seen.size)
        n = other.seen.size
        np.maximum(self.seen[:n], other.seen, out=self.seen[:n])
        np.maximum(self.fenced[:n], other.fenced, out=self.fenced[:n])

    def grow(self, size: int) -> None:
        more = np.zeros(size - self.seen.size, np.int64)
        self.seen = np.concatenate([self.seen, more])
        self.fenced = np.concatenate([self.fenced, more])

    def advance(self, component: int, value: int) -> None:
        """Know that ``component`` has reached ``value``."""
        if component >= self.seen.size:
            self.grow(max(component + 1, 2 * self.seen.size))
        if self.seen[component] < value:
            self.seen[component] = value

    def knows(self, component: int, value: int) -> bool:
        return component < self.seen.size and self.seen[component] >= value

    def fence(self) -> None:
        """``fence.proxy.async``: what was seen is now ordered before later asynchronous operations."""
        np.maximum(self.fenced, self.seen, out=self.fenced)
