"""What the command lines have in common: exit codes, how they complain, their process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from . import streams
from .guard import guarded
from .source import InputError, Source, read

BAD_INPUT = 1
"""What was read is wrong: a file, the program in it, an argument's value. Also what ends in a crash."""
BAD_USAGE = 2
"""The command line itself is wrong."""
WRONG_RESULT = 3
"""The kernel ran and did something wrong: a hazard, a hang, a fault, or another result than expected."""

EXIT_CODES = (
    "Exit codes: 0 success, 1 wrong input (files, programs, arguments), 2 wrong command line, 128 + N ended by signal "
    "N: 134 where MLIR ended the process, 137 where the time was over"
)


class UsageError(Exception):
    """The command line is wrong; the message is for the user."""


def seconds(text: str) -> float:
    """A time limit; ``ValueError`` for anything else."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise ValueError(f"{text!r} is not a number of seconds above 0")
    return number


def with_source(program: str, path: str, command: Callable[[Source], int], seconds: float | None = None) -> int:
    """What ``command`` returns for the input at ``path``, in a process of its own (see ``guarded``), or the exit code
    for one that cannot be read. The input is read here, once."""
    streams.prepare()
    try:
        source = read(path)
    except KeyboardInterrupt:
        return 130
    except InputError as error:
        complain(program, str(error))
        return BAD_INPUT
    return guarded(program, lambda: command(source), source.show, source.name, seconds)


_DEADLY = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE")


def end(code: int) -> NoReturn:
    """Ends this process with ``code``: by the signal that 128 + N stands for, as the command itself would have, so that
    a shell stops at Ctrl-C and ``not --crash`` sees a crash."""
    for name in _DEADLY:
        number = getattr(signal, name, None)
        if number is not None and code == 128 + number:
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
    sys.exit(code)


def complain(program: str, message: str) -> None:
    """Print an error, with the name of the program where it has no place of its own."""
    first = message.partition("\n")[0]
    print(message if " error: " in f" {first}" else f"{program}: error: {message}", file=sys.stderr)
