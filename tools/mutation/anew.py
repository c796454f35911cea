"""Run tests with one file changed as it is imported: for changes outside of functions. Called by trial.py."""

from __future__ import annotations

import importlib.machinery
import json
import sys
from pathlib import Path

import pytest

from .coverage_map import PYTEST_OPTIONS


class ChangedFile(importlib.machinery.SourceFileLoader):
    """Loads one file from other text than it has, and keeps nothing of it."""

    changed: bytes = b""

    def get_code(self, fullname: str):
        return self.source_to_code(self.changed, self.path)


class Finder(importlib.machinery.PathFinder):
    """Finds ``file`` with the changed text, all else as usual."""

    file: Path

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        spec = super().find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None and Path(spec.origin) == cls.file:
            spec.loader = ChangedFile(fullname, spec.origin)
        return spec


def main() -> int:
    asked = json.loads(sys.stdin.read())
    Finder.file = Path(asked["file"])
    ChangedFile.changed = asked["changed"].encode()
    sys.meta_path.insert(0, Finder)
    sys.dont_write_bytecode = True
    return int(pytest.main(["-x", "--tb=no", *PYTEST_OPTIONS, *asked["tests"]]))


if __name__ == "__main__":
    sys.exit(main())
