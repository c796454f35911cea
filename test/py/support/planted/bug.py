"""One planted bug, and how its kernel is made of the right one.

An edit replaces one text by another; a line that moves takes two replacements.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
COPY = '"tile.copy_async"'
COMMIT = '"tile.commit_group"() : () -> ()'


@dataclass(frozen=True)
class Bug:
    """``edits`` make it of kernel ``kernel``.

    ``kinds``: what the finding may be called. ``at``: text on the line that the finding names. ``says``: what its
    message, or a line that its notes name, tells of the cause.
    """

    kernel: str
    name: str
    edits: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...]
    at: str
    says: str = ""

    def source(self) -> str:
        """The wrong kernel."""
        text = (FOLDER / f"{self.kernel}.mlir").read_text()
        for before, after in self.edits:
            if text.count(before) != 1:
                raise ValueError(f"{self.kernel}, {self.name}: {before!r} is there {text.count(before)} times")
            text = text.replace(before, after)
        return text
