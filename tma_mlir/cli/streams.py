"""Standard input, output and error as the tools need them: whatever encoding the locale has, and when one is closed."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import IO, cast


def prepare() -> None:
    """Text is UTF-8, as MLIR's own, and bytes of file names that are not UTF-8 come out as they are.

    A stream that the caller closed is a file that reads nothing and fails to write, so that no file opened later gets
    its number.
    """
    for number, name, flags in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        stream = getattr(sys, name)
        if stream is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            # Whoever closed standard error wants no messages: they go nowhere. Output that is lost is an error.
            raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
            buffer = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(cast(io.BufferedWriter, buffer), "utf-8", "surrogateescape"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def part_errors(printed: IO[bytes], *, quiet: bool) -> None:
    """Native code writes to ``printed`` from now on, and Python to standard error as before; with ``quiet`` nothing
    that is written goes anywhere else."""
    if quiet:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        ours = nowhere
    else:
        ours = os.dup(2)
    os.dup2(printed.fileno(), 2)
    sys.stderr = open(ours, "w", encoding="utf-8", errors="surrogateescape", buffering=1)  # noqa: SIM115


def flush(program: str) -> bool:
    """Writes out what is left; False, after a message, where standard output takes no more."""
    good = True
    try:
        sys.stdout.flush()
    except OSError as error:
        good = False
        lost(program, error)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    return good


def lost(program: str, error: OSError) -> None:
    """Says that standard output took no more, unless nobody reads it; what it still holds is given up, since closing it
    at exit would fail once more."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    if not isinstance(error, BrokenPipeError):
        with contextlib.suppress(OSError):
            print(f"{program}: error: cannot write standard output: {error.strerror or error}", file=sys.stderr)
