"""``compile_kernels`` in a child process, whose death is a ``CompileError``."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..diagnostics import Diagnostic
from .crash import Death
from .wire import read_diagnostic

DEFAULT_SECONDS = 600.0
_SECOND_LOOK_SECONDS = 60.0


def can_isolate() -> bool:
    """Whether this process can start workers: the system has what they need, and it is Python that runs, not a program
    with Python inside."""
    from .pool import AVAILABLE

    return AVAILABLE and bool(sys.executable) and Path(sys.executable).name.startswith(("python", "pypy"))


def compile_isolated(
    source: str | bytes,
    name: str,
    chip: str,
    opt_level: int,
    assembler: str,
    assembler_options: Sequence[str],
    *,
    seconds: float | None = DEFAULT_SECONDS,
) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """What ``pack_kernels`` makes of the result of ``compile_kernels``, and the warnings. Raises what that does, and
    ``CompileError`` where the child dies or takes more than ``seconds``."""
    if not can_isolate():
        raise OSError("isolate=True needs Linux or macOS and a Python that can be started again. Leave isolate out")
    header: dict[str, Any] = {
        "name": name,
        "chip": chip,
        "opt_level": opt_level,
        "assembler": os.path.abspath(assembler) if os.sep in assembler else assembler,
        "assembler_options": list(assembler_options),
        "bytecode": isinstance(source, bytes),
        "environ": dict(os.environ),
        "diagnose": False,
    }
    content = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    answer = _ask(header, content, seconds)
    if isinstance(answer, Death):
        answer = _second_look(answer, header, content, seconds)
    made, data = answer
    if not made["ok"]:
        _raise(made)
    return data, tuple(map(read_diagnostic, made["warnings"]))


def _ask(header: dict[str, Any], content: bytes, seconds: float | None) -> tuple[dict[str, Any], bytes] | Death:
    from .pool import POOL

    return POOL.ask(header, content, seconds)


def _second_look(
    death: Death, header: dict[str, Any], content: bytes, seconds: float | None
) -> tuple[dict[str, Any], bytes]:
    """Compiles again, noting each pass, to say which one it was. The answer if that child lives: then it was not the
    input that ended the first."""
    from ..compile.compiler import CompileError

    if death.seconds is None:
        second = _ask({**header, "diagnose": True}, content, min(seconds or _SECOND_LOOK_SECONDS, _SECOND_LOOK_SECONDS))
        if not isinstance(second, Death):
            return second
        if second.seconds is None:
            death = second
    raise CompileError([death.diagnostic(header["name"], option="timeout=")])


def _raise(made: dict[str, Any]) -> NoReturn:
    """The exception that the child says it had."""
    from ..assembler import AssemblerError
    from ..compile.compiler import CompileError

    if made["kind"] == "CompileError":
        raise CompileError(list(map(read_diagnostic, made["diagnostics"])))
    if made["kind"] == "AssemblerError":
        raise AssemblerError(made["message"], chip=made["chip"], log=made["log"])
    known = getattr(builtins, made["kind"], None)
    if isinstance(known, type) and issubclass(known, (ValueError, TypeError, OSError, MemoryError)):
        raise known(made["message"])
    raise RuntimeError(f"{made['kind']}: {made['message']}")
