"""Which of the installed packages with MLIR's Python bindings is used. Finding out imports none of them."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

VARIABLE = "TMA_MLIR_BINDINGS"

KNOWN = ("mlir", "numba_cuda_mlir._mlir", "torch_mlir", "iree.compiler", "jaxlib.mlir")
"""Packages of bindings, in the order of preference: first those that can do everything."""

_settled: str | None = None


class NoBindings(ImportError):
    """There are no bindings to use, or not those that were named."""


def use_bindings(name: str) -> None:
    """Uses the bindings in the package ``name``, as ``"torch_mlir"``, in this process and in the workers it starts.

    Call it before anything else: ``RuntimeError`` where other bindings are in use already, since objects of two
    packages do not mix. ``NoBindings`` where there are none of that name.
    """
    global _settled
    if _settled not in (None, name):
        raise RuntimeError(f"the bindings {_settled} are in use already. Call use_bindings before anything else")
    if not _is_there(name):
        raise NoBindings(_absent(name))
    _settled = name


def chosen() -> str:
    """The name of the package of the bindings; from now on it stays. ``NoBindings`` where there is none."""
    if _settled is None:
        use_bindings(os.environ.get(VARIABLE) or _first())
    assert _settled is not None
    return _settled


def installed() -> tuple[str, ...]:
    """The packages of ``KNOWN`` that are installed."""
    return tuple(filter(_is_there, KNOWN))


def _first() -> str:
    for name in KNOWN:
        if _is_there(name):
            return name
    raise NoBindings("no MLIR Python bindings are installed: pip install 'tma-mlir[mlir]'")


def folders(name: str) -> list[Path]:
    """The folders of the package of bindings ``name``; none where it is not there. Imports nothing: that is slow."""
    path: list[str] | None = None
    parts = name.split(".")
    for end, part in enumerate(parts, 1):
        blocked = sys.modules.get(".".join(parts[:end]), sys) is None
        spec = None if blocked else PathFinder.find_spec(part, path)
        if spec is None or spec.submodule_search_locations is None:
            return []
        path = list(spec.submodule_search_locations)
    return [folder for folder in map(Path, path or ()) if (folder / "_mlir_libs").is_dir()]


def _is_there(name: str) -> bool:
    return bool(folders(name))


def _absent(name: str) -> str:
    there = ", ".join(installed())
    remedy = f"Installed are {there}" if there else "None are installed: pip install 'tma-mlir[mlir]'"
    return f"there are no MLIR Python bindings in a package {name!r}. {remedy}"
