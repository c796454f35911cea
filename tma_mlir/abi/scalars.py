"""Numbers by value: a Python or NumPy number to the bytes of an element type."""

from __future__ import annotations

import math
import numbers
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import DType


def to_bytes(value: Any, dtype: DType) -> bytes:
    """``value`` as one element of ``dtype``, little-endian.

    Signless integers (``i32``) take the signed and the unsigned range. Raises ``TypeError`` for no number, a fraction
    where an integer is needed, or a number out of range; a finite float that its type does not reach is out of range.
    """
    if dtype.is_float:
        if not isinstance(value, numbers.Real | np.generic) or isinstance(value, np.complexfloating):
            raise TypeError(f"{value!r} is not a number of type {dtype}")
        number = float(value)
        with np.errstate(over="ignore"):
            narrow = np.asarray(number).astype(dtype.numpy)
        if not math.isnan(number) and float(narrow) != number and not np.isfinite(narrow):
            raise TypeError(f"{value} does not fit {dtype} (largest: {float(ml_dtypes.finfo(dtype.numpy).max)})")
        return narrow.tobytes()
    number = to_int(value, dtype)
    return number.to_bytes(dtype.bytes, "little", signed=number < 0)


def to_int(value: Any, dtype: DType) -> int:
    """``value`` as an integer in the range of ``dtype``."""
    if isinstance(value, np.ndarray) or not hasattr(value, "__index__"):
        if not isinstance(value, np.bool_):
            raise TypeError(f"{value!r} is not an integer of type {dtype}")
        value = bool(value)
    number = value.__index__()
    bits = 1 if dtype.name == "i1" else dtype.bits
    low = 0 if dtype.name.startswith("u") or bits == 1 else -(1 << (bits - 1))
    high = (1 << (bits - 1 if dtype.name.startswith("s") else bits)) - 1
    if not low <= number <= high:
        raise TypeError(f"{number} does not fit {dtype} ({low} .. {high})")
    return number
