"""What tells two launches apart, read as fast as Python can: one generated function per combination of types.

A call of ``key`` reads everything a prepared launch depends on, so a freed and re-used address, a resized tensor or a
view with other strides can never meet a stale descriptor.
"""

from __future__ import annotations

import operator
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import ArrayView, framework_of

_READS = {
    "torch": ("{a}.data_ptr()", "{a}.shape", "{a}.stride()", "{a}.dtype"),
    "cupy": ("{a}.data.ptr", "{a}.shape", "{a}.strides", "{a}.dtype"),
    "int": ("{a}",),
    # -0.0 equals 0.0 and NaN equals nothing: bits, not values.
    "float": ("bits({a})",),
    "numpy": ("{a}.tobytes()",),
}
"""What is read of an argument of each kind. Of an array the address comes first; addresses on different GPUs differ."""

_DEVICE = {"torch": "{a}.get_device()", "cupy": "{a}.device.id"}


@dataclass(frozen=True)
class FastKeys:
    """Readers of an argument list.

    ``key(extent, block, *arguments)``: everything a launch depends on, types included. ``static(key)``: all of it but
    addresses and the scalars no descriptor depends on. ``addresses``: (argument, position in the key) of each array.
    ``places(*arguments)``: the device of each array. ``current_stream(ordinal)``: the framework's, as a number.
    """

    key: Callable[..., tuple]
    static: Callable[[tuple], tuple]
    addresses: tuple[tuple[int, int], ...]
    places: Callable[..., tuple]
    current_stream: Callable[[int], int]


def fast_keys(arguments: Sequence[Any], static_scalars: frozenset[int]) -> FastKeys | None:
    """Readers for arguments of the types of ``arguments``; None if one of them has to be looked at each time."""
    kinds = [_kind(argument) for argument in arguments]
    frameworks = {kind for kind in kinds if kind in _DEVICE}
    if len(frameworks) != 1:
        return None
    (framework,) = frameworks
    names = [f"a{index}" for index in range(len(kinds))]
    parts = ["extent", "block", *(f"type({name})" for name in names)]
    static, addresses, places = list(range(len(parts))), [], []
    for index, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        if kind is None:
            return None
        first = len(parts)
        parts += [read.format(a=name) for read in _READS[kind]]
        if kind in _DEVICE:
            addresses.append((index, first))
            places.append(_DEVICE[kind].format(a=name))
            static += range(first + 1, len(parts))
        elif index in static_scalars:
            static.append(first)
    given = ", ".join(names)
    known = {"bits": struct.Struct("<d").pack}
    return FastKeys(
        key=eval(f"lambda extent, block, {given}: ({', '.join(parts)})", known),
        static=operator.itemgetter(*static),
        addresses=tuple(addresses),
        places=eval(f"lambda {given}: ({', '.join(places)},)"),
        current_stream=_current_stream(framework),
    )


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
