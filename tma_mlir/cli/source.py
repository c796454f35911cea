"""Input text of the command lines: reading it, splitting it, and showing a place in it. Imports no MLIR."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, Place

BYTECODE_MAGIC = b"ML\xefR"
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
    """The input at ``path``; ``-`` is standard input. ``InputError`` if it is missing or not UTF-8."""
    name = "<stdin>" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open input file '{path}': {getattr(error, 'strerror', None) or error}") from None
    if data.startswith(BYTECODE_MAGIC):
        return Source(name, "", data)
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"{name}:{line}:{column}: error: byte 0x{data[error.start]:02x} is not UTF-8"
        raise InputError(message) from None


MAX_NESTING = 500
"""Brackets inside brackets; MLIR's parser recurses and overflows an 8 MiB stack at 2,000 to 4,000."""

_SKIPPED = r'"(?:[^"\\\n]|\\.)*"|//[^\n]*'
_BRACKETS = re.compile(_SKIPPED + r"|->|[<>]=|([\[({<])|([\])}>])")
_ARRAY_OF_INDEX = re.compile(_SKIPPED + r"|\b(array)\s*<\s*index\b")


def fatal_text(source: Source, chunk: str) -> Diagnostic | None:
    """The error for text that MLIR 22's parser does not survive; None for any other."""
    at = _too_deep(chunk)
    if at is not None:
        message = f"brackets are nested more than {MAX_NESTING} deep"
        return Diagnostic("error", _place(source, chunk, at), message)
    if "array" in chunk and re.search(r"<\s*index\b", chunk):
        at = next((found.start() for found in _ARRAY_OF_INDEX.finditer(chunk) if found[1]), None)
        if at is not None:
            message = "elements of an array<...> are integers or floats, not index; write array<i64: ...>"
            return Diagnostic("error", _place(source, chunk, at), message)
    return None


def _too_deep(chunk: str) -> int | None:
    """Where brackets are nested deeper than ``MAX_NESTING``."""
    if sum(map(chunk.count, "[({<")) <= MAX_NESTING:
        return None
    depth = 0
    for found in _BRACKETS.finditer(chunk):
        if found[1]:
            depth += 1
            if depth > MAX_NESTING:
                return found.start()
        elif found[2]:
            depth = max(depth - 1, 0)
    return None


_UNQUOTED_TILE = re.compile(_SKIPPED + r"|(?<![\w#!@%$.])(tile\.\w+)")


def silent_parse_failure(source: Source, chunk: str) -> Diagnostic:
    """The error for input that MLIR refuses without a word: an IRDL operation written without quotes."""
    for found in _UNQUOTED_TILE.finditer(chunk):
        if found[1]:
            message = f'{found[1]} has no custom syntax; write it in the generic form: "{found[1]}"(operands) '
            message += "{attributes} : (operand types) -> ()"
            return Diagnostic("error", _place(source, chunk, found.start()), message)
    what = "bytecode" if source.bytecode else "input"
    return Diagnostic("error", Place(source.name, 1, 1), f"MLIR cannot parse this {what} and does not say why")


def _place(source: Source, chunk: str, offset: int) -> Place:
    """Where ``chunk[offset]`` is; columns are in bytes, as MLIR's."""
    before = chunk[chunk.rfind("\n", 0, offset) + 1 : offset]
    return Place(source.name, chunk.count("\n", 0, offset) + 1, len(before.encode()) + 1)
