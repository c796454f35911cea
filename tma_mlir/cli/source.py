"""Input text of the command lines: reading it, splitting it, and showing a place in it. Imports no MLIR."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic
from ..files import NotText, decoded

SEPARATOR = re.compile(r"^// -----[^\S\n]*$", re.MULTILINE)
"""What ``--split-input-file`` splits at, as in mlir-opt."""


class InputError(Exception):
    """The input cannot be read; the text is a whole message."""


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

    def chunks(self) -> Iterator[str]:
        """The parts between separator lines, each after as many empty lines as bring its line numbers right."""
        start = 0
        for separator in [*SEPARATOR.finditer(self.text), None]:
            end = separator.start() if separator else len(self.text)
            yield "\n" * self.text.count("\n", 0, start) + self.text[start:end]
            start = separator.end() if separator else end

    def render(self, diagnostic: Diagnostic) -> str:
        """``diagnostic`` as mlir-opt prints it: ``file:line:col: error: ...`` with the source line and a caret."""
        shown = [self._render_one(diagnostic), *map(self._render_one, diagnostic.notes)]
        return "\n".join(shown)

    def show(self, diagnostic: Diagnostic) -> None:
        """Print ``diagnostic`` where errors go."""
        print(self.render(diagnostic), file=sys.stderr)

    def _render_one(self, diagnostic: Diagnostic) -> str:
        place = diagnostic.place
        headline = f"{diagnostic.severity}: {diagnostic.message.rstrip()}"
        if place is None or place.line == 0:
            return f"{self.name}: {headline}"
        if place.file not in ("-", self.name):
            return f"{place}: {headline}"
        line = self.line(place.line)
        if line is None:
            return f"{self.name}:{place.line}:{place.column}: {headline}"
        # MLIR counts columns in bytes.
        before = line.encode()[: place.column - 1].decode(errors="ignore")
        caret = re.sub(r"[^\t]", " ", before) + "^"
        return f"{self.name}:{place.line}:{place.column}: {headline}\n{line}\n{caret}"

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
