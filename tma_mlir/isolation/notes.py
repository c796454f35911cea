"""What a child process is busy with, where its parent can read it after the child has died."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass

from ..diagnostics import Place

_LENGTH = 4096

AFTER = {
    "parse": "while planning",
    "plan": "while converting copies",
    "convert": "while lowering to LLVM",
    "lower": "while making PTX",
    "ptx": "while assembling",
    "assemble": "while packing",
}
"""What follows each step that ``compile_text`` tells its observer."""


@dataclass(frozen=True)
class Doing:
    """``what`` is a phrase, ``while parsing``; ``place`` where in the program. ``finished``: nothing is left to do, and
    however the process ends from here on is no crash."""

    what: str = ""
    place: Place | None = None
    finished: bool = False


class Notes:
    """A file without a name, shared with the child. Writing costs a system call."""

    def __init__(self, handle: int | None = None) -> None:
        if handle is None:
            with tempfile.TemporaryFile() as file:
                handle = os.dup(file.fileno())
        self.handle = handle

    def write(self, doing: Doing) -> None:
        place = doing.place and [doing.place.file[:1000], doing.place.line, doing.place.column]
        data = json.dumps([doing.what[:1000], place, doing.finished]).encode()
        os.pwrite(self.handle, data[:_LENGTH].ljust(_LENGTH), 0)

    def read(self) -> Doing:
        """What was written last; nothing in particular before."""
        try:
            what, place, finished = json.loads(os.pread(self.handle, _LENGTH, 0))
        except ValueError:
            return Doing()
        return Doing(what, place and Place(*place), finished)

    def clear(self) -> None:
        os.ftruncate(self.handle, 0)

    def close(self) -> None:
        os.close(self.handle)


_notes: Notes | None = None


def take_notes(notes: Notes | None) -> None:
    """From now on ``doing`` of this process writes to ``notes``."""
    global _notes
    _notes = notes


def doing(what: str, place: Place | None = None) -> None:
    """Notes what this process is busy with, should it die. Does nothing where nobody would read it."""
    if _notes is not None:
        _notes.write(Doing(what, place))


def finished() -> None:
    """Notes that all is done."""
    if _notes is not None:
        _notes.write(Doing(finished=True))
