"""How an array is written on the command line: ``KIND[@SHAPE][:OPTION=VALUE...]`` or ``FILE.npy[[SLICES]][:...]``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

KINDS = (
    "FILE.npy, zeros, iota, random:SEED, small:SEED (each with @64x128 for dynamic shapes, @64x128xf32 for what a "
    "pointer points to), or a number for a scalar; numbers with commas for a vector or struct"
)
"""What ``--arg`` takes."""


class ArgumentError(ValueError):
    """An argument does not fit the kernel; the message says which, why and what would."""


@dataclass(frozen=True)
class ArraySpec:
    """``text``: all of it, for messages. ``file`` or ``kind``; ``shape`` as written; ``window``: slices of a file's
    array, None for all of it; ``options`` by name, as written."""

    text: str
    kind: str = ""
    file: str = ""
    shape: str = ""
    window: tuple[slice | int, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)


_OPTIONS = re.compile(r"(.*?)((?::[a-z]+=[^:=]*)*)", re.DOTALL)
_FILE = re.compile(r"(.*\.npy)(?:\[(.*)\])?", re.DOTALL)


def read_spec(flag: str, text: str, known: Collection[str], *, always_file: bool = False) -> ArraySpec:
    """``text`` of ``flag`` (``--arg 0``) taken apart; ``known`` options. A file is known by ``.npy``, unless nothing
    else is meant (``always_file``). Raises ``ArgumentError``."""
    found = _OPTIONS.fullmatch(text)
    assert found is not None  # both parts may be empty
    options: dict[str, str] = {}
    for each in found[2].split(":")[1:]:
        name, _, value = each.partition("=")
        if name not in known:
            hint = f"; known: {', '.join(known)}" if known else ". Drop it"
            raise ArgumentError(f"{flag}={text}: there is no option {name!r} here{hint}")
        options[name] = value
    file = _FILE.fullmatch(found[1])
    if file is None and always_file:
        return ArraySpec(text, file=found[1], options=options)
    if file is not None:
        window = None if file[2] is None else tuple(_slice(flag, text, part) for part in file[2].split(","))
        return ArraySpec(text, file=file[1], window=window, options=options)
    if found[1].endswith((".npz", ".csv", ".txt", ".pt", ".bin")):
        raise ArgumentError(f"{flag}={text}: arrays are read from .npy files. Write one with numpy.save")
    kind, _, shape = found[1].partition("@")
    return ArraySpec(text, kind=kind, shape=shape, options=options)


def _slice(flag: str, text: str, part: str) -> slice | int:
    """``3``, ``8:40``, ``::2``."""
    try:
        numbers = [int(each) if each.strip() else None for each in part.split(":")]
        if len(numbers) > 3 or (len(numbers) == 1 and numbers[0] is None):
            raise ValueError
    except ValueError:
        raise ArgumentError(
            f"{flag}={text}: {part!r} is not a slice; write [8:40,0:64], one for each dimension"
        ) from None
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    made = slice(*numbers)
    if made.step is not None and made.step < 1:
        raise ArgumentError(
            f"{flag}={text}: the step of {part!r} is {made.step}; needed: at least 1. A tensor cannot be walked "
            "backwards: save the array in the order you want (a[::-1].copy())"
        )
    return made
