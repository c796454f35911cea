"""Errors that carry the place in the IR they are about.

Code anywhere in the package raises these; ``diagnostics.failing`` turns them into MLIR diagnostics at the edge of a
pass. Imports no MLIR.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .bindings import ir

    Note: TypeAlias = "str | tuple[ir.Location, str]"
    """A remark under an error: text at the error's own place, or text with another place."""


class TileError(Exception):
    """One problem at one place.

    ``location`` is an ``ir.Location`` (an operation is accepted and gives its location), ``message`` says the rule,
    the value found and the remedy without a "error:" prefix, ``notes`` follow it in the output.
    """

    def __init__(self, location: ir.Location | ir.Operation | ir.OpView, message: str, notes: Iterable[Note] = ()):
        super().__init__(message)
        place: Any = location
        self.location: ir.Location = getattr(place, "location", place)
        self.message = message
        self.notes: tuple[Note, ...] = tuple(notes)

    def __str__(self) -> str:
        return f"{str(self.location).removeprefix('loc(').removesuffix(')')}: {self.message}"


class TileErrors(Exception):
    """Several problems found together, in the order they are to be shown. Raise only when there is at least one."""

    def __init__(self, errors: Iterable[TileError]):
        self.errors: tuple[TileError, ...] = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))
