"""Launches in C: ``native_launch.c``, built with the package where there is a C compiler.

Python needs about 0.5 us to read one tensor, so a launch with five of them costs more in reading than in launching. The
DLPack C exchange API (DLPack 1.3; PyTorch from 2.10 on) reads one in 0.03 us, but is for C only. Without it, without
the extension or with ``TMA_MLIR_NATIVE=0``, launches go through Python, with the same results.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..abi.signature import KernelSignature, ScalarArgument
from . import native_build
from .disk_cache import default_folder, digest
from .specialise import Specialisation

_EXCHANGE = "__dlpack_c_exchange_api__"
_REMEDY = "install the package again where there are a C compiler and Python's headers, or set TMA_MLIR_NATIVE=build"

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
    chosen = os.environ.get("TMA_MLIR_NATIVE", "1")
    if chosen == "0":
        raise ImportError("TMA_MLIR_NATIVE=0")
    never = native_build.why_never()
    if never:
        raise ImportError(never)
    installed = Path(__file__).with_name(native_build.file_name())
    if installed.exists() and native_build.is_current(installed):
        return _import(installed)
    if chosen == "build":
        return _build()
    if installed.exists():
        raise ImportError(f"{installed} was built of another version of native_launch.c: {_REMEDY}")
    raise ImportError(f"native_launch was not built with this package: {_REMEDY}")


def _build() -> Any:
    """The module built here, once for all processes that share the cache folder."""
    name = native_build.file_name()
    folder = default_folder() / "native" / digest(native_build.source_digest(), sys.version)[:16]
    if not (folder / name).exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                os.replace(native_build.compile_into(Path(scratch)), folder / name)
        except OSError:  # a folder that cannot be used: build for this process alone
            with tempfile.TemporaryDirectory() as scratch:
                return _import(native_build.compile_into(Path(scratch)))
    return _import(folder / name)


def _import(path: Path) -> Any:
    name = f"{__package__}.native_launch"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
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
    if not hasattr(launcher, "add"):
        return False
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
