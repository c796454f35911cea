"""Vector clocks: what each warp has seen of the others, of barriers and of asynchronous copies.

A component is a warp (its counter steps at every release), an mbarrier (phases completed), or a thread's asynchronous
groups (groups completed). The rows of a clock are kinds of knowledge:

- ``seen``: ordinary happens-before.
- ``fenced``, ``fenced_global``: what is also behind a ``fence.proxy.async`` for shared and for global memory, so that
  the asynchronous proxy sees it there.
- ``near``, ``far``: what is behind a memory fence of any scope, and of the scope of the GPU or the system. A relaxed
  atomic after the fence publishes it.

Components belong to one cluster. What is known of other clusters is in ``remote``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .ordering import Remote

COMPONENTS = 256
"""Components allocated at first; clocks grow as barriers are made."""
ROWS = 5


class Clock:
    __slots__ = ("far", "fenced", "fenced_global", "near", "remote", "rows", "seen")

    def __init__(self, size: int):
        self._use(np.zeros((ROWS, size), np.int64))
        self.remote: Remote | None = None

    def _use(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.seen, self.fenced, self.fenced_global, self.near, self.far = rows

    def join(self, other: Clock) -> None:
        """Learn everything ``other`` knows."""
        n = other.seen.size
        if self.seen.size < n:
            self.grow(n)
        mine = self.rows if self.seen.size == n else self.rows[:, :n]
        np.maximum(mine, other.rows, out=mine)
        if other.remote is not None:
            if self.remote is None:
                self.remote = other.remote.copy()
            else:
                self.remote.join(other.remote)

    def grow(self, size: int) -> None:
        rows = np.zeros((ROWS, size), np.int64)
        rows[:, : self.seen.size] = self.rows
        self._use(rows)

    def advance(self, component: int, value: int) -> None:
        """Know that ``component`` has reached ``value``."""
        if component >= self.seen.size:
            self.grow(max(component + 1, 2 * self.seen.size))
        if self.seen[component] < value:
            self.seen[component] = value

    def knows(self, component: int, value: int) -> bool:
        return component < self.seen.size and bool(self.seen[component] >= value)

    def fence(self, shared: bool = True, in_global: bool = True) -> None:
        """``fence.proxy.async``: what was seen is now ordered before later asynchronous operations on that memory."""
        if shared:
            np.maximum(self.fenced, self.seen, out=self.fenced)
        if in_global:
            np.maximum(self.fenced_global, self.seen, out=self.fenced_global)
            if self.remote is not None:
                self.remote.fence()

    def publish(self, far: bool) -> None:
        """A memory fence: what was seen may be published by a later relaxed atomic."""
        np.maximum(self.near, self.seen, out=self.near)
        if far:
            np.maximum(self.far, self.seen, out=self.far)
            if self.remote is not None:
                self.remote.publish()
