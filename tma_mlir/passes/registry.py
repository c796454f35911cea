"""How passes and pipelines written in Python are declared and found.

A pass is one file named as its flag: ``tile-plan-copies`` is ``passes/tile_plan_copies.py``, which holds

    PASS = Pass("tile-plan-copies", "Give every copy its plan.", run, options=(Option("budget", int, 8, "..."),))

and a pipeline is a file holding ``PIPELINE = Pipeline(...)``. Files are imported when their name is first used.
Other packages add theirs with ``register``.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..bindings import ir


@dataclass(frozen=True)
class Option:
    """An option of a pass: ``name=value`` in pipeline text.

    ``type`` is ``int``, ``float``, ``bool`` or ``str``; ``choices``, if given, are the values allowed.
    """

    name: str
    type: type = str
    default: Any = None
    help: str = ""
    choices: tuple[Any, ...] = ()

    def parse(self, text: str | None) -> Any:
        """The typed value of ``text`` (None is an option written without ``=``: true). ``ValueError`` if illegal."""
        if text is None:
            if self.type is not bool:
                raise ValueError(f"option '{self.name}' needs a value: {self.name}=<{self.type.__name__}>")
            return True
        try:
            value = _BOOLEANS[text.lower()] if self.type is bool else self.type(text)
        except (ValueError, KeyError):
            raise ValueError(f"option '{self.name}' takes {_KINDS[self.type]}, not '{text}'") from None
        if self.choices and value not in self.choices:
            allowed = ", ".join(map(str, self.choices))
            raise ValueError(f"option '{self.name}' is one of {allowed}; not '{text}'")
        return value


_BOOLEANS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
_KINDS: dict[type, str] = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


@dataclass(frozen=True)
class Pass:
    """A transformation of the operation it is anchored on.

    ``run(op, options)`` gets every declared option, defaults filled in; it raises ``TileError`` or ``TileErrors`` to
    fail. ``anchor`` is the operation the pass must run on ("" is any).
    """

    argument: str
    summary: str
    run: Callable[[ir.Operation, Mapping[str, Any]], None]
    options: tuple[Option, ...] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Pipeline:
    """A name for a row of passes.

    ``build(options)`` gives their textual form, without an anchor around it: ``a,gpu.module(b,c{x=1})``.
    ``anchor`` is the operation the row runs on.
    """

    argument: str
    summary: str
    build: Callable[[Mapping[str, Any]], str]
    options: tuple[Option, ...] = ()
    anchor: str = ""


_registered: dict[str, Pass | Pipeline] = {}
_FLAG = re.compile(r"[a-z][a-z0-9-]*")


def register(*entries: Pass | Pipeline) -> None:
    """Make passes of another package known under their arguments.

    ``ValueError`` if the name is taken or cannot be a flag, ``TypeError`` for anything but a pass or a pipeline.
    """
    for entry in entries:
        _check_entry(entry)
        if find(entry.argument) not in (None, entry):
            raise ValueError(f"a pass or pipeline named '{entry.argument}' exists already")
        _registered[entry.argument] = entry


def _check_entry(entry: Any) -> None:
    if not isinstance(entry, Pass | Pipeline):
        raise TypeError(f"a {type(entry).__qualname__} is not a Pass or a Pipeline")
    if not isinstance(entry.argument, str) or not isinstance(entry.anchor, str):
        raise TypeError("the argument and the anchor of a pass are text")
    if not _FLAG.fullmatch(entry.argument):
        raise ValueError(f"{entry.argument!r} cannot be a flag: a small letter, then small letters, digits and -")
    if not callable(entry.run if isinstance(entry, Pass) else entry.build):
        raise TypeError(
            f"'{entry.argument}' needs a function that {'runs' if isinstance(entry, Pass) else 'builds'} it"
        )
    if not isinstance(entry.options, tuple) or not all(isinstance(each, Option) for each in entry.options):
        raise TypeError(f"the options of '{entry.argument}' are a tuple of Option")


def find(argument: str) -> Pass | Pipeline | None:
    """The Python pass or pipeline called ``argument``; None when there is none (it may be one of MLIR's)."""
    return _registered.get(argument) or _load(argument)


def entries() -> list[Pass | Pipeline]:
    """Every Python pass and pipeline, sorted by argument. Imports all their files."""
    found = (find(name) for name in {*_files(), *_registered})
    return sorted((entry for entry in found if entry), key=lambda entry: entry.argument)


def bind(entry: Pass | Pipeline, given: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
    """Values of all of ``entry``'s options: ``given`` (name, text) pairs parsed, defaults for the rest.

    ``ValueError`` names an unknown option and the nearest known one, or an illegal value.
    """
    declared = {option.name: option for option in entry.options}
    values = {option.name: option.default for option in entry.options}
    for name, text in given:
        if name not in declared:
            hint = suggest(name, declared, "it has no options")
            raise ValueError(f"'{entry.argument}' has no option '{name}'{hint}")
        values[name] = declared[name].parse(text)
    return values


def suggest(name: str, known: Iterable[str], none: str = "") -> str:
    """``"; did you mean 'x'?"`` for the nearest of ``known``, else a list of a few, else ``none``."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean '{near[0]}'?"
    if not names:
        return f"; {none}" if none else ""
    return f"; known: {', '.join(names)}" if len(names) <= 12 else ""


@functools.cache
def _files() -> dict[str, str]:
    """Module names of this folder by flag. Not all of them hold a pass."""
    names = (path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return {name.replace("_", "-"): name for name in names}


@functools.cache
def _load(argument: str) -> Pass | Pipeline | None:
    if not _FLAG.fullmatch(argument) or argument not in _files():
        return None
    module = importlib.import_module(f".{_files()[argument]}", __package__)
    entry = getattr(module, "PASS", None) or getattr(module, "PIPELINE", None)
    if entry is not None and entry.argument != argument:
        raise ValueError(f"{module.__file__} is named '{argument}' but declares '{entry.argument}'")
    return entry
