"""What differs from one build of MLIR's bindings to the next, and is not a matter of names."""

from __future__ import annotations

import functools
from importlib import import_module
from importlib.util import find_spec

from .choice import chosen

WITH_NVPTX = ("mlir", "numba_cuda_mlir._mlir")
"""Bindings that are known to have LLVM's back end for NVIDIA's chips."""


@functools.cache
def has_irdl() -> bool:
    """Whether dialects can be defined in IRDL; without it, the tile dialect's operations stay unregistered."""
    return find_spec(f"{chosen()}.dialects.irdl") is not None


@functools.cache
def barrier_segments() -> int:
    """How many groups of operands ``nvvm.barrier`` has: id, threads and, in some builds, the predicate to reduce."""
    from .dialects import nvvm

    return len(nvvm.BarrierOp._ODS_OPERAND_SEGMENTS)


@functools.cache
def has_nvptx() -> bool:
    """Whether LLVM's back end for NVIDIA's chips was built in. Asking takes milliseconds, so the builds that are
    used most are not asked; nor is one that cannot lower a kernel: IREE's ends the process over it.
    """
    if chosen() in WITH_NVPTX:
        return True
    from . import ir, passmanager

    with ir.Context(), ir.Location.unknown():
        try:
            passmanager.PassManager("gpu.module").add("convert-gpu-to-nvvm")
        except ValueError:
            return False
        module = ir.Module.parse("gpu.module @m [#nvvm.target] {}")
        try:
            passmanager.PassManager.parse("builtin.module(gpu-module-to-binary{format=isa})").run(module.operation)
        except (ir.MLIRError, ValueError):
            return False
    return True


def register_dialects() -> None:
    """Makes contexts know the dialects that the build has. Most builds see to it; jaxlib leaves it to JAX."""
    if chosen() == "jaxlib.mlir":
        libraries = import_module("jaxlib.mlir._mlir_libs")
        extension = import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
        extension.register_dialects(libraries.get_dialect_registry())
