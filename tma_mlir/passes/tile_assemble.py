"""``tile-assemble``: PTX objects of ``gpu.binary`` become cubins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..analysis.ir_access import collect
from ..assembler import AssemblerError, assemble
from ..bindings import ir
from ..bindings.dialects import gpu
from ..errors import TileError
from .chip_option import chip_option
from .registry import Pass

_BINARY = 3
"""``gpu::CompilationTarget::Binary``."""


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for binary in collect(op, ("gpu.binary",)):
        objects = []
        for attribute in ir.ArrayAttr(binary.attributes["objects"]):
            object_ = gpu.ObjectAttr(attribute)
            try:
                cubin = assemble(ptx_of(object_), options["chip"])
            except UnicodeDecodeError:
                message = "'gpu.binary' op holds an object that is not PTX. Make PTX: gpu-module-to-binary{format=isa}"
                raise TileError(binary.location, message) from None
            except AssemblerError as error:
                raise TileError(binary.location, str(error)) from None
            with op.context:
                objects.append(gpu.ObjectAttr.get(object_.target, _BINARY, cubin.data, object_.properties))
        binary.attributes["objects"] = ir.ArrayAttr.get(objects, op.context)


def ptx_of(object_: gpu.ObjectAttr) -> str:
    """The PTX text in an object, without the terminating zero that LLVM adds."""
    data = object_.object
    return (data if isinstance(data, bytes) else data.encode()).rstrip(b"\0").decode()


PASS = Pass(
    "tile-assemble",
    "Assemble the PTX in gpu.binary into cubins, in process.",
    run,
    options=(chip_option("assemble"),),
)
