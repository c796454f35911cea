"""``tile-lower-copies``: ``memref.copy`` and ``linalg.copy`` that stay ordinary in kernels become loops.

MLIR 22 lowers a strided ``memref.copy`` to a call of ``memrefCopy``, a function of its CPU runtime. What every thread
of the block executes together, on the same memrefs, the threads share: each copies every n-th element, between two
barriers. Any other copy is executed whole by each thread that comes to it, which is what the operation means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.ir_access import collect
from ..analysis.ordinary_copies import ordinary_copies
from ..bindings import ir
from ..diagnostics import remark
from ..errors import TileError, TileErrors
from ..lower.ordinary_copy import copy_by_each, copy_together
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    functions = collect(op, ("gpu.func",))
    copies = [copy for function in functions for copy in ordinary_copies(function)]
    problems = [(copy.op, copy.problem) for copy in copies]
    errors = [TileError(op.location, f"'{op.name}' op {problem}") for op, problem in problems if problem]
    if errors:
        raise TileErrors(errors)
    for copy in copies:
        how = "that the threads of the block share"
        if copy.alone is not None:
            how = f"in which each thread copies everything: {copy.alone}"
        remark(copy.op.location, f"'{copy.op.name}' op becomes a loop {how}")
        with copy.op.location, ir.InsertionPoint(copy.op):
            if copy.alone is None:
                copy_together(copy.source, copy.destination, barrier_follows=copy.barrier_follows)
            else:
                copy_by_each(copy.source, copy.destination)
        copy.op.erase()


PASS = Pass("tile-lower-copies", "Lower ordinary copies in kernels to loops.", run)
