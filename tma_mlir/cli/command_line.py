"""Reads a command line as LLVM's tools do: one dash or two, ``--flag=value`` or ``--flag value``, values of booleans
and optional values only after ``=``, ``--`` before what is not a flag. Imports no MLIR."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .program import UsageError


@dataclass(frozen=True)
class Flag:
    """One flag. ``kind`` is "bool", "value" (needs one), "optional" (``otherwise`` is the value of the flag alone) or
    "list" (each time some values more, with commas between them). ``read`` makes a value of text; ``ValueError``."""

    name: str
    kind: str
    help: str
    default: Any = None
    value_name: str = "VALUE"
    choices: tuple[str, ...] = ()
    otherwise: Any = None
    read: Callable[[str], Any] = str
    alias: str = ""

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    def value(self, text: str | None) -> Any:
        """The value of ``text``, which is None for the flag alone."""
        if text is None:
            return self.otherwise
        if self.kind == "bool":
            return boolean(f"--{self.name}", text)
        if self.choices and text not in self.choices:
            raise UsageError(f"--{self.name} is one of {', '.join(self.choices)}; not '{text}'")
        try:
            return self.read(text)
        except ValueError as error:
            raise UsageError(f"--{self.name}: {error}") from None

    def shown(self) -> str:
        """The flag as help shows it."""
        dashes = "-" if len(self.name) == 1 else "--"
        value = "|".join(self.choices) or self.value_name
        if self.kind == "bool":
            return dashes + self.name
        return f"{dashes}{self.name}[={value}]" if self.kind == "optional" else f"{dashes}{self.name}={value}"


@dataclass
class Arguments:
    """What was read: a value for each flag, the other flags as they stand but with two dashes, and the rest."""

    options: SimpleNamespace
    others: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)


def by_name(flags: Sequence[Flag]) -> dict[str, Flag]:
    """``flags`` by their names and aliases."""
    return {name: each for each in flags for name in (each.name, each.alias) if name}


def read(arguments: Sequence[str], flags: Mapping[str, Flag]) -> Arguments:
    """``UsageError`` for a value that is missing or wrong."""
    given = Arguments(SimpleNamespace())
    for flag in flags.values():
        setattr(given.options, flag.attribute, list(flag.default or ()) if flag.kind == "list" else flag.default)
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            given.rest.extend(left)
        elif argument == "-" or not argument.startswith("-"):
            given.rest.append(argument)
        else:
            name, equals, text = re.sub("^--?", "", argument).partition("=")
            flag = flags.get(name)
            if flag is None:
                given.others.append(re.sub("^--?", "--", argument))
                continue
            _take(given.options, flag, text if equals else None, left)
    return given


def _take(options: SimpleNamespace, flag: Flag, text: str | None, left: Any) -> None:
    if text is None and flag.kind in ("value", "list"):
        text = next(left, None)
        if text is None:
            raise UsageError(f"--{flag.name} needs a value: {flag.shown()}")
    if flag.kind == "list":
        getattr(options, flag.attribute).extend((text or "").split(","))
    else:
        setattr(options, flag.attribute, True if text is None and flag.kind == "bool" else flag.value(text))


def boolean(flag: str, text: str) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in known:
        raise UsageError(f"{flag} takes true or false, not '{text}'")
    return known[text.lower()]


def number(text: str) -> int:
    """A count, for ``Flag.read``."""
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError(f"'{text}' is not a number from 0 up")
    return int(text)


def help_text(flags: Sequence[Flag], width: int = 36) -> str:
    """A line or two for each flag."""
    lines = []
    for flag in flags:
        shown = flag.shown() + (f", -{flag.alias}" if flag.alias else "")
        lines += (
            [f"  {shown}", " " * width + flag.help] if len(shown) > width - 4 else [f"  {shown:{width - 2}}{flag.help}"]
        )
    return "\n".join(lines)
