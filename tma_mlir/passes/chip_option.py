"""The option ``chip=`` of the passes that need to know the architecture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..bindings import ir
from ..chips import DEFAULT_CHIP, Chip, chip
from ..errors import TileError
from .registry import Option


def chip_option(purpose: str) -> Option:
    """``chip=``, the architecture to do ``purpose`` for."""
    return Option("chip", str, DEFAULT_CHIP, f"architecture to {purpose} for")


def chosen_chip(op: ir.Operation, options: Mapping[str, Any]) -> Chip:
    """The chip that the options name; an unknown one is an error at ``op`` that lists the known ones."""
    try:
        return chip(options["chip"])
    except ValueError as error:
        raise TileError(op.location, str(error)) from None
