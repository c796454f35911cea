"""What the simulator says about a kernel: findings with source locations, and the error that ends a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Note = tuple[str, str]
"""(text, location): the other end of a finding, e.g. where the transfer was issued."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (``error``) or worth knowing (``warning``) about a run.

    ``kind`` is a short stable name (``deadlock``, ``read before completion`` ...). Locations are ``file:line:col``,
    empty where the module has none.
    """

    kind: str
    severity: str
    message: str
    location: str = ""
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.location + ': ' if self.location else ''}{self.severity}: {self.message} [{self.kind}]"]
        lines += [f"{place + ': ' if place else ''}note: {text}" for text, place in self.notes]
        return "\n".join(lines)


class SimulationError(Exception):
    """The kernel cannot go on, or broke a rule. ``kind``, ``message``, ``location`` and ``notes`` as in ``Finding``."""

    def __init__(self, kind: str, message: str, location: str = "", notes: tuple[Note, ...] = ()):
        self.finding = Finding(kind, "error", message, location, tuple(notes))
        super().__init__(str(self.finding))

    @property
    def kind(self) -> str:
        return self.finding.kind

    @property
    def message(self) -> str:
        return self.finding.message

    @property
    def location(self) -> str:
        return self.finding.location

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.finding.notes

    @property
    def locations(self) -> tuple[str, ...]:
        """Every place named, the main one first."""
        return tuple(place for place in (self.location, *(place for _, place in self.notes)) if place)


BEFORE_THE_RUN = frozenset(
    (
        "arguments",
        "host check",
        "internal",
        "invalid module",
        "launch",
        "shared memory overlap",
        "too much shared memory",
        "unsupported",
    )
)
"""Kinds that say that a kernel was not run to its end, and nothing of what it does."""


class UnsupportedError(SimulationError):
    """The module uses an operation, type or form that the simulator does not execute."""

    def __init__(self, what: str, location: str = ""):
        super().__init__("unsupported", f"unsupported operation: {what}", location)


def lanes_text(mask: np.ndarray) -> str:
    """``0-3,7`` for a lane mask."""
    lanes = np.flatnonzero(mask).tolist()
    parts: list[str] = []
    start = None
    for i, lane in enumerate(lanes):
        if start is None:
            start = lane
        if i + 1 == len(lanes) or lanes[i + 1] != lane + 1:
            parts.append(str(start) if start == lane else f"{start}-{lane}")
            start = None
    return ",".join(parts)


def warp_text(number: int, block: tuple[int, int, int], mask: np.ndarray | None) -> str:
    """``warp 1 of CTA (0, 0, 0)``, with the lanes of ``mask`` if it is not all of them."""
    lanes = "" if mask is None else f", lanes {lanes_text(mask)}"
    return f"warp {number} of CTA {block}{lanes}"
