"""Input text of the command lines: reading it, splitting it, and showing a place in it. Imports no MLIR."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..diagnostics import Diagnostic, Place
from ..files import NotText, decoded

_MARKER_END = 2
"""Letters at the end of a marker without which it is nearly one."""


_TAB = 8
"""Columns, as LLVM shows them."""


class InputError(Exception):
    """The input cannot be read; the text is a whole message."""


class Part(NamedTuple):
    """A part of an input: its text, after white space that brings lines and columns right, and where it begins."""

    text: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True)
class Source:
    """One input. ``name`` is the path, or ``<stdin>``; ``text`` is "" for bytecode."""

    name: str
    text: str
    bytecode: bytes = b""

    @property
    def can_be_read_again(self) -> bool:
        """Whether MLIR itself can open the file and reads what ``text`` is: not from a pipe, nor with a name that is
        not UTF-8, nor with a byte order mark."""
        try:
            self.name.encode()
            file = Path(self.name)
            return file.is_file() and file.stat().st_size == len(self.text.encode())
        except (OSError, ValueError):
            return False

    def parts(self, marker: str) -> Iterator[Part | Diagnostic]:
        """The text between ``marker``, or all where that is "", as mlir-opt takes it: a marker may stand anywhere in a
        line, and no text has no parts. ``Diagnostic`` is a warning of what looks like a marker."""
        if not marker:
            yield Part(self.text)
            return
        if not self.text:
            return
        stem, end = marker[:-_MARKER_END], marker[-_MARKER_END:]
        start = at = 0
        while True:
            at = self.text.find(stem, at)
            if at < 0:
                break
            at += len(stem)
            if self.text.startswith(end, at) and len(self.text) > at + len(end):
                yield self._part(start, at - len(stem))
                start = at = at + len(end)
            else:
                line, column = self._line_and_column(at)
                yield Diagnostic("warning", Place(self.name, line, column), "near miss with file split marker")
        yield self._part(start, len(self.text))

    def _part(self, start: int, end: int) -> Part:
        line, column = self._line_and_column(start)
        return Part("\n" * (line - 1) + " " * (column - 1) + self.text[start:end], line, column)

    def _line_and_column(self, at: int) -> tuple[int, int]:
        before = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return self.text.count("\n", 0, at) + 1, len(before.encode()) + 1

    def render(self, diagnostic: Diagnostic) -> str:
        """``diagnostic`` as mlir-opt prints it: ``file:line:col: error: ...`` with the source line and a caret, which
        are not repeated for a note at the place of the message before it."""
        shown = [self._render_one(diagnostic)]
        place = diagnostic.place
        for note in diagnostic.notes:
            shown.append(self._render_one(note, with_line=note.place != place))
            place = note.place
        return "\n".join(shown)

    def show(self, diagnostic: Diagnostic) -> None:
        """Print ``diagnostic`` where errors go."""
        print(self.render(diagnostic), file=sys.stderr)

    def _render_one(self, diagnostic: Diagnostic, with_line: bool = True) -> str:
        place = diagnostic.place
        headline = f"{diagnostic.severity}: {diagnostic.message.rstrip()}"
        if place is None or place.line == 0:
            return f"{self.name}: {headline}"
        if place.file not in ("-", self.name):
            return f"{place}: {headline}"
        line = self.line(place.line) if with_line else None
        if line is None:
            return f"{self.name}:{place.line}:{place.column}: {headline}"
        # MLIR counts columns in bytes.
        before = line.encode()[: place.column - 1].decode(errors="ignore").expandtabs(_TAB)
        mark = " " * len(before) + "^" + "~" * (diagnostic.width - 1)
        return f"{self.name}:{place.line}:{place.column}: {headline}\n{line.expandtabs(_TAB)}\n{mark}"

    def line(self, number: int) -> str | None:
        """Line ``number`` (from 1); None past the end, and of bytecode."""
        if self.bytecode:
            return None
        lines = self.text.split("\n")
        return lines[number - 1] if 1 <= number <= len(lines) else None


def read(path: str) -> Source:
    """The input at ``path``, read once; ``-`` is standard input. ``InputError`` if it is missing or not UTF-8."""
    name = "<stdin>" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        program = decoded(data, name)
    except NotText as error:
        raise InputError(str(error)) from None
    except (OSError, ValueError) as error:
        what = "read standard input" if path == "-" else f"open input file '{path}'"
        raise InputError(f"cannot {what}: {getattr(error, 'strerror', None) or error}") from None
    return Source(name, program) if isinstance(program, str) else Source(name, "", program)
