"""Runs a checkout's ``bench/launch.py`` where there is no GPU, so that only the time of this package counts.

``python bench/without_gpu.py CHECKOUT/bench/launch.py [options]``. Calls of the driver go to the stand-in of the tests,
compiled to do nothing and to print nothing; PyTorch's tensors are real ones of the CPU that say they are on GPU 0.
Needs a C compiler and PyTorch.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STAND_IN = Path(__file__).parents[1] / "test" / "py" / "runtime" / "stub_driver.c"
_READY = "TMA_MLIR_BENCH_STAND_IN"
"""Set for the process that finds the stand-in on its library path."""


def build(folder: Path) -> None:
    """The stand-in as ``libcuda.so.1`` in ``folder``."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        sys.exit("bench/without_gpu.py needs a C compiler")
    command = [compiler, "-O2", "-shared", "-fPIC", "-DQUIET", "-Wl,-soname,libcuda.so.1", str(STAND_IN)]
    subprocess.run([*command, "-o", str(folder / "libcuda.so.1"), "-ldl"], check=True)


def pretend(torch: Any) -> None:
    """Makes tensors of the CPU look like those of GPU 0 wherever Python looks. C reads them as they are."""
    zeros, place = torch.zeros, SimpleNamespace(type="cuda", index=0)
    torch.zeros = lambda *shape, device=None, **options: zeros(*shape, **options)
    torch.Tensor.is_cuda = property(lambda tensor: True)
    torch.Tensor.device = property(lambda tensor: place)
    torch.Tensor.get_device = lambda tensor: 0
    torch._C._cuda_getCurrentRawStream = abs  # of GPU 0: stream 0
    torch.cuda.synchronize = lambda: None
    torch.cuda.current_stream = lambda: SimpleNamespace(cuda_stream=0)


def main() -> int:
    if _READY not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder))
            environment = {**os.environ, _READY: "1", "LD_LIBRARY_PATH": folder}
            return subprocess.run([sys.executable, *sys.argv], env=environment).returncode
    import torch

    pretend(torch)
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
