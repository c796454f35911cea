"""What the user expects of an argument after the run, from a file, and how far the result is from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..abi.signature import KernelSignature, MemRefArgument
from .arguments import Value
from .array_files import load_array, part_of, typed
from .array_spec import ArgumentError, ArraySpec, read_spec
from .execute import Mismatch


@dataclass(frozen=True)
class Expectation:
    """Argument ``argument`` has to equal ``array``, which ``name`` says where it is from. ``rtol`` and ``atol`` as in
    ``numpy.allclose``: the difference is at most ``atol + rtol * |expected|``; both zero asks for equal numbers."""

    argument: int
    name: str
    array: np.ndarray
    rtol: float = 0.0
    atol: float = 0.0

    @property
    def tolerance(self) -> str:
        """``""``, or what is allowed, in words."""
        parts = [f"{name} {value:g}" for name, value in (("rtol", self.rtol), ("atol", self.atol)) if value]
        return f" within {', '.join(parts)}" if parts else ""

    def mismatch(self, found: np.ndarray) -> Mismatch | None:
        """Where the result is another; None where it is as expected. NaN equals NaN."""
        wrong = ~_equal(found, self.array)
        if (self.rtol or self.atol) and wrong.any():
            wrong &= ~_near(found, self.array, self.rtol, self.atol)
        if not wrong.any():
            return None
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        count, total = int(wrong.sum()), wrong.size
        return Mismatch(self.argument, count, total, index, str(found[index]), str(self.array[index]))


def read_expectations(given: Mapping[int, str], signature: KernelSignature, values: list[Value]) -> list[Expectation]:
    """``given``: the text after ``--expect I=`` by argument. ``values``: the arguments. Raises ``ArgumentError``."""
    return [_read(index, text, signature, values) for index, text in sorted(given.items())]


def _read(index: int, text: str, signature: KernelSignature, values: list[Value]) -> Expectation:
    flag = f"--expect {index}"
    spec = read_spec(flag, text, ("rtol", "atol"), always_file=True)
    if index >= len(values):
        raise ArgumentError(f"{flag}: kernel @{signature.name} takes {len(values)} arguments, numbered from 0")
    argument, value = signature.arguments[index], values[index]
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{flag}: argument {index} is passed by value and does not change. Name an array")
    array = load_array(flag, spec)
    if isinstance(argument, MemRefArgument):
        array = typed(flag, spec, array, index, argument.dtype)
    elif array.dtype != value.dtype:
        raise ArgumentError(f"{flag}={text}: holds {array.dtype}, argument {index} has {value.dtype}")
    array = part_of(flag, spec, array)
    if array.shape != value.shape:
        raise ArgumentError(f"{flag}={text}: has shape {list(array.shape)}, argument {index} has {list(value.shape)}")
    rtol, atol = (_tolerance(flag, spec, name) for name in ("rtol", "atol"))
    if (rtol or atol) and not _is_numeric(array):
        raise ArgumentError(
            f"{flag}={text}: elements of {array.dtype} are equal or not; there is no tolerance. Drop it"
        )
    return Expectation(index, spec.file, array, rtol, atol)


def _tolerance(flag: str, spec: ArraySpec, name: str) -> float:
    text = spec.options.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < np.inf:
        raise ArgumentError(f"{flag}={spec.text}: {name} is {text!r}, needed: a number of at least 0, as {name}=1e-3")
    return value


def _is_numeric(array: np.ndarray) -> bool:
    return array.dtype.names is None and (array.dtype.kind in "biufc" or array.dtype.isbuiltin == 2)


def _equal(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    if not _is_numeric(expected):
        return _bytes_equal(found, expected)
    return (found == expected) | ((found != found) & (expected != expected))


def _bytes_equal(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    size = expected.itemsize
    pair = (np.ascontiguousarray(each).view(np.uint8).reshape(*expected.shape, size) for each in (found, expected))
    return np.asarray(np.equal(*pair).all(axis=-1))


def _near(found: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    # 64-bit integers are exact in no shorter type; of bfloat16 and the like there is no arithmetic with float.
    kind = expected.dtype.kind
    wide = np.dtype(np.longdouble if kind in "biu" else np.complex128 if kind == "c" else np.float64)
    a, b = found.astype(wide), expected.astype(wide)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= atol + rtol * np.abs(b)
        return np.asarray(np.isfinite(a) & np.isfinite(b) & near)
