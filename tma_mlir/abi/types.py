"""Types that are passed by value or lie in memory: parsed from MLIR's text, laid out as LLVM does it for NVPTX.

Alignments are those of NVPTX's data layout: integers up to 256 bits, floats and pointers their size, vectors the next
power of two of theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..dtypes import DTYPES

WIDTHS = (1, 8, 16, 32, 64, 128, 256)
"""Bits of the integers that have a place of their own in memory; others lie in the next wider one."""


@dataclass(frozen=True)
class Type:
    """``kind``: int, float, ptr, vector, array, struct or token. ``dtype``: NumPy type of one scalar element.

    ``size`` in bytes is what a store writes, ``align`` the alignment. ``bits`` for int; ``space`` for ptr; ``name`` is
    MLIR's of an int or a float; ``count``/``fields`` for aggregates.
    """

    kind: str
    size: int
    align: int
    dtype: Any = None
    bits: int = 0
    space: int = 0
    count: int = 0
    fields: tuple[Type, ...] = ()
    offsets: tuple[int, ...] = ()
    name: str = ""

    @property
    def stride(self) -> int:
        """Bytes from one of them to the next, and of a parameter: the size up to the alignment."""
        return -(-self.size // self.align) * self.align

    @property
    def element(self) -> Type:
        return self.fields[0]

    @property
    def is_aggregate(self) -> bool:
        return self.kind in ("array", "struct")


def integer(bits: int, sign: str = "") -> Type:
    """``sign``: ``s`` or ``u``; empty for a signless one."""
    name = f"{sign}i{bits}"
    if bits == 1:
        return Type("int", 1, 1, np.dtype(bool), 1, name=name)
    width = next((w for w in WIDTHS if bits <= w), None)
    if width is None:
        raise ValueError(name)
    size = max(width // 8, 1)
    dtype = np.dtype(f"i{size}") if size <= 8 else np.dtype(object)
    return Type("int", size, size, dtype, bits, name=name)


def pointer(space: int) -> Type:
    # Every pointer is held in 64 bits; in memory those to shared memory take 8 as well (no short pointers).
    return Type("ptr", 8, 8, np.dtype(np.int64), 64, space)


def vector(count: int, element: Type) -> Type:
    size = count * element.size
    align = 1 << max(0, (size - 1).bit_length())
    return Type("vector", size, align, element.dtype, element.bits, count=count, fields=(element,))


def array(count: int, element: Type) -> Type:
    return Type("array", count * element.stride, element.align, count=count, fields=(element,))


def struct(fields: tuple[Type, ...], packed: bool) -> Type:
    offsets, end, align = [], 0, 1
    for item in fields:
        step = 1 if packed else item.align
        end = -(-end // step) * step
        offsets.append(end)
        end += item.stride
        align = max(align, step)
    return Type("struct", -(-end // align) * align, align, count=len(fields), fields=fields, offsets=tuple(offsets))


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """The type MLIR prints as ``text``; ``ValueError`` names what is not known."""
    parser = _Parser(text)
    result = parser.parse()
    if parser.rest():
        raise ValueError(f"type {text}: unexpected {parser.rest()!r}")
    return result


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.at = 0

    def rest(self) -> str:
        return self.text[self.at :].strip()

    def take(self, pattern: str) -> str | None:
        match = re.compile(r"\s*(" + pattern + ")").match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match.group(1)

    def need(self, pattern: str) -> str:
        found = self.take(pattern)
        if found is None:
            raise ValueError(f"type {self.text}: expected {pattern} at {self.text[self.at :]!r}")
        return found

    def parse(self) -> Type:
        self.take(r"!llvm\.")
        word = self.need(r"[A-Za-z][A-Za-z0-9_]*")
        if word in DTYPES and DTYPES[word].is_float:
            dtype = DTYPES[word].numpy
            return Type("float", dtype.itemsize, dtype.itemsize, dtype, name=word)
        if match := re.fullmatch(r"([su]?)i(\d+)", word):
            return integer(int(match[2]), match[1])
        if word == "ptr":
            space = 0
            if self.take("<"):
                space = int(self.need(r"\d+"))
                self.need(">")
            return pointer(space)
        if word in ("void", "token", "metadata"):
            return Type("token", 0, 1)
        if word == "index":
            return integer(64)
        if word == "complex":
            self.need("<")
            part = self.parse()
            self.need(">")
            return struct((part, part), False)
        if word in ("vector", "array", "vec"):
            self.need("<")
            counts = []
            while (count := self.take(r"\d+")) is not None:
                counts.append(int(count))
                self.need("x")
            element = self.parse()
            self.need(">")
            if word == "array" and len(counts) == 1:
                return array(counts[0], element)
            # Of a vector of several dimensions, the last is a vector and the others are arrays.
            made = vector(counts[-1] if counts else 1, element)
            for count in reversed(counts[:-1]):
                made = array(count, made)
            return made
        if word == "struct":
            self.need("<")
            self.take(r'"[^"]*"\s*,?')
            packed = self.take("packed") is not None
            self.need(r"\(")
            fields: list[Type] = []
            while not self.take(r"\)"):
                fields.append(self.parse())
                self.take(",")
            self.need(">")
            return struct(tuple(fields), packed)
        raise ValueError(f"type {self.text}: unknown {word!r}")
