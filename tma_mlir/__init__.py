"""TMA copies for MLIR, in Python: the ``tile`` dialect, its planner, passes, runtime and simulator.

Importing this package imports neither MLIR nor the CUDA driver; the names below are loaded when first used.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compile as compile
    from .api import compile_all as compile_all
    from .bindings.choice import use_bindings as use_bindings
    from .dialect import load as load
    from .errors import TileError as TileError
    from .errors import TileErrors as TileErrors
    from .passes.pipeline import parse_pipeline as parse_pipeline
    from .passes.pipeline import run_pipeline as run_pipeline
    from .passes.registry import Option as Option
    from .passes.registry import Pass as Pass
    from .passes.registry import Pipeline as Pipeline
    from .passes.registry import register as register
    from .runtime import Kernel as Kernel

__version__ = "0.1.0"

_HOMES = {
    "Kernel": ".runtime",
    "compile_all": ".api",
    "load": ".dialect",
    "use_bindings": ".bindings.choice",
    "TileError": ".errors",
    "TileErrors": ".errors",
    "parse_pipeline": ".passes.pipeline",
    "run_pipeline": ".passes.pipeline",
    "Option": ".passes.registry",
    "Pass": ".passes.registry",
    "Pipeline": ".passes.registry",
    "register": ".passes.registry",
}
"""Public names and the modules they come from."""


def irdl_path() -> str:
    """Path of ``tile.irdl.mlir``, the definition of the dialect, for ``mlir-opt --irdl-file``."""
    return str(Path(__file__).parent / "dialect" / "tile.irdl.mlir")


def __getattr__(name: str) -> Any:
    if name == "compile":  # the package, which can be called: see there
        return importlib.import_module(".compile", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "compile"})
