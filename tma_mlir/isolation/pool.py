"""Workers that are kept warm: as many as threads compile at once, and a few when none does."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from ..bindings.choice import VARIABLE, chosen
from .crash import Death
from .notes import Notes
from .wire import packed, receive

Answer = tuple[dict[str, Any], bytes]
"""A header and the content that came with it."""

KEPT = 2
"""Idle workers; each holds about 100 MB."""
REQUESTS = 1000
"""After which a worker is replaced, so that what MLIR never frees does not add up."""
AVAILABLE = hasattr(os, "fork") and sys.platform != "win32"
"""Whether this system has what workers need: pipes that can be inherited and waited for."""


class Worker:
    """One child process. Used by one thread at a time."""

    def __init__(self) -> None:
        alive, self._lifeline = os.pipe()
        self._notes, self.requests = Notes(), 0
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        package = Path(__file__).resolve().parents[1]
        path = os.pathsep.join([str(package.parent), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{package.name}.isolation.worker", str(alive), str(self._notes.handle)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            pass_fds=(alive, self._notes.handle),
            # Modules come from where the host has them, and not from a file of that name in its working directory.
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", VARIABLE: chosen()},
            bufsize=0,
            start_new_session=True,
        )
        os.close(alive)

    def ask(self, header: dict[str, Any], content: bytes, seconds: float | None) -> Answer | Death:
        """The answer to one request, or how the worker died. ``seconds``: after which it is killed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self.requests += 1
        self._printed.seek(0)
        self._printed.truncate()
        self._notes.clear()
        try:
            self._send(packed(header, content))
            answer = receive(lambda count: self._read(count, deadline))
        except (EOFError, BrokenPipeError):
            return self._death(None)
        except TimeoutError:
            return self._death(seconds)
        except BaseException:  # Ctrl-C: nobody wants the answer
            self.close()
            raise
        if text := self._said():
            sys.stderr.write(text)
        return answer

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._process.stdin.fileno(), view) :]

    def _read(self, count: int, deadline: float | None) -> bytes:
        assert self._process.stdout is not None
        handle, parts = self._process.stdout.fileno(), []
        while count:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            if not select.select([handle], [], [], left)[0]:
                raise TimeoutError
            part = os.read(handle, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _said(self) -> str:
        self._printed.seek(0)
        return self._printed.read().decode(errors="replace")

    def _death(self, seconds: float | None) -> Death:
        if seconds is not None:
            self._end()
        # It has closed its pipe, so it is about to end.
        status = self._process.wait()
        death = Death(status, self._notes.read(), self._said(), seconds)
        self.close()
        return death

    def lives(self) -> bool:
        return self._process.poll() is None

    def _end(self) -> None:
        """Kills the worker, and the assembler that it may wait for."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def forget(self) -> None:
        """Gives up the handles of a worker that belongs to another process."""
        for handle in (self._process.stdin, self._process.stdout, self._printed):
            with contextlib.suppress(OSError):
                if handle is not None:
                    handle.close()
        for number in (self._lifeline, self._notes.handle):
            with contextlib.suppress(OSError):
                os.close(number)
        self._process.returncode = 0  # it is not ours to wait for

    def close(self) -> None:
        """Ends the worker. Its death needs no waiting for: it has nothing to finish."""
        if self._process.poll() is None:
            self._end()
            self._process.wait()
        self.forget()


class Pool:
    """Idle workers, the one used last first. For any number of threads."""

    def __init__(self) -> None:
        self._lock, self._idle = threading.Lock(), []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(self, header: dict[str, Any], content: bytes, seconds: float | None) -> Answer | Death:
        """As ``Worker.ask``, by any worker."""
        worker = self._living() or Worker()
        answer = worker.ask(header, content, seconds)
        if isinstance(answer, Death):
            return answer
        with self._lock:
            keep = len(self._idle) < KEPT and worker.requests < REQUESTS
            if keep:
                self._idle.append(worker)
        if not keep:
            worker.close()
        return answer

    def _living(self) -> Worker | None:
        """An idle worker that nobody has killed meanwhile."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None or worker.lives():
                return worker
            worker.close()

    def close(self) -> None:
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()

    def _forget(self) -> None:
        """In a forked child: the workers are its parent's."""
        self._lock = threading.Lock()
        workers, self._idle = self._idle, []
        for worker in workers:
            worker.forget()


POOL = Pool()
