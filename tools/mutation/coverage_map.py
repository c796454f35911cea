"""Which tests run each line, and how long each takes: recorded once by coverage.py, read for every mutant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

TOP = Path(__file__).parents[2]
ROOMS = ("plan", "layout", "lower", "abi")
SUITES = (
    "plan",
    "layout",
    "abi",
    "lower",
    "passes",
    "analysis",
    "dialect",
    "compile",
    "sim",
    "matrix",
    "peers",
    "runtime",
)
"""Folders of test/py that run in one process; the others start the tools, and are too slow to run 7,000 times."""

PYTEST_OPTIONS = (
    *("-q", "-p", "support.in_process", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"),
    "--hypothesis-seed=0",
)
"""With which tests are run on a change."""


@dataclass(frozen=True)
class CoverageMap:
    """``lines[path][line]`` are places in ``tests``; ``seconds`` is what each took."""

    tests: list[str]
    seconds: list[float]
    lines: dict[str, dict[int, list[int]]]

    @classmethod
    def read(cls, path: Path) -> CoverageMap:
        content = json.loads(path.read_text())
        lines = {name: {int(line): tests for line, tests in of.items()} for name, of in content["lines"].items()}
        return cls(content["tests"], content["seconds"], lines)

    def covering(self, path: str, first: int, last: int) -> list[int]:
        """The tests that run one of these lines; fastest first."""
        of_file = self.lines.get(path, {})
        found = {test for line in range(first, last + 1) for test in of_file.get(line, ())}
        return sorted(found, key=lambda test: self.seconds[test])

    def touching(self, path: str) -> list[int]:
        """The tests that run any line of the file, those first that run most of it: for what runs at import."""
        counts: dict[int, int] = {}
        for tests in self.lines.get(path, {}).values():
            for test in tests:
                counts[test] = counts.get(test, 0) + 1
        return sorted(counts, key=lambda test: self.seconds[test] / counts[test])


def record(path: Path, workers: int, only: list[str]) -> None:
    """Run the suites under coverage.py, with a context for each test, and write the map; ``only`` some: add to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data_file, times = path.with_suffix(".coverage"), path.with_suffix(".xml")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), str(TOP / "test" / "py")])}
    environment["COVERAGE_FILE"] = str(data_file)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        str(workers),
        "-p",
        "support.in_process",
        f"--junitxml={times}",
    ]
    command += ["-o", "junit_family=xunit1", "--cov-branch", "--cov-context=test", "--cov-report="]
    command += [f"--cov=tma_mlir/{room}" for room in ROOMS]
    command += only or [f"test/py/{suite}" for suite in SUITES]
    done = subprocess.run(command, cwd=TOP, env=environment, check=False)
    if done.returncode > 1:  # 1: some tests are about child processes, and fail without; they are left out below
        sys.exit(f"error: pytest ended with {done.returncode}")
    content = _as_map(data_file, times)
    if only:
        content = _joined(json.loads(path.read_text()), content)
    path.write_text(json.dumps(content))
    lines = content["lines"]
    print(f"{len(content['tests'])} tests run {sum(map(len, lines.values()))} lines of {len(lines)} files")


def _as_map(data_file: Path, times: Path) -> dict[str, Any]:
    import coverage

    seconds = {}
    for case in ElementTree.parse(times).iter("testcase"):
        if not list(case):  # neither skipped nor failed
            seconds[f"{case.get('file')}::{case.get('name')}"] = float(case.get("time") or 0)

    data = coverage.CoverageData(str(data_file))
    data.read()
    tests: dict[str, int] = {}
    lines: dict[str, dict[int, list[int]]] = {}
    for measured in data.measured_files():
        of_file = lines.setdefault(str(Path(measured).relative_to(TOP)), {})
        for line, contexts in data.contexts_by_lineno(measured).items():
            named = {context.rpartition("|")[0] for context in contexts} & seconds.keys()
            of_file[line] = sorted(tests.setdefault(name, len(tests)) for name in named)
    return {"tests": list(tests), "seconds": [seconds[name] for name in tests], "lines": lines}


def _joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """``old`` with the tests of ``new`` in place of those of the same name, or added."""
    places = {name: place for place, name in enumerate(old["tests"])}
    moved = []
    for name, seconds in zip(new["tests"], new["seconds"], strict=True):
        if name not in places:
            places[name] = len(old["tests"])
            old["tests"].append(name)
            old["seconds"].append(seconds)
        moved.append(places[name])
    for path, lines in new["lines"].items():
        of_file = old["lines"].setdefault(path, {})
        for line, tests in lines.items():
            of_file[str(line)] = sorted({*of_file.get(str(line), ()), *(moved[test] for test in tests)})
    return old
