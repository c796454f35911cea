"""Runs the tools in this process, or tma-opt in a forked child: as robust against aborts as a new process, without its
start-up time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from tma_mlir.cli import explain, opt
from tma_mlir.cli import run as run_tool

MAINS: dict[str, Callable[[Sequence[str]], int]] = {
    "tma-opt": opt.main,
    "tma-run": run_tool.main,
    "tma-explain": explain.main,
}


@dataclass(frozen=True)
class Outcome:
    """``code`` is negative when a signal ended the child."""

    code: int
    out: str
    err: str


@pytest.fixture
def tma_opt() -> Callable[..., Outcome]:
    """``tma_opt(*arguments, stdin=...)`` runs the command."""
    return run_forked


@pytest.fixture
def tool(monkeypatch, capsys) -> Callable[..., Outcome]:
    """``tool("tma-explain", *arguments)`` runs a tool in this process."""
    monkeypatch.setenv("TMA_NO_FORK", "1")

    def call(name: str, *arguments: object) -> Outcome:
        try:
            code = MAINS[name]([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else -1
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture
def tma_run(tool) -> Callable[..., Outcome]:
    """``tma_run(*arguments)`` runs the command in the simulator."""
    return lambda *arguments: tool("tma-run", "--device", "sim", *arguments)


def run_forked(*arguments: str, stdin: bytes | str = b"", folder: os.PathLike[str] | str = ".") -> Outcome:
    """The command in ``folder``, without its crash guard, so that a crash is seen as one."""
    # Once, in the parent.
    import tma_mlir.cli.opt_job
    import tma_mlir.dialect.loading
    import tma_mlir.passes.tile_check_limits
    import tma_mlir.passes.tile_verify  # noqa: F401

    data = stdin.encode() if isinstance(stdin, str) else stdin
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(data)
        given.seek(0)
        child = os.fork()
        if child == 0:
            code = 99
            try:
                for number, file in enumerate((given, out, err)):
                    os.dup2(file.fileno(), number)
                os.chdir(folder)
                code = _run(arguments)
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return Outcome(status, _text(out), _text(err))


def _run(arguments: tuple[str, ...]) -> int:
    import sys

    sys.stdin, sys.stdout, sys.stderr = (open(number, mode) for number, mode in ((0, "r"), (1, "w"), (2, "w")))  # noqa: SIM115
    try:
        return opt.run(*opt.parse_arguments(arguments))
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        return 98
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _text(file) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
