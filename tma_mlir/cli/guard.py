"""Runs a command line in a child process, so that an abort inside MLIR ends in a message and not in a core dump.

MLIR 22 is built with assertions, and input exists that trips one of them. Forking before MLIR is imported costs about a
millisecond. Where the system cannot fork the command runs unguarded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from ..bindings.choice import NoBindings
from ..diagnostics import Diagnostic
from ..isolation.crash import Death
from ..isolation.lifeline import tie
from ..isolation.notes import Notes, finished, take_notes
from . import streams

UNLIMITED = "while running"
"""What the command is doing while no default time limit holds: a kernel may run for hours."""

DEFAULT_SECONDS = 600.0
_SECOND_LOOK_SECONDS = 60.0
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGPIPE")

_diagnosing = False


def diagnosing() -> bool:
    """Whether this process only runs to find out in which pass the one before it died."""
    return _diagnosing


def guarded(
    program: str,
    run: Callable[[], int],
    show: Callable[[Diagnostic], None],
    name: str = "",
    seconds: float | None = None,
) -> int:
    """``run()`` and its exit code; 128 and the signal, after a message by ``show``, if it kills its process.

    ``name``: of the input, for that message. ``seconds``: the time limit; left out, 600 s for all but ``UNLIMITED``.
    """
    if not hasattr(os, "fork") or "TMA_NO_FORK" in os.environ:
        return _outcome(program, run)
    ended = _attempt(program, run, seconds)
    if isinstance(ended, int):
        return ended
    if ended.seconds is None:
        again = _attempt(program, run, _SECOND_LOOK_SECONDS, quiet=True)
        if isinstance(again, Death) and again.seconds is None:
            ended = again
    with contextlib.suppress(OSError):
        show(ended.diagnostic(name or program))
    return ended.exit_code


@dataclass(frozen=True)
class _Child:
    """``printed``: the file that native code writes to in the place of standard error."""

    process: int
    notes: Notes
    printed: IO[bytes]


def _attempt(program: str, run: Callable[[], int], seconds: float | None, *, quiet: bool = False) -> int | Death:
    """One child: its exit code, or how it died. ``quiet``: it says nothing and notes every pass."""
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        notes = Notes()
        stack.callback(notes.close)
        printed = stack.enter_context(tempfile.TemporaryFile())
        alive, held = os.pipe()
        # From here on: a signal that comes before the child is known reaches both, by the terminal or not at all.
        child = os.fork()
        if child == 0:
            os.close(held)
            tie(alive)
            _run_child(program, run, notes, printed, quiet=quiet)
        os.close(alive)
        stack.callback(os.close, held)
        old = {each: signal.signal(getattr(signal, each), _forward_to(child)) for each in _FORWARDED[:3]}
        try:
            ended = _wait(_Child(child, notes, printed), seconds)
        finally:
            for each, handler in old.items():
                signal.signal(getattr(signal, each), handler)
        text = _read(printed)
        if isinstance(ended, int) and not quiet and text:
            with contextlib.suppress(OSError):
                sys.stderr.write(text)  # warnings of LLVM
                sys.stderr.flush()
        return ended


def _forward_to(child: int) -> Callable[..., None]:
    return lambda number, frame: os.kill(child, number)


def _wait(child: _Child, seconds: float | None) -> int | Death:
    """Waits for the end of the child, looking at the clock now and then."""
    started = time.monotonic()
    limit = DEFAULT_SECONDS if seconds is None else seconds
    pause = 0.0005
    while True:
        process, status = os.waitpid(child.process, os.WNOHANG)
        if process:
            break
        over = time.monotonic() - started > limit
        if over and (seconds is not None or child.notes.read().what != UNLIMITED):
            os.kill(child.process, signal.SIGKILL)
            os.waitpid(child.process, 0)
            return Death(-signal.SIGKILL, child.notes.read(), seconds=limit)
        with contextlib.suppress(InterruptedError):
            time.sleep(pause)
        pause = min(pause * 1.2, 0.02)
    code = os.waitstatus_to_exitcode(status)
    doing = child.notes.read()
    if code < 0 and signal.Signals(-code).name in _FORWARDED:
        return 128 - code
    if doing.finished and code >= 0:
        return code
    return Death(code, doing, _read(child.printed))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _run_child(program: str, run: Callable[[], int], notes: Notes, printed: IO[bytes], *, quiet: bool) -> None:
    global _diagnosing
    code = 1
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for each in ("SIGINT", "SIGTERM", "SIGHUP"):  # at once, inside native code too
            signal.signal(getattr(signal, each), signal.SIG_DFL)
        take_notes(notes)
        _diagnosing = quiet
        streams.part_errors(printed, quiet=quiet)
        code = _outcome(program, run)
        finished()
    finally:
        # Skips interpreter shutdown: nothing is left to do, and destroying contexts takes time.
        os._exit(code)


def _outcome(program: str, run: Callable[[], int]) -> int:
    """What ``run()`` ends with: its exit code, or that of what it raised. Everything is written out then."""
    code = 1
    try:
        code = run()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        pass  # nobody reads on: the code says that output was lost
    except OSError as error:
        if error.filename is None:
            streams.lost(program, error)
        else:
            _say(f"{program}: error: cannot use '{error.filename}': {error.strerror or error}")
    except NoBindings as error:
        _say(f"{program}: error: {error}")
    except BaseException as error:
        _say(f"{program}: error: internal error: {type(error).__name__}: {error}")
        if "TMA_TRACEBACK" in os.environ:
            import traceback

            traceback.print_exc()
    return code if streams.flush(program) else code or 1


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)
