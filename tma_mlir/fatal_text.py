"""Text that MLIR 22's parser does not survive, found before it reads it. Imports no MLIR.

Each of these ends the process in an assertion or overflows its stack. What is fatal only later is found in the parsed
module, by ``tile-check-limits``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from math import prod
from operator import sub

from .diagnostics import Diagnostic, Place

MAX_NESTING = 500
"""Brackets inside brackets; MLIR's parser recurses and overflows an 8 MiB stack at 2,000 to 4,000."""


def text_error(text: str, name: str) -> Diagnostic | None:
    """The error for text that MLIR 22's parser does not survive; None for any other. ``name``: of the file."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the letter {text[error.start]!r} is half of one and is not in UTF-8. Correct it"
        return Diagnostic("error", place_in(text, name, error.start), message)
    for find in (_too_deep, *_FINDERS):
        found = find(text)
        if found is not None:
            at, message = found
            return Diagnostic("error", place_in(text, name, at), message)
    return None


def place_in(text: str, name: str, offset: int) -> Place:
    """Where ``text[offset]`` is; columns are in bytes, as MLIR's."""
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return Place(name, text.count("\n", 0, offset) + 1, len(before.encode(errors="surrogatepass")) + 1)


Found = tuple[int, str] | None
"""An offset, and what is wrong there."""

SKIPPED = r'"(?:[^"\\\n]|\\.)*"|//[^\n]*'
"""Strings and comments."""
_BRACKETS = re.compile(SKIPPED + r"|->|[<>]=|([\[({<])|([\])}>])")
_NOT_BRACKETS = re.compile(SKIPPED + r"|->|[<>]=|[^\[\](){}<>\"/<>-]+|[/\"-]")
_STEP = {**dict.fromkeys("[({<", 1), **dict.fromkeys("])}>", -1)}


def _too_deep(text: str) -> Found:
    """Where brackets are nested deeper than ``MAX_NESTING``."""
    if sum(map(text.count, "[({<")) <= MAX_NESTING:
        return None
    # First without a loop in Python, which says no for almost all text. Closing brackets too many count for nothing.
    brackets = _NOT_BRACKETS.sub("", text)
    depths = list(accumulate(map(_STEP.__getitem__, brackets), initial=0))
    if max(map(sub, depths, accumulate(depths, min))) <= MAX_NESTING:
        return None
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[1]:
            depth += 1
            if depth > MAX_NESTING:
                return found.start(), f"brackets are nested more than {MAX_NESTING} deep. Nest less, or outline parts"
        elif found[2]:
            depth = max(depth - 1, 0)
    return None


def _unquoted(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Matches of ``pattern``, whose first group is never empty, outside of strings and comments."""
    if not re.search(pattern, text):  # many times faster, and so for almost all text
        return
    yield from (found for found in re.finditer(f"{SKIPPED}|{pattern}", text) if found[1])


def _array_of_index(text: str) -> Found:
    """The parser asks an index type for its width."""
    for found in _unquoted(r"(array)\s*<\s*index\b", text):
        return found.start(), "elements of an array<...> are integers or floats, not index. Write array<i64: ...>"
    return None


_MMA = r"(nvgpu\.mma\.(?:sp\.)?sync)\b[^{}]{0,10000}\{[^{}]*\bmmaShape\s*=\s*\[([^\]]*)\]"
_MMA_SHAPE_LENGTH = 3


def _mma_shape(text: str) -> Found:
    """The verifier of nvgpu.mma.sync reads three numbers without counting them."""
    for found in _unquoted(_MMA, text):
        numbers = [each for each in found[2].split(",") if each.strip()]
        if len(numbers) != _MMA_SHAPE_LENGTH:
            message = f"mmaShape has {len(numbers)} numbers; needed: {_MMA_SHAPE_LENGTH}, rows, columns and depth"
            return found.start(), f"{message} of the product. Write mmaShape = [m, n, k]"
    return None


_STORED_TO = re.compile(SKIPPED + r"|(nvgpu\.warpgroup\.mma\.store)[^\n]*?\bto\s+(![\w.$-]+|memref<[^\n]*)")
_STORED_TO_GENERIC = re.compile(r'"nvgpu\.warpgroup\.mma\.store"[^\n]*?,\s*(![\w.$-]+|memref<[^\n)]*)\s*\)\s*->')
_ALIAS = re.compile(r"^[^\S\n]*(![\w.$-]+)\s*=\s*(\S[^\n]*)", re.MULTILINE)
_RANK_BELOW_2 = re.compile(r"memref<\s*(?:[\d?]+x)?(?![\d?*])")


def _mma_store(text: str) -> Found:
    """The verifier of nvgpu.warpgroup.mma.store asks a memref of rank 0 or 1 for two extents."""
    if "nvgpu.warpgroup.mma.store" not in text:
        return None
    aliases = dict(_ALIAS.findall(text))
    stores = [(each, each[2]) for each in _STORED_TO.finditer(text) if each[1]]
    stores += [(each, each[1]) for each in _STORED_TO_GENERIC.finditer(text)]
    for found, type_ in stores:
        if _RANK_BELOW_2.match(aliases.get(type_, type_)):
            message = "'nvgpu.warpgroup.mma.store' op stores into a memref of rank 0 or 1; needed: rank 2, the rows and"
            return found.start(), f"{message} columns of the accumulator"
    return None


def _accumulator(text: str) -> Found:
    """Operations on accumulators ask their vector for two extents."""
    for found in _unquoted(r"(fragmented)\s*=\s*vector<\s*\d+x(?!\d)", text):
        message = "an accumulator of rank 1; needed: rank 2, rows and columns"
        return found.start(), f"{message}. Write fragmented = vector<64xNxf32>"
    return None


def _descriptor(text: str) -> Found:
    """Operations on descriptors ask their tensor for its last extent."""
    for found in _unquoted(r"tensormap\.descriptor<\s*(tensor)\s*=\s*memref<\s*(?![\d?*])", text):
        return (
            found.start(),
            "a descriptor of a tensor of rank 0; needed: rank 1 to 5. Give it a dimension of 1",
        )
    return None


def _address_space(text: str) -> Found:
    """The parser of llvm.mlir.global reads addr_space as an integer, whatever it is."""
    for line in _unquoted(r"(llvm\.mlir\.global)\b[^\n]*", text):
        for found in _unquoted(r"\b(addr_space)\b(?!\s*=\s*\d)", line[0]):
            message = "addr_space of 'llvm.mlir.global' is an integer. Write addr_space = 3 : i32"
            return line.start() + found.start(), message
    return None


def _position(text: str) -> Found:
    """The parser of llvm.extractvalue takes positions for numbers of 32 bits."""
    for found in _unquoted(r"llvm\.(extract|insert)value\b[^\[\n]*\[[^\]\n]*\d{10}", text):
        return found.start(), f"a position in llvm.{found[1]}value that no aggregate has. Correct it"
    return None


_LARGEST = 2**63 - 1


def _size(text: str) -> Found:
    """Types count their elements in 64 bits and assert that these suffice."""
    for found in re.finditer(rf"{SKIPPED}|<\s*((?:(?:\d+|\?)x){{2,}})", text):
        if found[1] and len(found[1]) > _DIGITS:
            # A dimension of nothing does not help: strides are made of the others.
            count = prod(int(each) or 1 for each in found[1].split("x") if each.isdigit())
            if count > _LARGEST:
                return found.start(1), f"a type of {count} elements; it has to fit 63 bits. Use a smaller shape"
    return None


_DIGITS = len(str(_LARGEST))

_FINDERS: tuple[Callable[[str], Found], ...] = (
    _array_of_index,
    _mma_shape,
    _mma_store,
    _accumulator,
    _descriptor,
    _address_space,
    _position,
    _size,
)


def type_problem(text: str) -> str | None:
    """Why a type, as MLIR prints it, makes MLIR abort where it is used; None for most. For types made in other ways
    than from text."""
    found = next(filter(None, (find(text) for find in (_accumulator, _descriptor, _size))), None)
    return None if found is None else found[1]


_UNQUOTED_TILE = re.compile(SKIPPED + r"|(?<![\w#!@%$.])(tile\.\w+)")


def silent_failure(program: str | bytes, name: str) -> Diagnostic:
    """The error for a program that MLIR refuses without a word: an IRDL operation written without quotes, or damaged
    bytecode."""
    if isinstance(program, bytes):
        return Diagnostic("error", Place(name, 1, 1), "MLIR cannot read this bytecode and does not say why")
    for found in _UNQUOTED_TILE.finditer(program):
        if found[1]:
            message = f'{found[1]} has no custom syntax; write it in the generic form: "{found[1]}"(operands) '
            message += "{attributes} : (operand types) -> ()"
            return Diagnostic("error", place_in(program, name, found.start()), message)
    return Diagnostic("error", Place(name, 1, 1), "MLIR cannot parse this input and does not say why")
