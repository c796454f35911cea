"""How a child died, as an error for the user."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from ..diagnostics import Diagnostic, Place
from .notes import Doing

_REASONS = (
    re.compile(r"(Assertion [`'].*' failed)"),
    re.compile(r"(LLVM ERROR: .*)"),
    re.compile(r"(.*UNREACHABLE executed.*)"),
    re.compile(r"^error: (.*)$", re.MULTILINE),
)
"""What MLIR and LLVM print before they end the process."""

REMEDY = "Change or take out what is named here; the input is worth a report to MLIR"


@dataclass(frozen=True)
class Death:
    """``status`` as of ``os.waitstatus_to_exitcode``: negative for a signal. ``doing``: what it was busy with;
    ``printed``: the end of what it wrote on standard error. ``seconds``: the time limit that was over, if one was."""

    status: int
    doing: Doing
    printed: str = ""
    seconds: float | None = None

    @property
    def exit_code(self) -> int:
        """What a shell would see: 128 and the signal; as for SIGABRT where LLVM called ``exit``."""
        return 128 + (-self.status if self.status < 0 else signal.SIGABRT)

    def diagnostic(self, name: str, option: str = "--timeout") -> Diagnostic:
        """The error, at its place in the file ``name``. ``option``: what sets the time limit."""
        place, what = self.doing.place, self.doing.what
        if place is not None and place.file == "-":
            place = Place(name, place.line, place.column)
        while_ = f" {what}" if what else ""
        if self.seconds is not None:
            message = f"no end after {self.seconds:g} s{while_}. Give it more time with {option}, or make it smaller"
        else:
            message = f"MLIR ended the process{while_}: {self._reason()}. {REMEDY}"
        return Diagnostic("error", place or Place(name, 0, 0), message)

    def _reason(self) -> str:
        for pattern in _REASONS:
            if found := pattern.findall(self.printed):
                return found[-1].strip().rstrip(".")
        return signal.Signals(-self.status).name if self.status < 0 else f"it called exit({self.status})"
