"""The crash guard: a program that dies, or does not end, still ends in a message and an exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]

PROGRAM = """
import os, signal, sys, time
from tma_mlir.cli.guard import guarded
from tma_mlir.diagnostics import Place
from tma_mlir.isolation.notes import doing
def run():
    doing("while parsing", Place("f.mlir", 3, 1))
    {body}
sys.exit(guarded("tma-x", run, lambda each: print(each, file=sys.stderr), "f.mlir", {seconds}))
"""
REMEDY = "Change or take out what is named here; the input is worth a report to MLIR"


def run(body: str, seconds: float | None = None) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body, seconds=seconds)], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(("name", "code"), [("SIGABRT", 134), ("SIGSEGV", 139)])
def test_a_crash_is_an_error_at_a_place(name, code):
    found = run(f"os.kill(os.getpid(), signal.{name})")
    assert found == (code, f"f.mlir:3:1: error: MLIR ended the process while parsing: {name}. {REMEDY}\n")


def test_an_exit_inside_native_code_is_a_crash():
    """And what it wrote before is the reason."""
    found = run("os.write(2, b'error: no such thing\\n'); os._exit(1)")
    assert found == (134, f"f.mlir:3:1: error: MLIR ended the process while parsing: no such thing. {REMEDY}\n")


def test_what_native_code_says_is_not_lost():
    assert run("os.write(2, b'warning: x\\n'); return 3") == (3, "warning: x\n")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_exit_codes_pass(code):
    assert run(f"return {code}") == (code, "")


def test_an_exception_is_one_line():
    assert run("raise KeyError('x')") == (1, "tma-x: error: internal error: KeyError: 'x'\n")


def test_a_time_limit_ends_it():
    said = "f.mlir:3:1: error: no end after 0.2 s while parsing. Give it more time with --timeout, or make it smaller\n"
    assert run("time.sleep(50)", 0.2) == (137, said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_at_once(number):
    """Without a word, and without leaving the child."""
    body = "print(os.getpid(), flush=True); time.sleep(50)"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body, seconds=None)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(number)
    _, said = process.communicate(timeout=10)
    assert (process.returncode, said) == (128 + number, "")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_the_death_of_the_parent_ends_the_child():
    body = "print(os.getpid(), flush=True); time.sleep(50)"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body, seconds=None)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the child lives on")


ABORTS = """module {
  gpu.module @ok {}
  gpu.module @m {
    gpu.func @k(%a: memref<64xi1>, %o: memref<64xi1>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %a[%t] : memref<64xi1>
      memref.store %v, %o[%t] : memref<64xi1>
      gpu.return
    }
  }
}
"""
"""convert-gpu-to-nvvm aborts on a load of i1; ``tile-lower-bools`` was not run."""


def test_tma_opt_names_the_pass_and_the_operation(tmp_path):
    file, out = tmp_path / "f.mlir", tmp_path / "out.mlir"
    file.write_text(ABORTS)
    row = "--pass-pipeline=builtin.module(gpu.module(canonicalize,convert-gpu-to-nvvm))"
    done = subprocess.run(
        [sys.executable, str(TOP / "tools" / "tma-opt"), "f.mlir", row, "-o", str(out)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == -signal.SIGABRT  # which a shell shows as 134
    assert done.stderr.startswith(
        "f.mlir:3:3: error: MLIR ended the process in the pass 'convert-gpu-to-nvvm' on 'gpu.module' @m: Assertion "
    )
    assert not out.exists()
