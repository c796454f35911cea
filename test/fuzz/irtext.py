"""Programs with something changed, through the whole compiler.

Most changes keep types right: a number, an element type or a name is changed wherever it occurs, attributes of tile
operations are added, dropped and exchanged, operations without results are dropped, repeated and moved. Right are a
compiled kernel and ``CompileError`` with a place; never another exception, the end of the process, or a long time.

``python test/fuzz/irtext.py 2000`` prints how many of so many changed programs die in the parser.
"""

from __future__ import annotations

import functools
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from failure import Failure, of_exception  # noqa: E402
from programs import programs, staged  # noqa: E402

CHIPS = ("sm_90a", "sm_90", "sm_100a", "sm_120a")
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257,
           512, 1000, 4096, 65535, 65536, 2**24, 2**28, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1)  # fmt: skip
ELEMENTS = ("i1", "i4", "i8", "ui8", "i16", "i32", "ui32", "i64", "f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN",
            "f8E5M2", "f4E2M1FN", "f6E2M3FN", "index", "i128", "complex<f32>", "vector<2xf32>")  # fmt: skip
ATTRIBUTES = (
    'swizzle = #tile.swizzle<"32B">', 'swizzle = #tile.swizzle<"128B">', 'swizzle = #tile.swizzle<"128B_atom_32B">',
    'oob = "nan"', 'oob = "zero"', 'cache = "evict_first"', 'cache = "evict_last:0.5"', 'reduce = "add"',
    'reduce = "min"', 'variant = "tma"', 'variant = "bulk"', 'variant = "cp_async"', 'variant = "simt"',
    'scope = "cta"', 'scope = "warp"', "in_bounds", "expect_tx", "tf32", "padding_is_scratch", "cta_group = 2",
    "cluster_split = 2", "l2_promotion = 128", 'mode = "gather4"', 'mode = "im2col"', 'packing = "16B"',
    "assume = {source_offsets = [16, 16]}", "assume = {source_offsets = [{divisor = 8, min = 0, max = 100}, 1]}",
    'destination_layout = #tile.atoms<"64B">', "destination_layout = #tile.layout<[8, 8], [8, 1]>",
    "source_layout = #tile.layout<[64, 32], [1, 64]>", "explicit = {box = [64, 8]}", "announce_bytes = 64",
    "completion = 5", "sizes = array<i64>", "plan = 1", 'mbarrier_cta = "peer"', "oob = 3 : i32", "swizzle = 1",
    "im2col = {lower_corner = [0, 0], upper_corner = [0, 0]}",
)  # fmt: skip
_NUMBER = re.compile(r"(?<![\w%@#.!-])-?\d+(?=\D)(?!\.\d)")
_SHAPE_NUMBER = re.compile(r"(?<=[<x\[ ])\d+(?=[x\], >])")
_ELEMENT = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, ELEMENTS[:17]), key=len, reverse=True))})\b")
_TILE_DICTIONARY = re.compile(r'"tile\.\w+"\([^)]*\)\s*\{')
_ARRAY = re.compile(r"array<i(?:32|64)(?:: ([^>]*))?>")


@dataclass(frozen=True)
class Case:
    text: str
    chip: str
    assemble: bool


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    known = staged() if rng.random() < 0.25 else programs()
    text = known[min(rng.randrange(len(known)), rng.randrange(len(known)))]
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        text = rng.choices(_CHANGES, _WEIGHTS)[0](rng, text)
    return Case(text, rng.choice(CHIPS), rng.random() < 0.05)


def _number_everywhere(rng: random.Random, text: str) -> str:
    """A number, wherever it stands: extents of a tensor and of the tile stay equal."""
    found = sorted(set(_SHAPE_NUMBER.findall(text)))
    if not found:
        return text
    old, new = rng.choice(found), str(_near(rng, int(rng.choice(found))))
    return re.sub(rf"(?<=[<x\[ ]){old}(?=[x\], >])", new, text)


def _near(rng: random.Random, value: int) -> int:
    if rng.random() < 0.5:
        return rng.choice(NUMBERS)
    return max(0, rng.choice((value - 1, value + 1, value * 2, value // 2, value * 3, value + 8)))


def _number_once(rng: random.Random, text: str) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    at = rng.choice(found)
    new = -_near(rng, 5) if rng.random() < 0.2 else _near(rng, int(at[0]))
    return text[: at.start()] + str(new) + text[at.end() :]


def _element_everywhere(rng: random.Random, text: str) -> str:
    found = sorted(set(_ELEMENT.findall(text)) - {"index", "i1", "i64", "i32"})
    return re.sub(rf"\b{rng.choice(found)}\b", rng.choice(ELEMENTS), text) if found else text


def _dictionary(rng: random.Random, text: str) -> tuple[int, int] | None:
    """Where the attributes of one tile operation stand, without their braces."""
    found = list(_TILE_DICTIONARY.finditer(text))
    if not found:
        return None
    start = end = rng.choice(found).end()
    depth = 1
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return start, end - 1


def _add_attribute(rng: random.Random, text: str) -> str:
    place = _dictionary(rng, text)
    if place is None:
        return text
    new = rng.choice(ATTRIBUTES)
    kept = _entries(text[place[0] : place[1]])
    kept = [each for each in kept if each.split("=")[0].strip() != new.split("=")[0].strip()]
    return text[: place[0]] + ", ".join([*kept, new]) + text[place[1] :]


def _drop_attribute(rng: random.Random, text: str) -> str:
    place = _dictionary(rng, text)
    if place is None:
        return text
    kept = _entries(text[place[0] : place[1]])
    # The parser already misses what IRDL requires.
    free = [each for each in kept if not each.startswith(("sizes", "static_", "operandSegment"))]
    if free or (kept and rng.random() < 0.1):
        kept.remove(rng.choice(free or kept))
    return text[: place[0]] + ", ".join(kept) + text[place[1] :]


def _entries(text: str) -> list[str]:
    """The entries of a dictionary, split at its own commas."""
    entries, depth, last = [], 0, 0
    for at, letter in enumerate(text):
        depth += 1 if letter in "[{<(" else -1 if letter in "]}>)" else 0
        if letter == "," and not depth:
            entries.append(text[last:at])
            last = at + 1
    return [each.strip() for each in [*entries, text[last:]] if each.strip()]


def _array_entry(rng: random.Random, text: str) -> str:
    found = [each for each in _ARRAY.finditer(text) if each[1]]
    if not found:
        return text
    at = rng.choice(found)
    numbers = at[1].split(",")
    which = rng.randrange(len(numbers))
    change = rng.randrange(10)
    if change == 0:
        numbers.append("1")
    elif change == 1:
        numbers.pop(which)
    else:
        numbers[which] = str(rng.choice((*NUMBERS, -1, -8, -(2**63))))
    return text[: at.start(1)] + ", ".join(each.strip() for each in numbers) + text[at.end(1) :]


def _lines(text: str) -> list[str]:
    return text.split("\n")


_HEADS = re.compile(r"\s*(module|gpu\.module|gpu\.func|func\.func|gpu\.return|return|\})")


def _free_lines(lines: list[str]) -> list[int]:
    """Lines that hold one operation without results and without a region."""

    def is_free(line: str) -> bool:
        whole = all(line.count(opened) == line.count(closed) for opened, closed in ("()", "[]", "{}"))
        begins = re.match(r'\s*["a-z]', line) is not None and _HEADS.match(line) is None
        return whole and begins and "=" not in line.partition("(")[0]

    return [at for at, line in enumerate(lines) if is_free(line)]


def _drop_line(rng: random.Random, text: str) -> str:
    lines = _lines(text)
    if free := _free_lines(lines):
        lines.pop(rng.choice(free))
    return "\n".join(lines)


def _repeat_line(rng: random.Random, text: str) -> str:
    lines = _lines(text)
    if free := _free_lines(lines):
        at = rng.choice(free)
        lines.insert(at, lines[at])
    return "\n".join(lines)


def _swap_lines(rng: random.Random, text: str) -> str:
    lines = _lines(text)
    free = _free_lines(lines)
    if len(free) > 1:
        a, b = rng.sample(free, 2)
        lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _wrap_line(rng: random.Random, text: str) -> str:
    """Into a loop or a condition."""
    lines = _lines(text)
    if free := _free_lines(lines):
        at = rng.choice(free)
        lines[at] = rng.choice((
            f"%w0 = arith.constant 0 : index %w1 = arith.constant 1 : index %w2 = arith.constant 3 : index "
            f"scf.for %wi = %w0 to %w2 step %w1 {{\n{lines[at]}\n}}",
            f"%wc = arith.constant true scf.if %wc {{\n{lines[at]}\n}}",
            f"%wt = gpu.thread_id x %wk = arith.constant 5 : index %wc = arith.cmpi ult, %wt, %wk : index "
            f"scf.if %wc {{\n{lines[at]}\n}}",
        ))  # fmt: skip
    return "\n".join(lines)


def _swap_values(rng: random.Random, text: str) -> str:
    """Two names of values within one line."""
    lines = _lines(text)
    at = rng.randrange(len(lines))
    names = sorted(set(re.findall(r"%[\w]+", lines[at].partition("=")[2] or lines[at])))
    if len(names) > 1:
        a, b = rng.sample(names, 2)
        swap = {a: b, b: a}
        lines[at] = re.sub(r"%\w+", lambda found: swap.get(found[0], found[0]), lines[at])
    return "\n".join(lines)


def _own_attribute(rng: random.Random, text: str) -> str:
    """An entry of what passes of the package wrote: a plan, a descriptor, what a kernel takes."""
    found = list(re.finditer(r"(?:#tile\.\w+<|tile\.\w+ = )[^\n]*", text))
    if not found:
        return text
    place = rng.choice(found)
    parts = list(re.finditer(r'"[^"]*"|-?\d+ : i64|\[[^\[\]]*\]|\b\w+ = |-?\d+|true|false|unit|i64', place[0]))
    if not parts:
        return text
    at = rng.choice(parts)
    new = rng.choice(('"x"', "1 : i64", "-1 : i64", "[]", "{}", "unit", "true", "0.5", "array<i64: 1>", "i64",
                      f"{2**63 - 1}",
                      '"\\FF"', "[[]]", '"arg0.dim0"', '"(("', "nothing = ", "memref<4xf32>"))  # fmt: skip
    return text[: place.start() + at.start()] + new + text[place.start() + at.end() :]


def _layout(rng: random.Random, text: str) -> str:
    """A memref type gets strides, an offset or another space, wherever it stands."""
    found = sorted(set(re.findall(r"memref<[\dx?]+x\w+(?:, #gpu\.address_space<workgroup>)?>", text)))
    if not found:
        return text
    old = rng.choice(found)
    rank = old.split(",")[0].count("x")
    strides = ", ".join(rng.choice(("?", "1", "64", "100", "0", "4096", str(2**40))) for _ in range(rank))
    layout = rng.choice((f"strided<[{strides}]>", f"strided<[{strides}], offset: {rng.choice(('?', '8', '3'))}>"))
    shape, comma, space = old[:-1].partition(",")
    if rng.random() < 0.2:
        space, comma = rng.choice(((" 1", ","), (" 5", ","), (" #gpu.address_space<workgroup>", ","), ("", "")))
        return text.replace(old, f"{shape}{comma}{space}>")
    return text.replace(old, f"{shape}, {layout}{comma}{space}>")


def _letters(rng: random.Random, text: str) -> str:
    """Anything at all."""
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(3)
    if kind == 0:
        return text[:at] + text[at + rng.randrange(1, 20) :]
    if kind == 1:
        start = rng.randrange(len(text) + 1)
        return text[:at] + text[start : start + rng.randrange(1, 60)] + text[at:]
    return text[:at] + rng.choice('(){}<>[]",:%@#!?*x-=0123456789é\0') + text[at:]


_CHANGES = (
    _number_everywhere, _number_once, _element_everywhere, _add_attribute, _drop_attribute, _array_entry, _drop_line,
    _repeat_line, _swap_lines, _wrap_line, _swap_values, _layout, _letters, _own_attribute,
)  # fmt: skip
_WEIGHTS = (10, 8, 5, 16, 4, 8, 6, 4, 4, 6, 4, 8, 1, 8)


@functools.cache
def _context() -> Any:
    from tma_mlir.dialect import make_context

    return make_context()


def check(case: Case) -> Failure | None:
    from tma_mlir.assembler import AssemblerError
    from tma_mlir.compile.compiler import CompileError, compile_text

    try:
        compile_text(case.text, case.chip, assemble_cubin=case.assemble, context=_context())
    except CompileError as error:
        if any(each.severity == "error" and each.message and each.place for each in error.diagnostics):
            return None
        return Failure("an error without a message or a place", repr(case))
    except AssemblerError:
        return None  # of a program that PTX can say and no chip can run
    except Exception as error:
        found = of_exception(error.__cause__ or error)
        return Failure(found.kind, f"{case.chip}\n{case.text}\n{found.detail}")
    return None


def _share(count: int) -> None:
    from tma_mlir.bindings import ir
    from tma_mlir.diagnostics import collecting
    from tma_mlir.fatal_text import text_error

    dead = 0
    for seed in range(count):
        case = cases(seed)
        if text_error(case.text, "-"):
            continue
        with _context(), collecting(_context()):
            try:
                ir.Module.parse(case.text)
            except (ir.MLIRError, ValueError):
                dead += 1
    print(f"{dead} of {count} die in the parser: {dead / count:.0%}")


if __name__ == "__main__":
    _share(int(sys.argv[1]))
