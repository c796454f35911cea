"""How ``native_launch.c`` is built: by setup.py with the package, by ``native`` only where that is asked for.

setup.py runs this file by its path before the package is there, so it imports the standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).with_name("native_launch.c")
LIBRARIES = ("dl",)
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILE_SECONDS = 60


def why_never() -> str:
    """Why no compiler could make the launcher for this Python; empty if one can."""
    if sys.platform != "linux":
        return f"there is no CUDA driver for {sys.platform}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "the list of known launches is guarded by the global lock, which this Python does not have"
    return ""


def strict() -> bool:
    """Whether the build has to succeed without a warning (``TMA_MLIR_WERROR=1``), as in continuous integration."""
    return os.environ.get("TMA_MLIR_WERROR", "0") not in ("", "0")


def file_name() -> str:
    """Name of the built file, which holds the version of this Python."""
    return f"native_launch{sysconfig.get_config_var('EXT_SUFFIX')}"


def source_digest() -> str:
    """Names this version of the source; hexadecimal."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


def macros() -> list[tuple[str, str]]:
    """What has to be defined to compile the source: its digest, which then stands in the built file."""
    return [("SOURCE_DIGEST", f'"{source_digest()}"')]


def is_current(built: Path) -> bool:
    """Whether ``built`` was made of this version of the source. It is read, not loaded."""
    return f"native_launch of {source_digest()}".encode() in built.read_bytes()


def compile_into(folder: Path) -> Path:
    """Compiles with the C compiler at hand (``CC``, else cc, gcc, clang); returns the file in ``folder``.

    Raises ``ImportError`` with what the compiler said.
    """
    candidates = [os.environ.get("CC", "").split(" ")[0], "cc", "gcc", "clang"]
    compiler = next((found for each in candidates if each and (found := shutil.which(each))), None)
    if compiler is None:
        raise ImportError("no C compiler: neither cc, gcc nor clang is on the PATH, and CC is not set")
    target = folder / file_name()
    defined = [f"-D{name}={value}" for name, value in macros()]
    libraries = [f"-l{name}" for name in LIBRARIES]
    command = [compiler, "-O2", "-shared", "-fPIC", *defined, "-I", sysconfig.get_path("include"), str(SOURCE)]
    done = subprocess.run(
        [*command, "-o", str(target), *libraries], capture_output=True, text=True, timeout=COMPILE_SECONDS
    )
    if done.returncode:
        raise ImportError(f"{compiler} failed: {done.stderr.strip()[-2000:]}")
    return target
