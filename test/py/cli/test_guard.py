"""The crash guard: a program that dies still ends in a message and exit code 1."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from tma_mlir.cli.guard import doing, guarded
def run():
    doing("f.mlir:3:1: while parsing")
    {body}
sys.exit(guarded("tma-x", run))
"""


def run(body: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", ["SIGABRT", "SIGSEGV"])
def test_a_crash_is_an_error_at_a_place(name):
    code, stderr = run(f"os.kill(os.getpid(), signal.{name})")
    assert (code, stderr) == (1, f"f.mlir:3:1: while parsing: error: MLIR crashed ({name}); please report the input\n")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_exit_codes_pass(code):
    assert run(f"return {code}") == (code, "")


def test_an_exception_is_one_line():
    assert run("raise KeyError('x')") == (1, "tma-x: error: internal error: KeyError: 'x'\n")
