"""Integers that may be unknown: polynomials over symbols with known ranges and divisors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symbol:
    """An unknown integer. ``low``/``high`` are inclusive bounds (None: none known); it is a multiple of ``divisor``.

    ``host`` says that the host knows the value when it encodes descriptors; a kernel-only value may appear in
    coordinates and guards but not in a descriptor.
    """

    name: str
    low: int | None = None
    high: int | None = None
    divisor: int = 1
    host: bool = True
