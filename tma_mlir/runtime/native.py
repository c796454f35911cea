"""Launches in C, where a compiler is there to build them: ``native_launch.c``, compiled once a machine and kept.

Python needs about 0.5 us to read one tensor, so a launch with five of them costs more in reading than in launching. The
DLPack C exchange API (DLPack 1.3; PyTorch from 2.10 on) reads one in 0.03 us, but is for C only. Without it, without a
compiler or with ``TMA_MLIR_NATIVE=0``, launches go through ``fast_keys``, with the same results.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..abi.signature import KernelSignature, ScalarArgument
from .disk_cache import default_folder, digest
from .specialise import Specialisation

SOURCE = Path(__file__).parent / "native_launch.c"
FLAGS = ("-O2", "-shared", "-fPIC")
COMPILE_SECONDS = 60
_EXCHANGE = "__dlpack_c_exchange_api__"

why_not = ""
"""Why launches are not native here, once ``module`` was asked."""


_loading = threading.Lock()


def module() -> Any:
    """The extension module, or None with the reason in ``why_not``."""
    with _loading:
        return _module()


@cache
def _module() -> Any:
    global why_not
    try:
        return _load()
    except (ImportError, OSError, subprocess.SubprocessError) as error:
        why_not = str(error)
        return None


def _load() -> Any:
    if os.environ.get("TMA_MLIR_NATIVE", "1") == "0":
        raise ImportError("TMA_MLIR_NATIVE=0")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ImportError("this Python has no global lock")
    source, suffix = SOURCE.read_bytes(), str(sysconfig.get_config_var("EXT_SUFFIX"))
    name = f"native_launch-{digest(source, sys.version, suffix)[:16]}{suffix}"
    folder = default_folder() / "native"
    if not (folder / name).exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                os.replace(_build(Path(scratch)), folder / name)
        except OSError:  # a folder that cannot be used: build for this process alone
            with tempfile.TemporaryDirectory() as scratch:
                return _import(_build(Path(scratch)))
    return _import(folder / name)


def _build(folder: Path) -> Path:
    """Compiles into ``folder``; raises ``ImportError`` with what the compiler said."""
    candidates = [os.environ.get("CC", "").split(" ")[0], "cc", "gcc", "clang"]
    compiler = next((found for each in candidates if each and (found := shutil.which(each))), None)
    if compiler is None:
        raise ImportError("no C compiler: neither cc, gcc nor clang is on the PATH, and CC is not set")
    target = folder / "native_launch.so"
    include = sysconfig.get_path("include")
    command = [compiler, *FLAGS, "-I", include, str(SOURCE), "-o", str(target), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
    if done.returncode:
        raise ImportError(f"{compiler} failed: {done.stderr[-2000:]}")
    return target


def _import(path: Path) -> Any:
    loader = importlib.machinery.ExtensionFileLoader("native_launch", str(path))
    spec = importlib.util.spec_from_loader("native_launch", loader)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    return made


@cache
def readable(kind: type) -> bool:
    """Whether arrays of exactly this type can be read in C. Subclasses may mean something else by their memory."""
    torch = sys.modules.get("torch")
    capsule = vars(kind).get(_EXCHANGE)
    if capsule is None and torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        capsule = getattr(kind, _EXCHANGE, None)
    if type(capsule).__name__ != "PyCapsule":
        return False
    with contextlib.suppress(ValueError):
        return module().learn_type(kind, capsule)
    return False


def wanted() -> bool:
    """Whether arrays may come that can be read in C: without PyTorch nothing is built."""
    return "torch" in sys.modules


def launch(slow: Callable[..., None], alive: bytearray) -> Callable[..., None]:
    """A function that launches for arguments it was told of (``teach``) while ``alive[0]``, else calls ``slow``; the
    latter itself where launches are not native."""
    made = module()
    return slow if made is None else made.Launch(slow, alive)


_FLOATS = {"f32": 1, "f64": 2}


def _scalar(argument: Any, fixed: bool) -> tuple[int, int, int, bool] | None:
    """(kind, lowest, highest, fixed) of a number; None for an array. Raises ``TypeError`` for other numbers."""
    if not isinstance(argument, ScalarArgument):
        return None
    dtype = argument.dtype
    if dtype.is_float:
        if dtype.name not in _FLOATS:
            raise TypeError(f"numbers of type {dtype} are converted by NumPy")
        return _FLOATS[dtype.name], 0, 0, fixed
    bits = 1 if dtype.name == "i1" else dtype.bits
    low = 0 if dtype.name.startswith("u") or bits == 1 else -(1 << (bits - 1))
    return 0, low, (1 << bits) - 1, fixed


def teach(
    launcher: Any,
    signature: KernelSignature,
    special: Specialisation,
    arguments: Sequence[Any],
    fixed: frozenset[int],
    one_device: bool,
) -> bool:
    """Makes the launch that was done for ``arguments`` known to ``launcher``, which ``launch`` made; False if it is not
    of the kind that can be launched in C. ``fixed``: the numbers that descriptors depend on."""
    shape = special.launcher.shape
    arrays = [given for given, wanted in zip(arguments, signature.arguments, strict=True)
              if not isinstance(wanted, ScalarArgument)]  # fmt: skip
    if not shape.plain or not all(readable(type(array)) for array in arrays):
        return False
    block = special.descriptors
    try:
        scalars = tuple(_scalar(each, index in fixed) for index, each in enumerate(signature.arguments))
        function = int(special.launcher.function.handle)
    except (TypeError, ValueError):
        return False
    repairs = sum(1 << position // 128 for position in block.repairs)
    return launcher.add(
        tuple(arguments), scalars, function, (*shape.grid, *shape.block, shape.shared_bytes),
        -1 if one_device else special.launcher.device, block.data, special.targets,
        tuple((-1 if index is None else index, value) for index, value in special.words), repairs,
    )  # fmt: skip
