"""PTX to cubin, in process through nvJitLink or with a ``ptxas`` executable.

nvJitLink needs neither the CUDA driver nor a toolkit: the ``nvidia-nvjitlink`` wheel is enough, and
``cuda.bindings`` finds it. Imports no MLIR, and the library only when something is assembled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from .chips import chip as known_chip


class AssemblerError(RuntimeError):
    """The PTX was not assembled. ``plain`` is the message without the ``log``, which is all that the
    assembler said; ``chip`` what it was asked for."""

    def __init__(self, message: str, *, chip: str, log: str = "") -> None:
        super().__init__(f"{message}\n{log.rstrip()}" if log.strip() else message)
        self.plain, self.chip, self.log = message, chip, log

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(AssemblerError, self.plain, chip=self.chip, log=self.log), ()


@dataclass(frozen=True)
class Resources:
    """What one kernel uses.

    ``registers``, ``stack_bytes`` and the spills are per thread; ``barriers`` counts named barriers. ``shared_bytes``
    is static shared memory without the system's share (1 KiB on sm_90); ptxas counts alignment gaps, nvJitLink not.
    """

    registers: int
    barriers: int = 0
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0


@dataclass(frozen=True)
class Cubin:
    """An ELF image for one chip. ``resources`` by kernel name; ``assembler`` names the tool and its version."""

    data: bytes
    log: str
    chip: str
    assembler: str
    resources: dict[str, Resources]


def assemble(ptx: str, chip: str, *, assembler: str = "nvjitlink", options: Sequence[str] = ()) -> Cubin:
    """Assembles ``ptx`` for ``chip`` (``sm_90a``).

    ``assembler`` is ``nvjitlink``, ``ptxas`` (found on the PATH, in CUDA_HOME or in a wheel) or the path of one.
    ``options`` go to the assembler as they are, e.g. ``-maxrregcount=64`` or ``-lineinfo``.
    Raises ``AssemblerError`` with the assembler's log.
    """
    # nvJitLink 13.5 crashes the process on some malformed names ("sm_9"), so they must not reach it.
    try:
        known_chip(chip)
    except ValueError as error:
        raise AssemblerError(str(error), chip=chip) from None
    if assembler == "nvjitlink":
        data, log = _with_nvjitlink(ptx.encode(), chip, options)
    else:
        data, log = _with_ptxas(ptx, chip, find_ptxas() if assembler == "ptxas" else assembler, options)
    return Cubin(data, log, chip, assembler_version(assembler), parse_resources(log))


VERSION_SECONDS = 10
"""A tool that does not say its version by then is not an assembler."""


@cache
def assembler_version(assembler: str = "nvjitlink") -> str:
    """The tool and its version: what a cache of cubins must hold in its key."""
    if assembler == "nvjitlink":
        major, minor = _nvjitlink().version()
        return f"nvjitlink {major}.{minor}"
    path = find_ptxas() if assembler == "ptxas" else assembler
    try:
        command = [path, "--version"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=VERSION_SECONDS).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise AssemblerError(f"{path} does not run: {error}", chip="") from None
    version = re.search(r"V([0-9.]+)", text)
    return f"ptxas {version[1] if version else text.strip()}"


@cache
def find_ptxas() -> str:
    """Path of a ``ptxas``: TMA_MLIR_PTXAS, the PATH, CUDA_HOME, the toolkit's usual place, the nvcc wheel, Triton's."""
    candidates = [os.environ.get("TMA_MLIR_PTXAS"), shutil.which("ptxas")]
    candidates += [f"{root}/bin/ptxas" for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if root]
    for package, places in (("nvidia", ("cu*/bin", "cuda_nvcc/bin")), ("triton", ("backends/nvidia/bin",))):
        for place in places:
            candidates += [str(path) for path in _in_packages(package, f"{place}/ptxas")]
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return path
    raise AssemblerError(
        "no ptxas found on the PATH, in CUDA_HOME or in a wheel. Set TMA_MLIR_PTXAS to one, or use "
        "assembler='nvjitlink', which needs none",
        chip="",
    )


def _in_packages(package: str, pattern: str) -> list[Path]:
    from importlib.util import find_spec

    spec = find_spec(package)
    roots = spec.submodule_search_locations if spec else None
    return [path for root in roots or () for path in sorted(Path(root).glob(pattern))]


@cache
def _nvjitlink():
    """``cuda.bindings.nvjitlink`` with its library loaded."""
    try:
        from cuda.bindings import nvjitlink
    except ImportError as error:
        raise AssemblerError(f"cuda.bindings is missing ({error}): pip install 'tma-mlir[cuda]'", chip="") from None
    try:
        nvjitlink.version()
    except Exception as error:  # cuda.pathfinder's own classes, which differ between its versions
        raise AssemblerError(f"nvJitLink is missing ({error}): pip install 'tma-mlir[cuda]'", chip="") from None
    return nvjitlink


def _with_nvjitlink(ptx: bytes, chip: str, options: Sequence[str]) -> tuple[bytes, str]:
    link = _nvjitlink()
    arguments = [f"-arch={chip}", "-verbose", *options]
    try:
        handle = link.create(len(arguments), arguments)
    except link.nvJitLinkError as error:
        version = "{}.{}".format(*link.version())
        raise AssemblerError(
            f"nvJitLink {version} does not take {' '.join(arguments)}: {error}. If the chip is newer than the library, "
            "upgrade nvidia-nvjitlink",
            chip=chip,
        ) from None
    try:
        # The library reads PTX as a C string; the size counts the closing zero.
        link.add_data(handle, link.InputType.PTX, ptx + b"\0", len(ptx) + 1, "kernel.ptx")
        link.complete(handle)
        data = bytearray(link.get_linked_cubin_size(handle))
        link.get_linked_cubin(handle, data)
        return bytes(data), _log(link.get_info_log_size, link.get_info_log, handle)
    except link.nvJitLinkError as error:
        log = _log(link.get_error_log_size, link.get_error_log, handle)
        raise AssemblerError(f"nvJitLink refused the PTX for {chip}: {error}", chip=chip, log=log) from None
    finally:
        link.destroy(handle)


def _log(size, read, handle: int) -> str:
    buffer = bytearray(size(handle))
    if buffer:
        read(handle, buffer)
    return bytes(buffer).rstrip(b"\0").decode(errors="replace")


def _with_ptxas(ptx: str, chip: str, path: str, options: Sequence[str]) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="tma_mlir_") as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [path, f"-arch={chip}", "-v", *options, str(source), "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise AssemblerError(f"{path} does not run: {error}", chip=chip) from None
        log = done.stderr + done.stdout
        if done.returncode:
            raise AssemblerError(f"{path} refused the PTX for {chip}", chip=chip, log=log)
        try:
            return target.read_bytes(), log
        except OSError:
            raise AssemblerError(f"{path} ended without an error and wrote no cubin", chip=chip, log=log) from None


def parse_resources(log: str) -> dict[str, Resources]:
    """Reads the verbose log of ptxas or nvJitLink; a kernel the log does not speak of is absent."""
    resources: dict[str, Resources] = {}
    entry, properties = None, ""
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            entry, properties = match[1], ""
        elif entry and "stack frame" in line:
            properties = line
        elif entry and "Used " in line:
            properties += line
            resources[entry] = Resources(
                registers=_number(r"Used (\d+) registers", properties),
                barriers=_number(r"used (\d+) barriers", properties),
                shared_bytes=_number(r"(\d+) bytes smem", properties),
                stack_bytes=_number(r"(\d+) bytes stack frame", properties),
                spill_store_bytes=_number(r"(\d+) bytes spill stores", properties),
                spill_load_bytes=_number(r"(\d+) bytes spill loads", properties),
            )
            entry = None
    return resources


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else 0
