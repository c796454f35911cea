"""Numbers by value: a Python or NumPy number to the bytes of an element type."""

from __future__ import annotations

import math
import numbers
import operator
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
        number = _to_float(value, dtype)
        with np.errstate(over="ignore"):
            narrow = np.asarray(number).astype(dtype.numpy)
        if not math.isnan(number) and float(narrow) != number and not np.isfinite(narrow):
            raise TypeError(f"{shown(value)} does not fit {dtype} (largest: {float(ml_dtypes.finfo(dtype.numpy).max)})")
        return narrow.tobytes()
    number = to_int(value, dtype)
    return number.to_bytes(dtype.bytes, "little", signed=number < 0)


_NO_NUMBERS = (np.complexfloating, np.flexible, np.datetime64, np.timedelta64, np.object_)


def _to_float(value: Any, dtype: DType) -> float:
    if not isinstance(value, numbers.Real | np.generic) or isinstance(value, _NO_NUMBERS):
        raise TypeError(f"{shown(value)} is not a number of type {dtype}")
    try:
        return float(value)
    except OverflowError:
        raise TypeError(f"{shown(value)} does not fit {dtype}") from None
    except Exception as error:  # a number may be of anybody's class
        raise TypeError(f"{shown(value)} is not a number of type {dtype} ({error})") from error


def to_int(value: Any, dtype: DType) -> int:
    """``value`` as an integer in the range of ``dtype``."""
    if isinstance(value, np.bool_):
        value = bool(value)
    if isinstance(value, np.ndarray | np.timedelta64) or not hasattr(value, "__index__"):
        raise TypeError(f"{shown(value)} is not an integer of type {dtype}")
    try:
        number = operator.index(value)
    except Exception as error:  # a number may be of anybody's class
        raise TypeError(f"{shown(value)} is not an integer of type {dtype} ({error})") from error
    bits = 1 if dtype.name == "i1" else dtype.bits
    low = 0 if dtype.name.startswith("u") or bits == 1 else -(1 << (bits - 1))
    high = (1 << (bits - 1 if dtype.name.startswith("s") else bits)) - 1
    if not low <= number <= high:
        raise TypeError(f"{shown(number)} does not fit {dtype} ({low} .. {high})")
    return number


def shown(value: Any) -> str:
    """``value`` in a message: not too long, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # objects without a text, integers of too many digits
        text = f"a value of type {type(value).__qualname__}"
    return text if len(text) <= 200 else f"{text[:200]}..."
