"""Kernel parameters that PTX cannot take: LLVM aborts on some, and makes PTX of others that does not assemble."""

from __future__ import annotations

from collections.abc import Iterator

from ..abi.passing import MAX_PARAMETER_BYTES, Refusal, element_refusal, refusal
from ..abi.types import parse_type
from ..bindings import ir
from ..dialect.memrefs import read_memref
from ..errors import TileError
from .ir_access import function_inputs


def parameter_errors(function: ir.Operation) -> Iterator[TileError]:
    """One for each parameter that has to be another; none for a function that is not a kernel."""
    if "kernel" not in function.attributes and "gpu.kernel" not in function.attributes:
        return
    inputs = function_inputs(function)
    total = 0
    for index, (type_, argument) in enumerate(zip(inputs, function.regions[0].blocks[0].arguments, strict=False)):
        found = _refusal(type_)
        if found is None and not isinstance(type_, ir.MemRefType):
            total += parse_type(str(type_)).stride
            if total > MAX_PARAMETER_BYTES:
                found = Refusal(
                    f"the byte {total} of all passed by value",
                    f"at most {MAX_PARAMETER_BYTES} B together",
                    "Pass a memref that holds it",
                )
        if found is not None:
            part = "" if found.what == str(type_) else f", which has {found.what}"
            yield TileError(
                argument.location,
                f"kernel parameter {index} is {type_}{part}; needed: {found.needed}. {found.remedy}",
            )


def _refusal(type_: ir.Type) -> Refusal | None:
    text = str(type_)
    if not text.startswith("memref<"):
        return refusal(text)
    memref = read_memref(type_)
    if memref is not None and memref.space != "global":
        return Refusal(
            "memory that the host has not",
            "address space 0 or 1 (global memory)",
            "Use a workgroup attribution for shared memory, and an operation of the kernel for any other",
        )
    if memref is not None:
        return element_refusal(memref.element)
    if isinstance(type_, ir.MemRefType):
        return Refusal(
            text,
            "a strided layout",
            "Write a layout that has strides as strided<[...], offset: N>, or copy it to a memref without a layout "
            "before the launch",
        )
    return Refusal(text, "a rank", "Cast it to a ranked memref before the launch (memref.cast)")
