"""Loads the tile dialect into a context, once."""

from __future__ import annotations

import functools
from pathlib import Path

from ..bindings import ir
from ..bindings.builds import has_irdl
from ..bindings.views import _cext


def irdl_path() -> Path:
    """The dialect's definition, for ``mlir-opt --irdl-file`` and other loaders of IRDL."""
    return Path(__file__).with_name("tile.irdl.mlir")


@functools.cache
def _irdl_text() -> str:
    return irdl_path().read_text()


@functools.cache
def _register_views() -> None:
    """Makes parsed tile operations come back as the classes of ``tma_mlir.dialect``."""
    _cext.globals.append_dialect_search_prefix("tma_mlir.dialect.views")


def is_loaded(context: ir.Context) -> bool:
    if not has_irdl():
        return context.allow_unregistered_dialects
    try:
        context.dialects["tile"]
    except IndexError:
        return False
    return True


def load(context: ir.Context) -> None:
    """Registers the tile dialect in ``context``; does nothing where it is there already.

    Call it right after ``ir.Context()``, before anything that mentions the dialect is parsed, and never from inside a
    running pass: MLIR 22 aborts when IRDL is loaded twice or late. ``TypeError`` for anything but a context.

    Where the bindings have no IRDL, the context is made to take operations that no dialect registers; ``tile-verify``
    checks them all the same.
    """
    if not isinstance(context, ir.Context):
        raise TypeError(f"a {type(context).__qualname__} is not an MLIR context")
    if is_loaded(context):
        return
    _register_views()
    if not has_irdl():
        context.allow_unregistered_dialects = True
        return
    from ..bindings.dialects import irdl

    with context, ir.Location.unknown(context):
        irdl.load_dialects(ir.Module.parse(_irdl_text()))


def make_context() -> ir.Context:
    """A context with the tile dialect and without worker threads, on which Python callbacks deadlock."""
    context = ir.Context()
    context.enable_multithreading(False)
    load(context)
    return context
