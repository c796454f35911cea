"""Vectors, complex numbers, arrays and structs by value: Python or NumPy values to the bytes of their type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..dtypes import DTYPES, DType
from . import scalars
from .elements import numpy_type
from .parameters import ADDRESS
from .types import Type


def to_bytes(value: Any, type_: Type) -> bytes:
    """``value`` as a parameter of ``type_``, padding zero.

    A vector, array or struct is a sequence with one item for each element or field: a list, a tuple, a NumPy array, a
    structured NumPy value. Two floats may be a complex number; a pointer is an address. Raises ``TypeError`` as
    ``scalars.to_bytes`` does, or for another number of items.
    """
    data = bytearray(type_.stride)
    for at, leaf, item in _placed(value, type_, 0):
        data[at : at + leaf.bytes] = scalars.to_bytes(item, leaf)
    return bytes(data)


def _placed(value: Any, type_: Type, at: int) -> Iterator[tuple[int, DType, Any]]:
    """Each number of ``value`` with its offset and its type."""
    if type_.kind not in ("vector", "array", "struct"):
        yield at, _number(type_), value
        return
    items = _items(value)
    if items is None or len(items) != type_.count:
        raise TypeError(f"{scalars.shown(value)} is given, needed: a sequence of {type_.count} {_what(type_)}")
    parts = type_.fields if type_.kind == "struct" else type_.fields * type_.count
    step = type_.element.size if type_.kind == "vector" else type_.element.stride if type_.kind == "array" else 0
    offsets = type_.offsets if type_.kind == "struct" else range(0, type_.count * step, step)
    for item, part, offset in zip(items, parts, offsets, strict=True):
        yield from _placed(item, part, at + offset)


def _items(value: Any) -> Sequence[Any] | np.ndarray | None:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.void) and value.dtype.names:
        return [value[name] for name in value.dtype.names]
    if isinstance(value, complex | np.complexfloating):
        return [value.real, value.imag]
    return value if isinstance(value, list | tuple | np.ndarray) else None


def _what(type_: Type) -> str:
    return "fields" if type_.kind == "struct" else "elements"


@lru_cache(maxsize=256)
def _number(type_: Type) -> DType:
    if type_.kind == "ptr":
        return ADDRESS
    return DTYPES.get(type_.name) or DType(type_.name, 8 * type_.size, "", numpy_type(type_))


def leaves(type_: Type) -> Iterator[DType]:
    """The numbers that a value of ``type_`` is made of, in order."""
    if type_.kind not in ("vector", "array", "struct"):
        yield _number(type_)
        return
    for part in type_.fields if type_.kind == "struct" else type_.fields * type_.count:
        yield from leaves(part)


def nested(numbers: Iterator[Any], type_: Type) -> Any:
    """A value of ``type_`` made of its ``leaves``."""
    if type_.kind not in ("vector", "array", "struct"):
        return next(numbers)
    parts = type_.fields if type_.kind == "struct" else type_.fields * type_.count
    return tuple(nested(numbers, part) for part in parts)
