"""The tile dialect in Python: loading it, its operations and attributes, its verifier.

``tile.irdl.mlir`` is the one definition; the classes here are views on it.
"""

from __future__ import annotations

from .loading import irdl_path, load, make_context

__all__ = ["irdl_path", "load", "make_context"]
