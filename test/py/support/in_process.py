"""pytest plugin (``-p support.in_process``): text is compiled in this process, nothing is remembered between tests.

Coverage and mutation testing use it. The code of a child process is neither measured nor changed, and a test that gets
what another one computed would seem to run none of that code.
"""

from __future__ import annotations

import functools
import sys

import pytest


@pytest.fixture(autouse=True)
def _compiles_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from tma_mlir import api

    monkeypatch.setattr(api, "can_isolate", lambda: False)
    _forget()


def _forget() -> None:
    from tma_mlir.plan import planner

    planner._plans.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("tma_mlir"):
            for each in list(vars(module).values()):
                if isinstance(each, functools._lru_cache_wrapper):
                    each.cache_clear()
