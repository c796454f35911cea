"""``tile-check-limits``: refuses valid IR that MLIR or LLVM would not survive, with its place and what to do.

It is the first pass of every pipeline of this package, and tma-opt runs it before any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.fatal_ir import fatal_errors
from ..bindings import ir
from ..errors import TileErrors
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    errors = fatal_errors(op)
    if errors:
        raise TileErrors(errors)


PASS = Pass("tile-check-limits", "Refuse valid IR that would end the process in MLIR or LLVM.", run)
