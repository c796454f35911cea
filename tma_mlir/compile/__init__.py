"""From MLIR to kernels: the compiler's stages, the assembler, the signature that the host follows.

The package is callable: ``tma_mlir.compile(...)`` is ``api.compile``, which would otherwise hide it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from .api import compile

        return compile(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
