"""What tells two launches apart, read as fast as Python can: one generated function per combination of types.

A call of ``key`` reads everything a prepared launch depends on, so a freed and re-used address, a resized tensor or a
view with other strides can never meet a stale descriptor.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import ArrayView, framework_of

_KEY = {
    "torch": "{a}.data_ptr(), {a}.shape, {a}.stride(), {a}.dtype",
    "cupy": "{a}.data.ptr, {a}.shape, {a}.strides, {a}.dtype",
    "int": "{a}",
    # -0.0 equals 0.0 and NaN equals nothing: bits, not values.
    "float": "bits({a})",
    "numpy": "{a}.tobytes()",
}
_STATIC = {
    "torch": "{a}.shape, {a}.stride(), {a}.dtype, {a}.get_device()",
    "cupy": "{a}.shape, {a}.strides, {a}.dtype, {a}.device.id",
}
_ADDRESS = {"torch": "{a}.data_ptr()", "cupy": "{a}.data.ptr"}


@dataclass(frozen=True)
class FastKeys:
    """Readers of an argument list.

    ``key(grid, block, *arguments)``: everything, types included. ``static(grid, block, *arguments)``: all but addresses
    and the scalars no descriptor depends on. ``addresses(*arguments)``: addresses and scalars, as
    ``Specialisation.prepare`` takes them. ``current_stream(ordinal)``: the framework's, as a number.
    """

    key: Callable[..., tuple]
    static: Callable[..., tuple]
    addresses: Callable[..., tuple]
    current_stream: Callable[[int], int]


def fast_keys(arguments: Sequence[Any], static_scalars: frozenset[int]) -> FastKeys | None:
    """Readers for arguments of the types of ``arguments``; None if one of them has to be looked at each time."""
    kinds = [_kind(argument) for argument in arguments]
    frameworks = {kind for kind in kinds if kind in _ADDRESS}
    if None in kinds or len(frameworks) != 1:
        return None
    (framework,) = frameworks
    names = [f"a{index}" for index in range(len(kinds))]

    def expressions(table: dict[str, str], default: Callable[[int, str, str], str]) -> str:
        parts = [
            table[kind].format(a=name) if kind in table else default(index, kind, name)
            for index, (kind, name) in enumerate(zip(kinds, names, strict=True))
            if kind is not None
        ]
        return "".join(f"{part}, " for part in parts if part)

    def if_static(index: int, kind: str, name: str) -> str:
        return _KEY[kind].format(a=name) if index in static_scalars else ""

    given = ", ".join(names)
    types = "".join(f"type({name}), " for name in names)
    source = (
        f"lambda grid, block, {given}: (grid, block, {types}{expressions(_KEY, lambda i, k, n: n)})",
        f"lambda grid, block, {given}: (grid, block, {expressions(_STATIC, if_static)})",
        f"lambda {given}: ({expressions(_ADDRESS, lambda i, k, n: n)})",
    )
    key, static, addresses = (eval(text, {"bits": struct.Struct("<d").pack}) for text in source)
    return FastKeys(key, static, addresses, _current_stream(framework))


def may_be_negated(view: ArrayView) -> bool:
    """Whether another PyTorch tensor could have the same key and be its lazy negation.

    That is the imaginary part of a conjugated complex tensor: floats whose strides are all even. Asking each tensor
    at each launch would cost more than it is worth, so these always take the slow path.
    """
    if view.framework != "torch" or view.dtype is None or view.dtype.kind != "f":
        return False
    return all(stride % 2 == 0 for extent, stride in zip(view.shape, view.strides, strict=True) if extent > 1)


def _kind(argument: Any) -> str | None:
    kind = type(argument)
    if kind is int or kind is bool:
        return "int"
    if kind is float:
        return "float"
    if isinstance(argument, np.generic):
        return "numpy"
    framework = framework_of(kind)
    on_gpu = framework == "cupy" or (framework == "torch" and argument.is_cuda)
    return framework if on_gpu else None


def _current_stream(framework: str) -> Callable[[int], int]:
    if framework == "torch":
        return sys.modules["torch"]._C._cuda_getCurrentRawStream
    current = sys.modules["cupy"].cuda.get_current_stream
    return lambda ordinal: current(ordinal).ptr
