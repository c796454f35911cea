"""Notes each pass before it runs: for a second look at an input that ended the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagnostics import place_of
from .notes import doing

if TYPE_CHECKING:
    from ..bindings import ir


class Noting:
    """An ``Instrumentation``; with it every pass runs by itself."""

    def before(self, op: ir.Operation, path: tuple[str, ...], name: str) -> None:
        doing(f"in the pass '{name}' on {_named(op)}", place_of(op.location))

    def after(self, op: ir.Operation, path: tuple[str, ...], name: str, seconds: float, failed: bool) -> None:
        doing(f"after the pass '{name}'")


def _named(op: ir.Operation) -> str:
    symbol = f" @{op.attributes['sym_name'].value}" if "sym_name" in op.attributes else ""  # type: ignore[attr-defined]
    return f"'{op.name}'{symbol}"
