"""``--verify-diagnostics``: compares what was said with ``expected-...`` comments, as mlir-opt does.

    // expected-error@+1 {{part of the message}}     also: remark, warning, note; @-N, @above, @below, @unknown
    // expected-error-re {{rank {{[0-9]+}} is over}} regular expressions inside the inner braces

Imports no MLIR.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..diagnostics import Diagnostic, Place

_EXPECTATION = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(@(?:[+-]\d+|above|below|unknown))? *\{\{(.*)\}\}$"
)


@dataclass
class Expectation:
    """A message that must be seen. ``line`` is None for one without a place; ``at`` is the comment itself, and
    ``written`` the text there, from which a regular expression was made."""

    severity: str
    text: str
    is_regex: bool
    line: int | None
    at: Place
    written: str
    seen: bool = False

    def matches(self, diagnostic: Diagnostic, file: str) -> bool:
        place = diagnostic.place
        line = place.line if place and place.line and place.file in ("-", file) else None
        if self.severity != diagnostic.severity or self.line != line:
            return False
        if not self.is_regex:
            return self.text in diagnostic.message
        return re.search(self.text, diagnostic.message) is not None


def mismatches(chunk: str, file: str, said: Iterable[Diagnostic], only_expected: bool = False) -> list[Diagnostic]:
    """What is wrong: expectations of ``chunk`` not met and, unless ``only_expected``, messages not expected."""
    problems: list[Diagnostic] = []
    expectations: list[Expectation] = []
    for expectation in _expectations(chunk, file):
        if isinstance(expectation, Diagnostic):
            problems.append(expectation)
        else:
            expectations.append(expectation)
    for diagnostic in _flat(said):
        met = next((each for each in expectations if not each.seen and each.matches(diagnostic, file)), None)
        if met:
            met.seen = True
        elif not only_expected:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            problems.append(Diagnostic("error", diagnostic.place, message))
    for expectation in expectations:
        if not expectation.seen:
            message = f'expected {expectation.severity} "{expectation.written}" was not produced'
            problems.append(Diagnostic("error", expectation.at, message, width=len(expectation.written)))
    return problems


def _flat(said: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Messages and their notes, without MLIR's print-out of the operation, which mlir-opt turns off here."""
    for diagnostic in said:
        yield diagnostic
        yield from (note for note in diagnostic.notes if not note.message.startswith("see current operation"))


def _expectations(chunk: str, file: str) -> Iterator[Expectation | Diagnostic]:
    """Expectations in order; an ill-formed one is the error it gets."""
    last_plain = 1
    below: list[Expectation] = []
    for number, text in enumerate(chunk.split("\n"), 1):
        found = _EXPECTATION.search(text.rstrip("\r"))
        if not found:
            last_plain = number
            for expectation in below:
                expectation.line = number
            below.clear()
            continue
        severity, regex, where, written = found.groups()
        message = written
        at = Place(file, number, found.start() + 1)
        if regex:
            try:
                message = _as_regex(message)
            except re.error as error:
                yield Diagnostic("error", at, f"invalid regular expression: {error}", width=len(written))
                continue
        expectation = Expectation(severity, message, bool(regex), _line(where, number, last_plain), at, written)
        if where == "@below":
            below.append(expectation)
        yield expectation


def _line(where: str | None, number: int, last_plain: int) -> int | None:
    if where is None or where == "@below":
        return number
    if where == "@above":
        return last_plain
    return None if where == "@unknown" else number + int(where[1:])


def _as_regex(message: str) -> str:
    """Literal text with regular expressions between inner double braces, as one regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", message)
    pattern = "".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    re.compile(pattern)
    return pattern
