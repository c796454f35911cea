"""``--version``: this package, and everything that takes part in what it makes."""

from __future__ import annotations

import platform
from importlib import metadata

from .. import __version__
from ..bindings import chosen
from ..chips import CHIPS, DEFAULT_CHIP, chip


def version_text(program: str) -> str:
    """One line for each part; one that is missing says so."""
    versions = sorted({chip(name).ptx for name in CHIPS})
    lines = [
        f"{program} (tma_mlir) {__version__}",
        f"MLIR and LLVM {_mlir()}",
        f"PTX {_ptx(chip(DEFAULT_CHIP).ptx)} for {DEFAULT_CHIP}, up to {_ptx(versions[-1])} for other chips",
        f"nvJitLink {_nvjitlink()}",
        f"CUDA driver {_driver()}",
        f"Python {platform.python_version()}, NumPy {metadata.version('numpy')}",
    ]
    return "\n".join(lines)


def _ptx(version: int) -> str:
    return f"{version // 10}.{version % 10}"


def _mlir() -> str:
    """The version of the distribution that the bindings come from; of the plain ``mlir``, that is MLIR's and LLVM's."""
    try:
        package = chosen()
    except ImportError:
        return "is not installed"
    core = package.replace(".", "/") + "/ir.py"
    for name in dict.fromkeys(metadata.packages_distributions().get(package.split(".")[0], ())):
        if any(str(file) == core for file in metadata.files(name) or ()):
            version = metadata.version(name)
            if package != "mlir":
                return f"of the package {package} ({name} {version})"
            return f"{'.'.join(version.split('.')[:3])} ({name} {version})"
    return "of unknown version" if package == "mlir" else f"of the package {package}"


def _nvjitlink() -> str:
    from ..assembler import AssemblerError, assembler_version

    try:
        return assembler_version().removeprefix("nvjitlink ")
    except AssemblerError:
        return "is not installed"


def _driver() -> str:
    from ..runtime.driver import driver_version
    from ..runtime.errors import NoDevice

    try:
        version = driver_version()
    except NoDevice:
        return "is not usable here"
    return f"for CUDA {version // 1000}.{version % 1000 // 10}"
