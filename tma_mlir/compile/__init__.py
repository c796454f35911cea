"""From MLIR to kernels: the compiler's stages to PTX and cubin, and the signature that the host follows.

The package is callable: ``tma_mlir.compile(...)`` is ``tma_mlir.api.compile``, which would otherwise hide it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        # The function also caches and launches, so it stands above this package: only a call needs it.
        return import_module("tma_mlir.api").compile(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
