"""The grammar of textual pass pipelines: ``anchor(pass{option=value},nested.anchor(...),...)``.

The same language as ``mlir-opt --pass-pipeline``. Text in, tree out; nothing here knows which passes exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias


class PipelineError(ValueError):
    """Pipeline text that means nothing, with the place: ``column`` counts from 1 in ``text``."""

    def __init__(self, message: str, text: str, column: int):
        before = text[: column - 1]
        self.message = message
        self.line = before.count("\n") + 1
        self.column = column - (before.rfind("\n") + 1)
        source = text.split("\n")[self.line - 1]
        self.snippet = f"{source}\n{' ' * (self.column - 1)}^"
        super().__init__(f"<pipeline>:{self.line}:{self.column}: error: {message}\n{self.snippet}")


@dataclass(frozen=True)
class PassCall:
    """A pass or a pipeline by name. ``options`` is the text between its braces."""

    name: str
    options: str
    column: int
    options_column: int = 0

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@dataclass(frozen=True)
class Nest:
    """``anchor(...)``: a row of passes run on every operation of that name directly inside."""

    anchor: str
    elements: tuple[Element, ...]
    column: int

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.elements))})"


Element: TypeAlias = "PassCall | Nest"

MOST_NESTED = 100
"""Anchors inside each other; no IR has so many levels of operations that passes run on."""

_NAME = re.compile(r"[\w.$-]+")
_SPACE = re.compile(r"\s*")


def parse_anchored(text: str) -> Nest:
    """The tree of a whole pipeline. ``PipelineError`` unless it is ``anchor(...)``."""
    elements = parse_elements(text)
    if len(elements) != 1 or not isinstance(elements[0], Nest):
        message = "expected a pass pipeline wrapped with its anchor operation, as in 'builtin.module(...)'"
        raise PipelineError(message, text, 1)
    return elements[0]


def parse_elements(text: str) -> tuple[Element, ...]:
    """The trees of a row of passes without an anchor around it (the empty row included)."""
    _check_depth(text)
    elements, end = _elements(text, 0)
    if end < len(text):
        raise PipelineError("this ')' closes nothing", text, end + 1)
    return elements


def _check_depth(text: str) -> None:
    """Text and tree are read by functions that call themselves for what is nested."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth > MOST_NESTED:
            raise PipelineError(f"more than {MOST_NESTED} anchors inside each other", text, at + 1)


def _elements(text: str, at: int) -> tuple[tuple[Element, ...], int]:
    """Elements up to the end of ``text`` or a ')' nobody opened, and where that is."""
    elements: list[Element] = []
    at = _skip(text, at)
    if at == len(text) or text[at] == ")":
        return (), at
    while True:
        element, at = _element(text, _skip(text, at))
        elements.append(element)
        at = _skip(text, at)
        if at == len(text) or text[at] == ")":
            return tuple(elements), at
        if text[at] != ",":
            raise PipelineError(f"expected ',' or ')' after '{_head(element)}'", text, at + 1)
        at += 1


def _element(text: str, at: int) -> tuple[Element, int]:
    name = _NAME.match(text, at)
    if not name:
        found = f"'{text[at]}'" if at < len(text) else "the end"
        raise PipelineError(f"expected the name of a pass or an anchor operation, found {found}", text, at + 1)
    after = _skip(text, name.end())
    opener = text[after : after + 1]
    if opener == "(":
        elements, end = _elements(text, after + 1)
        if end == len(text):
            raise PipelineError(f"the '(' after '{name[0]}' is never closed", text, after + 1)
        return Nest(name[0], elements, at + 1), end + 1
    if opener == "{":
        end = _closing_brace(text, after)
        return PassCall(name[0], text[after + 1 : end].strip(), at + 1, after + 2), end + 1
    return PassCall(name[0], "", at + 1), name.end()


def split_options(call: PassCall, text: str) -> Iterator[tuple[str, str | None, int]]:
    """``(name, value, column)`` of each option in ``call``; ``text`` is the pipeline the call stands in.

    Options are separated by white space; a value may be quoted (' or ") or braced, and is None without '='.
    """
    options = call.options
    shift = _skip(text, call.options_column - 1) + 1 if options else 0
    at = 0
    while at < len(options):
        name = _NAME.match(options, at)
        if not name:
            raise PipelineError(f"expected an option of '{call.name}', found '{options[at]}'", text, shift + at)
        end, value = name.end(), None
        if options[end : end + 1] == "=":
            start = end + 1
            end = _value_end(options, start)
            value = _unquote(options[start:end])
        elif end < len(options) and not options[end].isspace():
            raise PipelineError(f"expected '=' or white space after option '{name[0]}'", text, shift + end)
        yield name[0], value, shift + at
        at = _skip(options, end)


def quote(value: str) -> str:
    """``value`` as option text that ``split_options`` reads back."""
    if value and not re.search(r"[\s'\"{}]", value):
        return value
    for mark in "\"'":
        if mark not in value:
            return f"{mark}{value}{mark}"
    return f"{{{value}}}"


def _value_end(options: str, at: int) -> int:
    while at < len(options) and not options[at].isspace():
        at = _after_token(options, at)
    return at


def _unquote(value: str) -> str:
    whole = len(value) >= 2 and _after_token(value, 0) == len(value)
    return value[1:-1] if whole and value[0] in "'\"{" else value


def _after_token(text: str, at: int) -> int:
    """Just after the quotation, the braces or the single character at ``at``."""
    if text[at] in "'\"":
        end = text.find(text[at], at + 1)
        return len(text) if end < 0 else end + 1
    if text[at] != "{":
        return at + 1
    at += 1
    while at < len(text) and text[at] != "}":
        at = _after_token(text, at)
    return min(at + 1, len(text))


def _closing_brace(text: str, opening: int) -> int:
    at = opening + 1
    while at < len(text) and text[at] != "}":
        start, at = at, _after_token(text, at)
        if text[start] in "'\"" and (at == start + 1 or text[at - 1] != text[start]):
            raise PipelineError("this quotation is never closed", text, start + 1)
    if at >= len(text):
        raise PipelineError("this '{' is never closed", text, opening + 1)
    return at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _head(element: Element) -> str:
    return element.anchor if isinstance(element, Nest) else element.name


def join(elements: Sequence[object]) -> str:
    return ",".join(map(str, elements))
