"""The flags of ``tma-run``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from ..sim.command_line import add_options
from .parser import Parser, add_chip, add_timeout
from .program import EXIT_CODES

PROGRAM = "tma-run"
EMITS = ("plan", "nvgpu", "lowered", "ptx", "cubin")
SCREEN = Path("-")


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog=PROGRAM,
        description="Compile a kernel, run it once on a GPU or in the simulator, and compare the result with the "
        "kernel's copies executed by definition, byte for byte, and with files of your own.",
        epilog=f"{EXIT_CODES}, 3 wrong result: a hazard, a hang or a fault in the run, or a comparison failed. "
        "Warnings do not change the exit code.",
    )
    add = made.add_argument
    add("file", help="MLIR text or bytecode with a gpu.module; - is standard input")
    add_chip(made)
    add("--device", choices=("auto", "gpu", "sim"), default="auto", help="auto (the default): the GPU if there is one")
    add("--kernel", metavar="NAME", help="which kernel, where the file has several")
    for name, what in (("grid", "blocks"), ("block", "threads"), ("cluster", "blocks")):
        help_ = f"{what} of the {name}, x first, as 47x32 or 47,32; left out: what the kernel says (known_{name}_size)"
        add(f"--{name}", type=_extent, metavar="X[xY[xZ]]", help=help_)
    add(
        "--arg",
        action="append",
        default=[],
        type=_pair,
        metavar="I=VALUE",
        help="argument I. An array: FILE.npy, a part of it as FILE.npy[8:40,0:64], zeros, iota, random:SEED, "
        "small:SEED (-4 to 4); @64x128 gives dynamic shapes, @64x128xf32 what a pointer points to (0: nothing), and "
        ":pitch=784 the bytes from row to row. Else a number, or the numbers of a vector, complex number, array or "
        "struct in order, as 1,2.5,3. bf16 and 8-bit floats: files of ml_dtypes arrays, or of unsigned integers. "
        "Left out: random bytes",
    )
    add(
        "--expect",
        action="append",
        default=[],
        type=_pair,
        metavar="I=FILE.npy",
        help="compare argument I after the run with a file; :rtol=R and :atol=A behind it allow a difference of "
        "A + R * |expected|",
    )
    add(
        "--out",
        action="append",
        default=[],
        type=_pair,
        metavar="I=FILE",
        help="write argument I to FILE after the run",
    )
    add_options(made)
    add_timeout(made, "600 s for compiling and any time for the run if left out")
    add("--emit", default=[], type=_emits, metavar="LIST", help=f"stages to write, with commas: {', '.join(EMITS)}")
    add(
        "--out-dir",
        type=Path,
        default=SCREEN,
        metavar="D",
        help="folder for what --emit writes (made if missing); - (the default) is standard output, and reports then go "
        "to standard error",
    )
    return made


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options. ``arg``, ``expect`` and ``out`` become dictionaries by position. ``SystemExit`` for illegal ones."""
    made = parser()
    options = made.parse_args(argv)
    for name in ("arg", "expect", "out"):
        pairs: dict[int, str] = {}
        for index, text in getattr(options, name):
            if index in pairs:
                made.error(f"--{name} {index}={text}: argument {index} is given twice")
            pairs[index] = text
        setattr(options, name, pairs)
    if "cubin" in options.emit and options.out_dir == SCREEN:
        made.error("--emit cubin: a cubin is binary and is not written to the screen. Name a folder with --out-dir")
    return options


def _pair(text: str) -> tuple[int, str]:
    index, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[0-9]+", index) or not value:
        raise argparse.ArgumentTypeError(f"{text!r}: write 0=VALUE, with the argument's position from 0")
    return int(index), value


def _extent(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]+([x,][0-9]+){0,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three numbers, as 47, 47x32 or 47,32,1")
    return tuple(map(int, re.split("[x,]", text)))


def _emits(text: str) -> list[str]:
    emits = [each for each in text.split(",") if each]
    for each in emits:
        if each not in EMITS:
            raise argparse.ArgumentTypeError(f"{each!r} is not a stage; there are {', '.join(EMITS)}")
    return emits
