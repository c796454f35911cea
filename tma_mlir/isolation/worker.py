"""The child: compiles what its parent sends, until the parent sends no more. Started as a program of its own, since a
host may have threads, which do not survive a fork.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from . import notes
from .lifeline import tie
from .wire import diagnostic_data, packed, receive


def main() -> None:
    """``worker.py LIFELINE NOTES``: handles of the pipe that ends this process, and of the file of notes."""
    lifeline, notebook = int(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the host decides
    tie(lifeline)
    notes.take_notes(notes.Notes(notebook))
    # What MLIR prints must not get between the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    requests = sys.stdin.buffer

    def read(count: int) -> bytes:
        data = requests.read(count)
        if len(data) < count:
            raise EOFError
        return data

    while True:
        try:
            header, program = receive(read)
        except EOFError:
            return
        answer = packed(*_answer(header, program))
        view = memoryview(answer)
        while view:
            view = view[os.write(answers, view) :]


def _answer(header: dict[str, Any], program: bytes) -> tuple[dict[str, Any], bytes]:
    os.environ.clear()
    os.environ.update(header["environ"])
    try:
        return _compiled(header, program)
    except Exception as error:
        return _failure(error), b""
    finally:
        notes.finished()


def _compiled(header: dict[str, Any], program: bytes) -> tuple[dict[str, Any], bytes]:
    from ..kernel_compiler import compile_kernels, pack_kernels

    notes.doing("while parsing")
    instrumentation = []
    if header["diagnose"]:
        from .noting import Noting

        instrumentation.append(Noting())
    source = program if header["bytecode"] else program.decode("utf-8", "surrogatepass")
    kernels, warnings = compile_kernels(
        source,
        header["name"],
        header["chip"],
        header["opt_level"],
        header["assembler"],
        header["assembler_options"],
        observe=lambda step: notes.doing(notes.AFTER[step]),
        instrumentation=instrumentation,
    )
    return {"ok": True, "warnings": [diagnostic_data(each) for each in warnings]}, pack_kernels(kernels)


def _failure(error: Exception) -> dict[str, Any]:
    from ..assembler import AssemblerError
    from ..compile.compiler import CompileError

    made: dict[str, Any] = {"ok": False, "kind": type(error).__name__, "message": str(error)}
    if isinstance(error, CompileError):
        made["diagnostics"] = [diagnostic_data(each) for each in error.diagnostics]
    if isinstance(error, AssemblerError):
        made |= {"message": error.plain, "chip": error.chip, "log": error.log}
    return made


if __name__ == "__main__":
    main()
