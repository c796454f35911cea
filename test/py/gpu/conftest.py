"""GPU tests run where there is a GPU with tensor maps, and are skipped with the reason elsewhere.

``python -m pytest test/py/gpu -q`` runs all of them, each file in a process of its own (see ``isolation``). Numbers
that tests measure are printed at the end.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import Kernel

from . import isolation
from .kernels import make_scale_kernel, make_tile_kernel

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX shares the GPU with the others here

WHY_NOT = """
from tma_mlir.runtime import NoDevice, driver
try:
    found = driver.device(0)
    print("" if found.capability >= (9, 0) else f"{found.name} is {found.chip}, tensor maps need sm_90")
except NoDevice as error:
    print(error)
"""


@functools.cache
def why_not() -> str:
    """Why GPU tests cannot run here; empty if they can. Another process looks, so that this one stays without CUDA."""
    done = subprocess.run([sys.executable, "-c", WHY_NOT], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/test/py/gpu/" in str(item.path):
            item.add_marker(pytest.mark.gpu)
            if not isolation.in_child() and why_not():
                item.add_marker(pytest.mark.skip(reason=f"no GPU to test on: {why_not()}"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    # The hook sees the items of other folders too.
    if item.path.parent != Path(__file__).parent or isolation.in_child() or why_not():
        return None
    isolation.run(item, nextitem)
    return True


def pytest_configure(config: pytest.Config) -> None:
    if isolation.in_child():
        config.pluginmanager.register(isolation.Reporter(config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "measured" and report.when == "call":
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")


def pytest_unconfigure() -> None:
    isolation.stop()


@pytest.fixture(scope="session")
def tile_kernel() -> Callable[[str, TensorMap], Kernel]:
    """``make_tile_kernel``."""
    return make_tile_kernel


@pytest.fixture
def scale() -> Kernel:
    """``make_scale_kernel``."""
    return make_scale_kernel()


@pytest.fixture
def torch():
    """PyTorch with CUDA, or a skip."""
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return module


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
