"""Shared-memory bank conflicts and global-memory sectors, per load and store of the program (a report, no error)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .compile import Kernel
    from .machine import Warp
    from .memory import Region, Site

BANKS = 32


@dataclass
class SiteProfile:
    """``wavefronts`` is what the accesses took, ``ideal`` what they need without conflicts (shared: passes over the 32
    banks; global: 32-byte sectors)."""

    location: str
    operation: str
    space: str
    executions: int = 0
    wavefronts: int = 0
    ideal: int = 0

    def __str__(self) -> str:
        unit = "wavefronts" if self.space == "shared" else "sectors"
        ratio = self.wavefronts / max(1, self.ideal)
        return (
            f"{self.location}: {self.space} {self.operation}: {self.executions} warp accesses, {self.wavefronts} "
            f"{unit}, {self.ideal} without waste ({ratio:.2f}x)"
        )


class Profile:
    """Collects ``SiteProfile`` by access site."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.sites: dict[tuple[str, str], SiteProfile] = {}

    def access(self, w: Warp, region: Region, offset: np.ndarray, site: Site, write: bool) -> None:
        """One warp access: ``offset`` of the active lanes in the region."""
        if region.kind == "local":
            return
        name = "store" if write else "load"
        space = "shared" if region.kind == "shared" else "global"
        key = (site.location, space + name)
        entry = self.sites.get(key)
        if entry is None:
            entry = self.sites[key] = SiteProfile(site.location, name, space)
        entry.executions += 1
        if space == "shared":
            taken, ideal = bank_wavefronts(offset, site.size)
        else:
            sectors = np.unique((offset[:, None] + np.arange(0, max(site.size, 1), 4)) >> 5)
            taken, ideal = sectors.size, -(-np.unique(offset).size * site.size // 32)
        entry.wavefronts += taken
        entry.ideal += ideal

    def report(self) -> list[SiteProfile]:
        """Sites, the most wasteful first."""
        return sorted(self.sites.values(), key=lambda s: s.ideal - s.wavefronts)


def bank_wavefronts(offset: np.ndarray, size: int) -> tuple[int, int]:
    """(passes, passes without conflicts) of one shared access: lanes go in groups that move up to 128 B.

    Within a group two different 4-byte words of one bank conflict; the same word is broadcast.
    """
    lanes = max(1, min(32, 128 // max(size, 4)))
    taken = ideal = 0
    for start in range(0, offset.size, lanes):
        words = np.unique((offset[start : start + lanes, None] + np.arange(0, max(size, 1), 4)) >> 2)
        taken += int(np.bincount(words % BANKS).max())
        ideal += -(-words.size // BANKS)
    return taken, ideal
