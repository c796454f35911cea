"""Lets pytest run the lit tests: each file under test/lit and examples is one item, run by lit's own library."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parent
LIT_FOLDERS = (TOP / "test" / "lit", TOP / "examples")
LIT_SUFFIXES = (".mlir", ".test")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    in_suite = any(folder in file_path.parents for folder in LIT_FOLDERS) and "Inputs" not in file_path.parts
    if in_suite and file_path.suffix in LIT_SUFFIXES:
        return LitFile.from_parent(parent, path=file_path)
    return None


@functools.cache
def _lit_config() -> Any:
    from lit.LitConfig import LitConfig

    return LitConfig(
        progname="lit",
        path=[],
        diagnostic_level="note",
        useValgrind=False,
        valgrindLeakCheck=False,
        valgrindArgs=[],
        noExecute=False,
        debug=False,
        isWindows=sys.platform == "win32",
        order="lexical",
        params={},
    )


class LitFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from lit import discovery

        for test in discovery.getTests(str(self.path), _lit_config(), {}, {})[1]:
            yield LitItem.from_parent(self, name="lit", test=test)


class LitFailure(Exception):
    """A lit test that failed; the text is lit's report."""


class LitItem(pytest.Item):
    def __init__(self, test: Any, **rest: Any):
        super().__init__(**rest)
        self.test = test

    def runtest(self) -> None:
        from lit import worker

        self.test.setResult(worker._execute(self.test, _lit_config()))
        result = self.test.result
        if result.code.name in ("UNSUPPORTED", "SKIPPED"):
            pytest.skip(result.output.strip() or result.code.name)
        if result.code.name == "XFAIL":
            pytest.xfail("expected by the test")
        if result.code.isFailure:
            raise LitFailure(f"{result.code.name}: {self.test.getFullName()}\n{result.output}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.test.getFullName()
