"""What has to be brought into another form before there is a kernel to compile: launches that hold their body, globals
that MLIR does not lower, modules without any kernel."""

from __future__ import annotations

from collections.abc import Iterator

from ..bindings import ir
from ..diagnostics import place_of
from ..dialect.memrefs import read_memref
from ..errors import TileError
from .ir_access import collect, enclosing, is_kernel


def outlining_errors(root: ir.Operation) -> Iterator[TileError]:
    """One for each ``gpu.launch``: its body is still part of the host function around it."""
    for launch in collect(root, ("gpu.launch",)):
        yield TileError(
            launch.location,
            "'gpu.launch' op holds its kernel, and only a gpu.func of a gpu.module is compiled. Outline it first: put "
            "the pass gpu-kernel-outlining before this one (tma-opt --gpu-kernel-outlining)",
        )


def global_errors(root: ir.Operation) -> Iterator[TileError]:
    """One for each ``memref.global`` of a kernel whose layout MLIR 22 does not lower."""
    for variable in collect(root, ("memref.global",)):
        type_ = ir.MemRefType(ir.TypeAttr(variable.attributes["type"]).value)
        if enclosing(variable, "gpu.module") is None or _is_identity(type_):
            continue
        yield TileError(
            variable.location,
            f"'memref.global' op has type {type_}, and MLIR lowers globals with an identity layout only. Declare it "
            "without a layout, with as many elements, and give it its strides where it is used, by "
            "memref.reinterpret_cast. A tile in shared memory may also be a workgroup attribution of the gpu.func, "
            "which can have any strides",
        )


def _is_identity(type_: ir.MemRefType) -> bool:
    """Whether elements lie row by row without gaps, from the start on."""
    memref = read_memref(type_)
    if memref is None or memref.offset != 0:
        return False
    step: int | None = 1
    for extent, stride in zip(reversed(memref.shape), reversed(memref.strides), strict=True):
        if stride != step or extent is None or step is None:
            return False
        step *= extent
    return True


_KERNELS = ("gpu.func", "llvm.func", "gpu.binary")


def no_kernel_error(root: ir.Operation) -> TileError | None:
    """The error for a module that has nothing to compile, nor anything compiled; None for others."""
    functions = collect(root, _KERNELS)
    if any(each.name == "gpu.binary" or is_kernel(each) or "nvvm.kernel" in each.attributes for each in functions):
        return None
    for function in functions:
        if function.name == "gpu.func":
            name = ir.StringAttr(function.attributes["sym_name"]).value
            return TileError(
                function.location, f"'gpu.func' op @{name} is not a kernel, and the module has none. Mark it 'kernel'"
            )
    # Text without a module of its own has it implicitly, at no place.
    place = next((each.location for block in root.regions[0] for each in block.operations), root.location)
    return TileError(
        place if place_of(root.location) is None else root.location,
        "the module has no kernel to compile; needed: a gpu.func marked 'kernel', in a gpu.module",
    )


def target_errors(root: ir.Operation, chip: str) -> Iterator[TileError]:
    """One for each ``gpu.module`` with targets of its own, where one for ``chip`` will be attached."""
    for module in collect(root, ("gpu.module",)):
        if "targets" in module.attributes and len(ir.ArrayAttr(module.attributes["targets"])):
            yield TileError(
                module.location,
                f"'gpu.module' op has targets of its own, and it is compiled for {chip}: each kernel would be defined "
                f"once for each of them. Remove the targets {module.attributes['targets']}",
            )
