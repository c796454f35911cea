"""Modules that are loaded when they are first used."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any


def load_lazily(name: str) -> None:
    """From now on ``import name`` costs nothing, and the first look into the package loads it. For NumPy, which
    ``mlir.ir`` imports and most programs never need.

    ``importlib.util.LazyLoader`` does not help: the statement ``import`` itself looks at ``__spec__``, and it takes
    every look for a use.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    del module.__path__  # looked for when a module inside is imported, which is a use
    module.__class__ = _Unloaded
    sys.modules[name] = module


class _Unloaded(ModuleType):
    def __getattr__(self, name: str) -> Any:
        """Called for what is not there, which is all but ``__spec__`` and the like."""
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__path__ = list(spec.submodule_search_locations or ())
        spec.loader.exec_module(self)
        return getattr(self, name)
