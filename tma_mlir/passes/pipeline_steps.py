"""What a parsed pipeline is made of: passes of MLIR as text, Python passes bound to options, nests of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import registry
from .pipeline_text import Nest, PassCall, join, quote


@dataclass(frozen=True)
class BoundPass:
    """A Python pass with the value of every option."""

    entry: registry.Pass
    options: Mapping[str, Any]
    column: int

    def __str__(self) -> str:
        given = [
            f"{option.name}={quote(_text(self.options[option.name]))}"
            for option in self.entry.options
            if self.options[option.name] != option.default
        ]
        return f"{self.entry.argument}{{{' '.join(given)}}}" if given else self.entry.argument


@dataclass(frozen=True)
class BoundNest:
    """A nested anchor with a Python pass somewhere inside."""

    anchor: str
    steps: tuple[Step, ...]
    column: int

    def __str__(self) -> str:
        return f"{self.anchor}({join(self.steps)})"


Step: TypeAlias = "PassCall | Nest | BoundPass | BoundNest"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
