"""``--version``: this package, and everything that takes part in what it makes."""

from __future__ import annotations

import platform
from importlib import metadata

from .. import __version__
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
    """The version of the distribution that the package ``mlir`` comes from, which is MLIR's and LLVM's."""
    for name in dict.fromkeys(metadata.packages_distributions().get("mlir", ())):
        if any(str(file) == "mlir/ir.py" for file in metadata.files(name) or ()):
            return f"{'.'.join(metadata.version(name).split('.')[:3])} ({name} {metadata.version(name)})"
    try:
        import mlir.ir  # noqa: F401
    except ImportError:
        return "is not installed"
    return "of unknown version"


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
