"""Types that no copy has, as element types: what memrefs of them hold in host memory."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..dtypes import DTYPES, DType
from .types import Type, parse_type


@lru_cache(maxsize=1024)
def element_type(text: str) -> DType:
    """The type that MLIR prints as ``text``: that of ``dtypes`` where it has one, ``i64`` for ``index``, else one
    without a ``driver`` name. Raises ``ValueError`` for a type that has no layout."""
    if text == "index":
        return DTYPES["i64"]
    if text in DTYPES:
        return DTYPES[text]
    type_ = parse_type(text)
    return DType(text, 8 * type_.stride, "", numpy_type(type_))


def numpy_type(type_: Type) -> np.dtype:
    """NumPy's type of the same bytes; raw bytes where it has no number of this kind."""
    if type_.kind == "ptr":
        return np.dtype(np.uint64)
    if type_.kind == "int":
        if type_.size > 8:
            return np.dtype(f"V{type_.size}")
        return np.dtype(f"u{type_.size}") if type_.name.startswith("u") else np.dtype(type_.dtype)
    if type_.kind == "float":
        return np.dtype(type_.dtype)
    if type_.kind in ("vector", "array"):
        element = numpy_type(type_.element)
        fields = {"names": ["elements"], "formats": [(element, (type_.count,))], "offsets": [0]}
    elif (complex_ := _complex(type_)) is not None:
        return complex_
    else:
        formats = [numpy_type(field) for field in type_.fields]
        fields = {"names": [f"f{i}" for i in range(type_.count)], "formats": formats, "offsets": list(type_.offsets)}
    return np.dtype({**fields, "itemsize": type_.stride})  # type: ignore[call-overload]


_COMPLEX = {("f32", "f32"): np.dtype(np.complex64), ("f64", "f64"): np.dtype(np.complex128)}


def _complex(type_: Type) -> np.dtype | None:
    """NumPy's complex type of two equal floats, which is how MLIR lays complex numbers out."""
    return _COMPLEX.get(tuple(field.name for field in type_.fields))  # type: ignore[call-overload]
