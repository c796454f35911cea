"""``tile-translate-to-ptx``: kernels in the LLVM dialect to PTX, for bindings without the NVPTX back end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.ir_access import collect
from ..bindings import ir
from ..bindings.dialects import gpu, llvm
from ..errors import TileError
from ..llvm_tools import ToolError, ptx_of_llvm_ir
from .chip_option import chip_option, chosen_chip
from .registry import Option, Pass

_ASSEMBLY = 2
"""``gpu::CompilationTarget::Assembly``."""


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    chip = chosen_chip(op, options)
    for module in collect(op, ("gpu.module",)):
        if "targets" not in module.attributes:
            continue
        try:
            ptx = ptx_of_llvm_ir(llvm.translate_module_to_llvmir(module), chip, options["opt-level"])
        except ToolError as error:
            raise TileError(module.location, str(error)) from None
        target = ir.ArrayAttr(module.attributes["targets"])[0]
        with ir.InsertionPoint(module), module.location:
            objects = ir.ArrayAttr.get([gpu.ObjectAttr.get(target, _ASSEMBLY, ptx.encode())])
            ir.Operation.create(
                "gpu.binary", attributes={"sym_name": module.attributes["sym_name"], "objects": objects}
            )
        module.erase()


PASS = Pass(
    "tile-translate-to-ptx",
    "Make PTX of kernels in the LLVM dialect with LLVM's own programs.",
    run,
    options=(
        chip_option("translate"),
        Option("opt-level", int, 3, "LLVM's level of optimisation", choices=(0, 1, 2, 3)),
    ),
)
