"""The one place that imports MLIR, for all others: ``from tma_mlir.bindings import ir``.

MLIR's Python bindings are built into several packages, each with a name of its own. Which of them is used is settled
when the first of their modules is needed, and holds for the process: ``use_bindings``, else the variable
``TMA_MLIR_BINDINGS``, else the first of ``KNOWN`` that is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .builds import register_dialects
from .choice import KNOWN as KNOWN
from .choice import chosen as chosen
from .choice import use_bindings as use_bindings

if TYPE_CHECKING:
    from mlir import ir as ir
    from mlir import passmanager as passmanager
    from mlir import rewrite as rewrite

_MODULES = ("ir", "passmanager", "rewrite")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "ir":
        register_dialects()
    module = globals()[name] = import_module(f"{chosen()}.{name}")
    return module
