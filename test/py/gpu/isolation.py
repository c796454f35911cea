"""GPU tests in processes of their own: a lost context costs one test, and not all that follow.

The tests of one file run in one child, which is asked for them one by one and sends their reports back. A child whose
context is lost (a sticky CUDA error), that died or that does not answer is replaced for the next test.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

_CHILD = "TMA_MLIR_GPU_TESTS_CHILD"
"""Set for a child: the descriptors that it reads requests from and writes reports to."""

PATIENCE_SECONDS = 400
"""A test that takes longer hangs, for example at an mbarrier that is never completed."""

OPTIONS = "-p no:terminal -p no:cacheprovider -o addopts= --import-mode=importlib"


def in_child() -> bool:
    return _CHILD in os.environ


class Child:
    """A pytest that runs tests of ``path`` on request."""

    def __init__(self, path: str, root: str) -> None:
        self.path = path
        requests, self._requests = os.pipe()
        self._reports, reports = os.pipe()
        self._rest = b""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # closed by stop
        command = f"-m pytest {OPTIONS}".split()
        self._process = subprocess.Popen(
            [sys.executable, *command, path], cwd=root, env={**os.environ, _CHILD: f"{requests},{reports}"},
            pass_fds=(requests, reports), stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output,
        )  # fmt: skip
        os.close(requests)
        os.close(reports)

    def ask(self, nodeid: str, following: str | None) -> Iterator[dict[str, Any]]:
        """Reports of one test. Ends early if the child dies; raises ``TimeoutError`` if it does not answer."""
        try:
            os.write(self._requests, json.dumps([nodeid, following]).encode() + b"\n")
        except BrokenPipeError:
            return
        while (message := self._read()) is not None and message:
            yield message

    def _read(self) -> dict[str, Any] | None:
        while b"\n" not in self._rest:
            if not select.select([self._reports], [], [], PATIENCE_SECONDS)[0]:
                raise TimeoutError(f"no answer in {PATIENCE_SECONDS} s")
            more = os.read(self._reports, 1 << 16)
            if not more:
                return None
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def stop(self) -> str:
        """Ends the process; how it ended and the last it printed."""
        os.close(self._requests)
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        os.close(self._reports)
        with self._output as output:
            output.seek(max(0, output.seek(0, os.SEEK_END) - 4000))
            return f"the process ended with {code}:\n{output.read().decode(errors='replace')}"


_child: Child | None = None


def run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Runs ``item`` in the child of its file."""
    global _child
    hook, config = item.ihook, item.config
    if _child is not None and _child.path != str(item.path):
        stop()
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    following = nextitem.nodeid if nextitem is not None and nextitem.path == item.path else None
    finished, reason = False, ""
    if _child is None:
        _child = Child(str(item.path), str(config.rootpath))
    try:
        for message in _child.ask(item.nodeid, following):
            report = config.hook.pytest_report_from_serializable(config=config, data=message)
            if isinstance(report.longrepr, list):  # where a skip was: JSON has no tuples
                report.longrepr = tuple(report.longrepr)
            finished = finished or report.when == "teardown"
            hook.pytest_runtest_logreport(report=report)
            if "lost" in message:
                stop()
                break
    except TimeoutError as error:
        reason = f"{error}; "
        _child._process.kill()
    if not finished:
        failure = reason + stop()
        hook.pytest_runtest_logreport(
            report=pytest.TestReport(item.nodeid, item.location, {}, "failed", failure, "call", duration=0)
        )
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def stop() -> str:
    """Ends the child, if there is one."""
    global _child
    child, _child = _child, None
    return child.stop() if child is not None else ""


class Reporter:
    """The child's plugin: runs tests as they are asked for and sends their reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config, self._failed = config, False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        with open(int(os.environ[_CHILD].split(",")[0])) as requests:
            for line in requests:
                nodeid, following = json.loads(line)
                item = items[nodeid]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=items.get(following))
                _send({})
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After a failure the last report says whether the context is lost, and then the child ends."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._failed = self._failed or report.failed
        if report.when == "teardown" and self._failed:
            self._failed = False
            if context_lost():
                _send({**data, "lost": True})
                os._exit(1)
        _send(data)


def context_lost() -> bool:
    from tma_mlir.runtime import RuntimeFault, driver

    try:
        with driver.current(0):
            driver.call("cuCtxSynchronize")
    except RuntimeFault:
        return True
    return False


def _send(data: dict[str, Any]) -> None:
    left = json.dumps(data, default=str).encode() + b"\n"
    while left:
        left = left[os.write(int(os.environ[_CHILD].split(",")[1]), left) :]
