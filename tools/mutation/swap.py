"""Changed functions put in the place of those that are loaded, so that no module has to be imported anew."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from pathlib import Path


class CannotSwap(Exception):
    """The change is not inside a function, or changes what the function closes over."""


def swap(file: Path, before: bytes, after: bytes) -> None:
    """Give every function of ``file`` that ``after`` changes its new code; support.in_process forgets old results."""
    old, new = (compile(source, str(file), "exec", dont_inherit=True) for source in (before, after))
    if _own_code(old) != _own_code(new):
        raise CannotSwap
    changed: dict[tuple[str, int], types.CodeType] = {}
    old_ones, new_ones = dict(_functions(old)), dict(_functions(new))
    if old_ones.keys() != new_ones.keys():
        raise CannotSwap
    for name, code in old_ones.items():
        if code.co_flags & 0x2 and not _same(code, new_ones[name]):  # 0x2: code of a function, not of a class
            changed[name] = new_ones[name]
        elif not code.co_flags & 0x2 and _own_code(code) != _own_code(new_ones[name]):
            raise CannotSwap
    by_place = {(old_ones[name].co_name, old_ones[name].co_firstlineno): code for name, code in changed.items()}
    swapped = 0
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == str(file):
            made = by_place.get((each.__code__.co_name, each.__code__.co_firstlineno))
            if made is not None:
                if len(made.co_freevars) != len(each.__code__.co_freevars):
                    raise CannotSwap
                each.__code__ = made
                swapped += 1
    if not swapped:
        raise CannotSwap


def _functions(code: types.CodeType) -> Iterator[tuple[tuple[str, int], types.CodeType]]:
    """All code below ``code`` by its name, and which one of that name it is in the order of the text."""
    counts: dict[str, int] = {}

    def walk(outer: types.CodeType) -> Iterator[tuple[tuple[str, int], types.CodeType]]:
        for each in outer.co_consts:
            if isinstance(each, types.CodeType):
                number = counts.get(each.co_name, 0)
                counts[each.co_name] = number + 1
                yield (each.co_name, number), each
                yield from walk(each)

    return walk(code)


def _own_code(code: types.CodeType) -> tuple[object, ...]:
    """What the code itself does, without the functions in it."""
    constants = tuple((type(each), each) for each in code.co_consts if not isinstance(each, types.CodeType))
    return code.co_code, code.co_names, code.co_varnames, constants


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    inner = [[each for each in code.co_consts if isinstance(each, types.CodeType)] for code in (one, other)]
    return (
        _own_code(one) == _own_code(other)
        and len(inner[0]) == len(inner[1])
        and all(_same(*pair) for pair in zip(*inner, strict=True))
    )
