"""Runs a command line in a child process, so that an abort inside MLIR ends in a message and not in a core dump.

MLIR 22 is built with assertions, and text exists that trips one of them. Forking before MLIR is imported costs about
a millisecond. Where the system cannot fork the command runs unguarded.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
from collections.abc import Callable

from . import streams
from .program import complain

_doing: mmap.mmap | None = None


def doing(what: str) -> None:
    """Note what the process is busy with (``file:1:1`` first), for the message should it die."""
    if _doing is not None:
        text = what.encode(errors="replace")[: len(_doing) - 1]
        _doing.seek(0)
        _doing.write(text + b"\0")


def guarded(program: str, run: Callable[[], int]) -> int:
    """``run()`` and its exit code; 1 with a message if it kills its process."""
    streams.prepare()
    if not hasattr(os, "fork") or "TMA_NO_FORK" in os.environ:
        return _outcome(program, run)
    global _doing
    _doing = mmap.mmap(-1, 4096)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run_child(program, run)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status >= 0:
        return status
    name = signal.Signals(-status).name
    if name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"):
        return 128 - status
    what = _doing[:].split(b"\0", 1)[0].decode(errors="replace") or program
    print(f"{what}: error: MLIR crashed ({name}); please report the input", file=sys.stderr)
    return 1


def _run_child(program: str, run: Callable[[], int]) -> None:
    code = 1
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = _outcome(program, run)
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
            complain(program, f"cannot use '{error.filename}': {error.strerror or error}")
    except BaseException as error:
        print(f"{program}: error: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        if "TMA_TRACEBACK" in os.environ:
            import traceback

            traceback.print_exc()
    return code if streams.flush(program) else code or 1
