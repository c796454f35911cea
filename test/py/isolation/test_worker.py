"""Compiling in a child process: the same results, and its death is an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import pytest

import tma_mlir
from tma_mlir.assembler import AssemblerError
from tma_mlir.compile.compiler import CompileError
from tma_mlir.diagnostics import Diagnostic, Place
from tma_mlir.isolation import compile_isolated
from tma_mlir.isolation.crash import Death
from tma_mlir.isolation.notes import Doing, Notes
from tma_mlir.isolation.pool import POOL, Worker
from tma_mlir.isolation.wire import diagnostic_data, packed, read_diagnostic, receive

TOP = Path(__file__).resolve().parents[3]
COPY = (TOP / "examples" / "copy_8x256.mlir").read_text()

CANNOT_SELECT = """gpu.module @m {
  gpu.func @k(%size: i64) kernel {
    %p = llvm.mlir.zero : !llvm.ptr<3>
    nvvm.st.bulk %p, size = %size : !llvm.ptr<3>
    gpu.return
  }
}"""
"""LLVM 22 ends the process: sm_90a has no such instruction, and the operation does not say so."""


def compiled(source, **options):
    return tma_mlir.compile(source, "sm_90a", cache=False, **options)


@pytest.mark.parametrize("source", [COPY, TOP / "examples" / "copy_8x256.mlir"])
def test_the_same_kernel_comes_out(source):
    here, there = compiled(source, isolate=False), compiled(source, isolate=True)
    assert here.to_bytes() == there.to_bytes()
    assert (here.source, here.source_name) == (there.source, there.source_name)


def test_a_module_goes_as_text_where_it_is_asked_for():
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context

    with make_context():
        module = ir.Module.parse(COPY)
    assert compiled(module, isolate=True).ptx == compiled(module).ptx


def test_death_is_an_error_with_the_pass_and_the_reason():
    with pytest.raises(CompileError) as error:
        compiled(CANNOT_SELECT)
    where = "in the pass 'gpu-module-to-binary' on 'builtin.module'"
    assert str(error.value).startswith(f"-: error: MLIR ended the process {where}: LLVM ERROR: Cannot select")
    assert compiled(COPY).ptx  # and the next one works


def test_errors_and_warnings_are_the_same():
    broken = COPY.replace("sizes = ", "sizez = ")
    said = []
    for isolate in (False, True):
        with pytest.raises(CompileError) as error:
            compiled(broken, isolate=isolate)
        said.append((str(error.value), error.value.diagnostics))
    assert said[0] == said[1]
    for wrong in ({"opt_level": 7}, {"assembler": "/nowhere/ptxas"}, {"assembler_options": ["-nonsense"]}):
        texts = []
        for isolate in (False, True):
            with pytest.raises((ValueError, AssemblerError, OSError)) as problem:
                compiled(COPY, isolate=isolate, **wrong)
            texts.append((type(problem.value), str(problem.value)))
        assert texts[0] == texts[1]


def test_warnings_are_at_the_caller():
    from support.copy_kernels import global_type, load

    text = load(global_type([64, 1733], "f32"), [16, 64], element="f32", offsets=[3, 8])
    for isolate in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled(text, isolate=isolate)
            tma_mlir.compile_all(text, "sm_90a", cache=False, isolate=isolate)
        assert [each.filename for each in caught] == [__file__] * 2
        assert "one thread makes this copy" in str(caught[0].message)


def test_a_time_limit_ends_the_child():
    """The limit is over before the first answer can come."""
    started = time.monotonic()
    with pytest.raises(CompileError, match=r"no end after 0\.001 s.*Give it more time with timeout="):
        compiled(COPY, timeout=0.001)
    assert time.monotonic() - started < 5
    assert compiled(COPY).ptx


def test_threads_have_workers_of_their_own():
    expected, found = compiled(COPY, isolate=False).ptx, []

    def work():
        found.append(compiled(COPY).ptx)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [expected] * 4


def test_a_forked_child_has_workers_of_its_own():
    compiled(COPY)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if compiled(COPY).ptx else 2
            POOL.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert compiled(COPY).ptx


def test_where_it_cannot_be_it_is_said(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/app")
    assert not compile_isolated.can_isolate()
    with pytest.raises(OSError, match="Leave isolate out"):
        compiled(COPY, isolate=True)
    assert compiled(COPY).ptx


HOST = """
import os, sys, threading, time
import tma_mlir
from tma_mlir.isolation.pool import Worker
worker = Worker()
worker._send(b"")  # it lives
print(worker._process.pid, flush=True)
{then}
"""


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True])
def test_the_end_of_the_host_is_that_of_the_worker(ending, busy):
    """Also of one that is stopped in code that never returns: nothing in it has to run for that."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST.format(then="time.sleep(60)")], stdout=subprocess.PIPE, text=True
    )
    assert host.stdout is not None
    worker = int(host.stdout.readline())
    time.sleep(0.3)  # it has begun to listen
    if busy:
        os.kill(worker, signal.SIGSTOP)
    host.send_signal(ending)
    host.wait()
    if busy:
        os.kill(worker, signal.SIGCONT)
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(worker)


def test_an_interrupt_of_the_host_is_a_keyboard_interrupt():
    script = textwrap.dedent("""
        import os, signal, threading, tma_mlir
        from tma_mlir.isolation.pool import POOL
        source = open("examples/copy_8x256.mlir").read()
        tma_mlir.compile(source, "sm_90a", cache=False)
        threading.Timer(0.01, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                tma_mlir.compile(source, "sm_90a", cache=False)
        except KeyboardInterrupt:
            print("interrupted")
        print(len(tma_mlir.compile(source, "sm_90a", cache=False).ptx) > 0)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=TOP, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\nTrue\n", "")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 looks for modules in the working directory first")
def test_files_in_the_working_directory_are_not_modules(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise ImportError('not this one')")
    monkeypatch.chdir(tmp_path)
    POOL.close()
    assert compiled(COPY, isolate=True).ptx


def test_a_worker_is_replaced_after_many_requests(monkeypatch):
    from tma_mlir.isolation import pool

    compiled(COPY)
    first = POOL._idle[-1]
    monkeypatch.setattr(pool, "REQUESTS", first.requests + 1)
    compiled(COPY)
    assert first not in POOL._idle
    assert first._process.returncode is not None


def test_what_native_code_prints_reaches_standard_error(capfd):
    worker = Worker()
    try:
        os.write(worker._printed.fileno(), b"")
        header = {"environ": dict(os.environ), "name": "-", "chip": "sm_90a", "opt_level": 3, "diagnose": False}
        header |= {"assembler": "nvjitlink", "assembler_options": [], "bytecode": False}
        answer = worker.ask(header, COPY.encode(), 60)
        assert not isinstance(answer, Death)
        assert answer[0]["ok"]
    finally:
        worker.close()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "printed", "reason", "code"),
    [
        (-6, "python: a.cpp:1: void f(): Assertion `x > 0' failed.\n", "Assertion `x > 0' failed", 134),
        (-11, "", "SIGSEGV", 139),
        (1, "error: can't parse integer attribute -1\n", "can't parse integer attribute -1", 134),
        (-6, "LLVM ERROR: Cannot select: t5\n", "LLVM ERROR: Cannot select: t5", 134),
        (0, "", "it called exit(0)", 134),
    ],
)
def test_reasons_of_deaths(status, printed, reason, code):
    death = Death(status, Doing("while parsing", Place("-", 3, 1)), printed)
    said = death.diagnostic("f.mlir")
    assert str(said).startswith(f"f.mlir:3:1: error: MLIR ended the process while parsing: {reason}. ")
    assert death.exit_code == code


def test_notes_and_messages_survive_the_way():
    notes = Notes()
    assert notes.read() == Doing()
    notes.write(Doing("x" * 9000, Place("é" * 4000, 1, 2)))
    assert notes.read() == Doing() or notes.read().what.startswith("x")
    notes.write(Doing("in é", Place("f", 1, 2)))
    assert notes.read() == Doing("in é", Place("f", 1, 2))
    notes.close()
    diagnostic = Diagnostic("error", Place("f", 1, 2), "é\n", (Diagnostic("note", None, "n"),))
    assert read_diagnostic(diagnostic_data(diagnostic)) == diagnostic
    data = packed({"a": 1}, b"xyz")
    position = 0

    def read(count: int) -> bytes:
        nonlocal position
        position += count
        return data[position - count : position]

    assert receive(read) == ({"a": 1}, b"xyz")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_somebody_killed_is_replaced(ending):
    assert compiled(COPY).ptx
    for worker in POOL._idle:
        worker._process.send_signal(ending)
        worker._process.wait()
    assert compiled(COPY).ptx


def test_the_input_is_not_blamed_for_what_it_did_not_do(monkeypatch):
    """The first worker dies while it works, the second does not."""
    deaths = [Death(-signal.SIGKILL, Doing())]
    ask = POOL.ask
    monkeypatch.setattr(POOL, "ask", lambda *request: deaths.pop() if deaths else ask(*request))
    assert compiled(COPY).ptx


def ends(process: int) -> bool:
    """Whether a process is gone within seconds."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_time_limit_ends_an_assembler_too(tmp_path):
    tool, started = tmp_path / "slow", tmp_path / "pid"
    tool.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo V1.0; exit; }}\necho $$ > {started}\nexec sleep 60\n')
    tool.chmod(0o755)
    begin = time.monotonic()
    with pytest.raises(CompileError, match="no end after 2 s"):
        compiled(COPY, assembler=str(tool), timeout=2)
    assert time.monotonic() - begin < 20
    assert ends(int(started.read_text()))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"timeout": "3"}, TypeError, "timeout is a number of seconds or None, not str"),
        ({"timeout": float("inf")}, ValueError, "timeout is inf, needed: more than 0"),
        ({"timeout": float("nan")}, ValueError, "timeout is nan"),
        ({"timeout": 0}, ValueError, "timeout is 0"),
        ({"timeout": "abc", "isolate": False}, TypeError, "timeout is a number"),
        ({"isolate": "x"}, TypeError, "isolate is True, False or None, not str"),
        ({"opt_level": True}, ValueError, "opt_level is 0, 1, 2 or 3"),
    ],
)
def test_options_are_checked(options, error, said):
    with pytest.raises(error, match=said):
        compiled(COPY, **options)


@pytest.mark.parametrize("cache", ["/tmp", 3, None])
def test_a_cache_is_one(cache):
    with pytest.raises(TypeError, match="cache is True, False or a DiskCache"):
        tma_mlir.compile(COPY, "sm_90a", cache=cache)


def test_an_assembler_that_writes_nothing_is_an_assembler_error():
    with pytest.raises(AssemblerError, match="wrote no cubin"):
        compiled(COPY, assembler="/bin/true")
