"""The dialects of the chosen bindings, each imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .choice import chosen

if TYPE_CHECKING:
    from mlir.dialects import arith as arith
    from mlir.dialects import builtin as builtin
    from mlir.dialects import gpu as gpu
    from mlir.dialects import irdl as irdl
    from mlir.dialects import llvm as llvm
    from mlir.dialects import memref as memref
    from mlir.dialects import nvgpu as nvgpu
    from mlir.dialects import nvvm as nvvm
    from mlir.dialects import scf as scf
    from mlir.dialects import vector as vector


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    full = f"{chosen()}.dialects.{name}"
    try:
        module = globals()[name] = import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        raise AttributeError(f"{chosen()} was built without the dialect {name}") from None
    return module
