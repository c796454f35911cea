"""From Python errors to MLIR diagnostics, and a sink for what MLIR's bindings cannot say.

The bindings of MLIR 22 can emit errors only, without notes, and abort the process when a pass emits an error and then
does not fail (or raises). So a pass here raises ``TileError``; ``failing`` reports it and fails the pass. Remarks,
warnings and notes go to the innermost ``collecting`` sink.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import TileError, TileErrors

if TYPE_CHECKING:
    from .bindings import ir


@dataclass(frozen=True)
class Place:
    """A point in a source file; ``line`` and ``column`` count from 1. Of what has no place of its own in a file, such
    as the module around text, MLIR knows the file, and line 0."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Diagnostic:
    """One message. ``severity`` is "error", "warning", "remark" or "note"; ``place`` is None when MLIR knows none, and
    ``width`` is how many letters from there are meant."""

    severity: str
    place: Place | None
    message: str
    notes: tuple[Diagnostic, ...] = ()
    width: int = 1

    def __str__(self) -> str:
        """``FILE:LINE:COLUMN: severity: message``, and a line for each note."""
        place = f"{self.place}: " if self.place else ""
        # MLIR's note with the whole operation in generic form says nothing that the source line does not.
        shown = (note for note in self.notes if not note.message.startswith("see current operation"))
        return "\n".join((f"{place}{self.severity}: {self.message}", *map(str, shown)))


_FILE_LINE_COLUMN = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


def place_of(location: ir.Location) -> Place | None:
    """The first file position inside ``location`` (call sites, fused and named locations included).

    Read from the text because the attribute names of ``ir.Location`` differ between MLIR releases.
    """
    found = _FILE_LINE_COLUMN.search(str(location))
    if not found:
        return None
    return Place(_unquoted(found[1]), int(found[2]), int(found[3]))


_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)


def quoted(text: str) -> str:
    """``text`` as a string literal of MLIR, which knows hexadecimal escapes only."""
    data = text.encode(errors="surrogateescape")
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data) + '"'


def _unquoted(text: str) -> str:
    """What MLIR prints between quotation marks, without its escapes."""

    def plain(found: re.Match[bytes]) -> bytes:
        return bytes.fromhex(found[1].decode()) if len(found[1]) == 2 else found[1]

    return _ESCAPE.sub(plain, text.encode()).decode(errors="surrogateescape")


def place_text(location: ir.Location) -> str:
    """A place to name inside a message; without its file where the IR came as text, as the message has one itself."""
    place = place_of(location)
    if place is None:
        return "an unknown place"
    return f"line {place.line}" if place.file == "-" else str(place)


Sink = Callable[[Diagnostic], None]
_sink: contextvars.ContextVar[Sink | None] = contextvars.ContextVar("tma_mlir_diagnostics", default=None)
_remarks: contextvars.ContextVar[bool] = contextvars.ContextVar("tma_mlir_remarks", default=False)


@dataclass
class Diagnostics:
    """What a ``collecting`` block saw, in order."""

    seen: list[Diagnostic] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(each.severity == "error" for each in self.seen)


@contextlib.contextmanager
def collecting(context: ir.Context, sink: Sink | None = None, remarks: bool = False) -> Iterator[Diagnostics]:
    """Collect every diagnostic of ``context`` (MLIR's own and ours) instead of raising or printing it.

    ``sink`` is also called for each as it comes; our own remarks come only with ``remarks``. ``MLIRError`` is still
    raised by the failing call, without text.
    """
    collected = Diagnostics()

    def take(diagnostic: Diagnostic) -> None:
        collected.seen.append(diagnostic)
        if sink:
            sink(diagnostic)

    def from_mlir(diagnostic: Any) -> bool:
        take(_convert(diagnostic))
        return True

    handler = context.attach_diagnostic_handler(from_mlir)
    previous = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    tokens = _sink.set(take), _remarks.set(remarks)
    try:
        yield collected
    finally:
        _sink.reset(tokens[0])
        _remarks.reset(tokens[1])
        context.emit_error_diagnostics = previous
        handler.detach()


_explanations: dict[str, str] = {}


def explain(pattern: str, text: str) -> None:
    """Put ``; text`` behind MLIR's messages in which ``pattern`` (a regular expression) is found."""
    _explanations[pattern] = text


def _explained(message: str) -> str:
    more = (text for pattern, text in _explanations.items() if re.search(pattern, message))
    return "; ".join([message, *more])


def _convert(diagnostic: Any) -> Diagnostic:
    """An own copy of an ``ir.Diagnostic``, which is invalid once its handler returns."""
    severity = diagnostic.severity.name.lower()
    notes = tuple(_convert(note) for note in diagnostic.notes)
    try:
        place = place_of(diagnostic.location)
    except (RuntimeError, UnicodeDecodeError):
        place = None
    try:
        message = diagnostic.message
    except (RuntimeError, UnicodeDecodeError):
        # The bindings cannot hand out text that is not UTF-8, which the escapes in "\\FF" make possible.
        message = "(MLIR's message quotes a name that is not UTF-8)"
    return Diagnostic(severity, place, _explained(message), notes)


def wants_remarks() -> bool:
    """Whether somebody collects remarks, for those whose text costs time."""
    return _sink.get() is not None and _remarks.get()


def remark(location: ir.Location, message: str) -> None:
    """Say something about a decision taken; lost when nobody collects remarks."""
    sink = _sink.get()
    if sink and _remarks.get():
        sink(Diagnostic("remark", place_of(location), message))


def warn(location: ir.Location, message: str) -> None:
    """Say that something legal is probably not meant; logged when nobody collects."""
    sink = _sink.get()
    if sink:
        sink(Diagnostic("warning", place_of(location), message))
    else:
        logging.getLogger("tma_mlir").warning("%s: %s", place_of(location), message)


def report(error: TileError | TileErrors) -> None:
    """Emit ``error`` as MLIR errors (or into the collecting sink). Inside a pass the pass must fail afterwards."""
    sink = _sink.get()
    for each in error.errors if isinstance(error, TileErrors) else (error,):
        notes = tuple(_note(each, note) for note in each.notes)
        if sink:
            sink(Diagnostic("error", place_of(each.location), each.message, notes))
        else:
            each.location.emit_error("".join([each.message, *(f"\nnote: {note.message}" for note in notes)]))


def _note(error: TileError, note: Any) -> Diagnostic:
    location, message = (error.location, note) if isinstance(note, str) else note
    return Diagnostic("note", place_of(location), message)


def failing(run: Callable[[ir.Operation], None]) -> Callable[[ir.Operation, Any], None]:
    """``run`` as a Python pass for ``PassManager.add``: a ``TileError`` in it fails the pass, with diagnostics.

    Any other exception leaves ``pm.run`` unchanged; nothing has been emitted then, so MLIR does not abort.
    """

    def run_pass(op: ir.Operation, external_pass: Any) -> None:
        try:
            run(op)
        except (TileError, TileErrors) as error:
            report(error)
            external_pass.signal_pass_failure()

    return run_pass
