"""``tile-check-kernels``: says what MLIR would lower to something wrong or slow, while the source line is still known.

A kernel that a ``gpu.launch_func`` of the module launches with a constant block gets its ``known_block_size`` from
there. What can be put right without knowing the author's mind is put right by ``tile-finish-kernels``; the rest is an
error where the result would be wrong, and a warning where it may be meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.chip_limits import missing_features, other_chip_errors, shared_memory_errors
from ..analysis.host_launches import launches_by_kernel
from ..analysis.index_facts import facts_of
from ..analysis.ir_access import collect, enclosing
from ..analysis.kernel_forms import global_errors, no_kernel_error, outlining_errors, target_errors
from ..analysis.kernel_parameters import parameter_errors
from ..analysis.kernel_traps import (
    RELAXED_ARRIVE_PTX,
    arrive_warnings,
    mma_store_warnings,
    register_errors,
    relaxed_arrive_errors,
    static_shared_errors,
)
from ..analysis.wgmma_layouts import descriptor_errors
from ..analysis.wgmma_steps import mma_errors, mma_store_errors
from ..bindings import ir
from ..diagnostics import warn
from ..errors import TileError, TileErrors
from .chip_option import chip_option, chosen_chip
from .registry import Option, Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    errors: list[TileError] = []
    chip = chosen_chip(op, options)
    errors += outlining_errors(op)
    errors += global_errors(op)
    if not errors and options["require-kernel"] and (missing := no_kernel_error(op)):
        errors.append(missing)
    if options["require-kernel"]:
        errors += target_errors(op, chip.name)
    launches = launches_by_kernel(op)
    for function in collect(op, ("gpu.func",)):
        _add_block_size(function, launches.get(function, ()))
        errors += parameter_errors(function)
        errors += mma_errors(function)
        errors += mma_store_errors(function)
        errors += descriptor_errors(function)
        errors += register_errors(function)
        errors += relaxed_arrive_errors(function, _ptx(function))
        errors += static_shared_errors(function)
        errors += other_chip_errors(function, chip)
        errors += missing_features(function, chip)
        errors += shared_memory_errors(function, chip)
        for location, message in (*mma_store_warnings(function), *arrive_warnings(function)):
            warn(location, message)
    if errors:
        raise TileErrors(errors)


def _add_block_size(function: ir.Operation, launches: Sequence[ir.Operation]) -> None:
    if "known_block_size" in function.attributes:
        return
    blocks = {_block(launch) for launch in launches}
    if len(blocks) == 1 and (block := next(iter(blocks))) is not None:
        function.attributes["known_block_size"] = ir.DenseI32ArrayAttr.get(list(block), function.context)


def _block(launch: ir.Operation) -> tuple[int, ...] | None:
    """The block size of a launch; None where it is not constant."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    first = sum(segments[:4])  # async dependencies, then the three grid sizes
    sizes = [facts_of(size).constant for size in list(launch.operands)[first : first + 3]]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _ptx(function: ir.Operation) -> int:
    """The lowest PTX version among targets that the module names; high enough where it names none, as
    ``tile-to-cubin`` then attaches one of ours."""
    module = enclosing(function, "gpu.module")
    targets = str(module.attributes["targets"]) if module is not None and "targets" in module.attributes else ""
    return min(map(int, re.findall(r"\+ptx(\d+)", targets)), default=RELAXED_ARRIVE_PTX)


PASS = Pass(
    "tile-check-kernels",
    "Diagnose what MLIR lowers wrong or slowly in kernels at full size, and what the chip lacks.",
    run,
    options=(
        chip_option("check"),
        Option("require-kernel", bool, False, "whether a module without a kernel is an error"),
    ),
)
