"""Changes tried one by one, each in a fork of a process that has collected all tests."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .coverage_map import TOP
from .operators import Mutant
from .swap import CannotSwap, swap

KILLED, SURVIVED, TIMEOUT, UNCOVERED = "killed", "survived", "timeout", "not covered"
MOST_ANEW = 120
"""Tests of a change outside of functions: everything is imported again, so that the command line is the limit."""
MEMORY_LIMIT = 16 << 30
_CANNOT_SWAP = 75


class Trials:
    """Tries changes with the ``items`` that pytest collected, by their place in the map.

    ``seconds``: the most that the tests of one change may take.
    """

    def __init__(self, items: dict[int, pytest.Item], times: list[float], seconds: float, log: Path):
        self.items = items
        self.times = times
        self.seconds = seconds
        self.log = log

    def outcome(self, mutant: Mutant, order: list[int]) -> tuple[str, int]:
        """What becomes of the change, and how many tests saw it. ``order``: the tests that could, fastest first."""
        order = self._affordable([test for test in order if test in self.items])
        if not order:
            return UNCOVERED, 0
        limit = 10 + 3 * sum(self.times[test] for test in order)
        child = os.fork()
        if child == 0:
            self._in_child(mutant, order)
        ends = time.monotonic() + limit
        while time.monotonic() < ends:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                if code == _CANNOT_SWAP:
                    return self._anew(mutant, order[:MOST_ANEW])
                return SURVIVED if code == 0 else KILLED, len(order)
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return TIMEOUT, len(order)

    def _anew(self, mutant: Mutant, order: list[int]) -> tuple[str, int]:
        """The outcome where everything has to be imported anew."""
        file = TOP / mutant.path
        names = [self.items[test].nodeid for test in order]
        asked = {"file": str(file), "changed": mutant.applied(file.read_bytes()).decode(), "tests": names}
        child = subprocess.Popen(
            [sys.executable, "-m", "mutation.anew"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=TOP,
        )
        try:
            child.communicate(json.dumps(asked).encode(), timeout=30 + 3 * sum(self.times[test] for test in order))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return TIMEOUT, len(order)
        return SURVIVED if child.returncode == 0 else KILLED, len(order)

    def passing(self, order: list[int]) -> list[int]:
        """The tests that pass without a change, in a process of their own each time that one fails."""
        good: list[int] = []
        while order:
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reader)
                self._in_child(None, order, writer)
            os.close(writer)
            with os.fdopen(reader, "rb") as lines:
                count = len(lines.read())
            os.waitpid(child, 0)
            good += order[:count]
            order = order[count + 1 :]
        return good

    def _affordable(self, order: list[int]) -> list[int]:
        """Two tests of each function first, then the rest, as long as there is time."""
        counts: dict[str, int] = {}
        first, rest = [], []
        for test in order:
            function = self.items[test].nodeid.partition("[")[0]
            counts[function] = counts.get(function, 0) + 1
            (first if counts[function] <= 2 else rest).append(test)
        total, chosen = 0.0, []
        for test in first + rest:
            total += self.times[test]
            if total > self.seconds and chosen:
                break
            chosen.append(test)
        return chosen

    def _in_child(self, mutant: Mutant | None, order: list[int], done: int | None = None) -> None:
        code = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
            sink = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            if mutant is not None:
                file = TOP / mutant.path
                before = file.read_bytes()
                gc.unfreeze()  # or functions are not found
                swap(file, before, mutant.applied(before))
            code = self._run(order, done)
        except CannotSwap:
            code = _CANNOT_SWAP
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(code)

    def _run(self, order: list[int], done: int | None) -> int:
        items = [self.items[test] for test in order]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if item.session.testsfailed:
                return 1
            if done is not None:
                os.write(done, b".")
        return 0
