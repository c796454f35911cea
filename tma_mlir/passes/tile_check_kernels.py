"""``tile-check-kernels``: says what MLIR would lower to something wrong or slow, while the source line is still known.

A kernel that a ``gpu.launch_func`` of the module launches with a constant block gets its ``known_block_size`` from
there. What can be put right without knowing the author's mind is put right by ``tile-finish-kernels``; the rest is an
error where the result would be wrong, and a warning where it may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..analysis.index_facts import facts_of
from ..analysis.ir_access import collect, enclosing
from ..analysis.kernel_parameters import parameter_errors
from ..analysis.kernel_traps import (
    RELAXED_ARRIVE_PTX,
    arrive_warnings,
    mma_step_errors,
    mma_store_warnings,
    register_errors,
    relaxed_arrive_errors,
    static_shared_errors,
)
from ..diagnostics import warn
from ..errors import TileError, TileErrors
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    errors: list[TileError] = []
    launches = _launched_blocks(op)
    for function in collect(op, ("gpu.func",)):
        _add_block_size(function, launches)
        errors += parameter_errors(function)
        errors += mma_step_errors(function)
        errors += register_errors(function)
        errors += relaxed_arrive_errors(function, _ptx(function))
        errors += static_shared_errors(function)
        for location, message in (*mma_store_warnings(function), *arrive_warnings(function)):
            warn(location, message)
    if errors:
        raise TileErrors(errors)


def _launched_blocks(op: ir.Operation) -> dict[str, set[tuple[int, ...] | None]]:
    """Block sizes by kernel name (``module::kernel``); None stands for one that is not constant."""
    blocks: dict[str, set[tuple[int, ...] | None]] = {}
    for launch in collect(op, ("gpu.launch_func",)):
        segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
        first = sum(segments[:4])  # async dependencies, then the three grid sizes
        sizes = [facts_of(size).constant for size in list(launch.operands)[first : first + 3]]
        name = "::".join(ir.SymbolRefAttr(launch.attributes["kernel"]).value)
        blocks.setdefault(name, set()).add(None if None in sizes else tuple(size for size in sizes if size is not None))
    return blocks


def _add_block_size(function: ir.Operation, launches: dict[str, set[tuple[int, ...] | None]]) -> None:
    module = enclosing(function, "gpu.module")
    if module is None or "known_block_size" in function.attributes:
        return
    names = [ir.StringAttr(each.attributes["sym_name"]).value for each in (module, function)]
    sizes = launches.get("::".join(names), set())
    if len(sizes) == 1 and (size := next(iter(sizes))) is not None:
        function.attributes["known_block_size"] = ir.DenseI32ArrayAttr.get(list(size), function.context)


def _ptx(function: ir.Operation) -> int:
    """The lowest PTX version among targets that the module names; high enough where it names none, as
    ``tile-to-cubin`` then attaches one of ours."""
    module = enclosing(function, "gpu.module")
    targets = str(module.attributes["targets"]) if module is not None and "targets" in module.attributes else ""
    return min(map(int, re.findall(r"\+ptx(\d+)", targets)), default=RELAXED_ARRIVE_PTX)


PASS = Pass("tile-check-kernels", "Diagnose what MLIR lowers wrong or slowly in kernels at full size.", run)
