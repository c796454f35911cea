"""``tma_mlir.compile``: MLIR in, kernels that can be called out, kept on disk from one process to the next."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .assembler import assembler_version
from .bindings.builds import WITH_NVPTX
from .bindings.choice import chosen, folders
from .chips import chip as known_chip
from .compiled_kernel import CompiledKernel
from .files import NotText, decoded
from .isolation.compile_isolated import DEFAULT_SECONDS, can_isolate, compile_isolated
from .kernel_compiler import compile_kernels, pack_kernels, unpack_kernels
from .llvm_tools import programs
from .runtime import driver
from .runtime.disk_cache import DiskCache, digest

if TYPE_CHECKING:
    from .bindings import ir

    Source = str | os.PathLike[str] | ir.Module | ir.Operation | ir.OpView


def compile(source: Source, chip: str = "native", *, kernel: str | None = None, **options: Any) -> CompiledKernel:
    """Compiles ``source`` and returns its kernel, ready to be called with arrays.

    ``source``: MLIR text, the path of a file of text or bytecode (a ``Path``, or a string that ends in ``.mlir``), or a
    module. ``chip``: ``sm_90a``, or ``native`` for the current GPU's. ``kernel``: which one, if there are several.
    ``options``: those of ``compile_all``. Raises ``CompileError`` with located messages, ``AssemblerError``,
    ``NoDevice`` for ``native`` without a GPU, ``OSError`` for a file that cannot be read, ``TypeError`` for other
    sources and chips, ``ValueError`` for an unknown chip, an erased operation, or when it is open which kernel is
    meant.
    """
    kernels = compile_all(source, chip, **options)
    names = ", ".join(kernels)
    if kernel is None:
        if len(kernels) != 1:
            raise ValueError(f"the module has kernels {names}. Pass kernel= with a name, or use tma_mlir.compile_all")
        (kernel,) = kernels
    if kernel not in kernels:
        raise ValueError(f"the module has no kernel {kernel!r}; it has {names}")
    return kernels[kernel]


def compile_all(
    source: Source,
    chip: str = "native",
    *,
    opt_level: int = 3,
    assembler: str = "nvjitlink",
    assembler_options: Sequence[str] = (),
    cache: bool | DiskCache = True,
    isolate: bool | None = None,
    timeout: float | None = DEFAULT_SECONDS,
) -> dict[str, CompiledKernel]:
    """All kernels of ``source`` by name, in the order of the module; see ``compile``.

    ``opt_level``: LLVM's, 0 to 3. ``assembler``: ``nvjitlink``, ``ptxas`` or the path of one; ``assembler_options`` go
    to it as they are (``-lineinfo``). ``cache``: whether to keep the result on disk, or the cache to keep it in. The
    same source, options and versions are not compiled again, and then MLIR is not even imported.

    ``isolate``: whether to compile in a child process, which is kept warm: where MLIR would end the process, it ends
    the child, and ``CompileError`` says in which pass. Left out: for text and files, not for modules. ``timeout``:
    seconds after which the child is ended, None for never; without a child, nothing can end MLIR.
    """
    text, name = _program(source)
    _check_options(chip, opt_level, assembler, assembler_options, cache, isolate, timeout)
    if chip == "native":
        chip = driver.native_chip()
    known_chip(chip)  # an unknown one is refused before anything is looked up
    store = cache if isinstance(cache, DiskCache) else DiskCache() if cache else None
    key = digest("kernels", _versions(assembler), chip, str(opt_level), assembler, *assembler_options, "", name, text)
    if store is not None:
        content = store.get(key)
        if content is not None:
            with contextlib.suppress(ValueError):  # what cannot be read is compiled anew
                return unpack_kernels(content, text, name)
    if isolate is None:
        isolate = isinstance(source, (str, os.PathLike)) and can_isolate()
    request = (text, name, chip, opt_level, assembler, assembler_options)
    if isolate:
        content, said = compile_isolated(*request, seconds=timeout)
        kernels = unpack_kernels(content, text, name)
    else:
        kernels, said = compile_kernels(*request)
        content = pack_kernels(kernels) if store is not None else b""
    for each in said:
        warnings.warn(str(each), stacklevel=_callers_level())
    if store is not None:
        store.put(key, content)
    return kernels


MOST_SECONDS = 1e6
"""Days; waits of more are not possible on every system."""


def _check_options(
    chip: Any, opt_level: Any, assembler: Any, assembler_options: Any, cache: Any, isolate: Any, timeout: Any
) -> None:
    for name, value in (("chip", chip), ("assembler", assembler)):
        if not isinstance(value, str):
            raise TypeError(f"{name} is a text, not {type(value).__qualname__}")
    if not isinstance(assembler_options, list | tuple) or not all(isinstance(each, str) for each in assembler_options):
        raise TypeError("assembler_options is a list or a tuple of texts, as ['-lineinfo']")
    if isinstance(opt_level, bool) or opt_level not in range(4):
        raise ValueError("opt_level is 0, 1, 2 or 3")
    if not isinstance(cache, bool | DiskCache):
        raise TypeError(f"cache is True, False or a DiskCache, not {type(cache).__qualname__}")
    if isolate is not None and not isinstance(isolate, bool):
        raise TypeError(f"isolate is True, False or None, not {type(isolate).__qualname__}")
    if timeout is not None and not isinstance(timeout, int | float):
        raise TypeError(f"timeout is a number of seconds or None, not {type(timeout).__qualname__}")
    if timeout is not None and not 0 < timeout <= MOST_SECONDS:
        raise ValueError(f"timeout is {timeout}, needed: more than 0 and at most {MOST_SECONDS:.0f} seconds, or None")


def _callers_level() -> int:
    """The ``stacklevel`` of a warning in the function that calls this, for the place outside of this package."""
    package, level = str(Path(__file__).parent) + os.sep, 1
    while sys._getframe(level).f_code.co_filename.startswith(package):
        level += 1
    return level


def _program(source: Source) -> tuple[str | bytes, str]:
    """MLIR text or bytecode, and the name that diagnostics give it."""
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.endswith(".mlir") and "\n" not in source):
        name = os.fsdecode(source)
        try:
            return decoded(Path(source).read_bytes(), name), name
        except NotText as error:
            from .compile.compiler import CompileError

            raise CompileError([error.diagnostic]) from None
    if isinstance(source, str):
        return source, "-"
    try:
        operation: Any = getattr(source, "operation", source)
        if not hasattr(operation, "get_asm"):
            raise TypeError(f"{type(source).__qualname__} is not a source: needed: MLIR text, a path or an MLIR module")
        # The compiler has its own context; locations go with the text.
        return operation.get_asm(enable_debug_info=True), "-"
    except RuntimeError as error:  # what MLIR's bindings say of an operation that was erased
        raise ValueError(f"the source cannot be read: {error}") from None


@cache
def _versions(assembler: str) -> str:
    """All that a compiled kernel depends on besides its source and options: this package, MLIR, LLVM, the assembler.

    Files are told apart by size and time of change, so that a package under development finds nothing old.
    """
    package = Path(__file__).parent
    files = [file for pattern in ("*.py", "*.mlir") for file in sorted(package.rglob(pattern))]
    for folder in folders(chosen()):
        files += sorted(folder.glob("_mlir_libs/*.so*"))
    if chosen() not in WITH_NVPTX:
        files += programs()
    stamps = [f"{file.name} {(status := file.stat()).st_size} {status.st_mtime_ns}" for file in files]
    return digest(*stamps, _assembler(assembler), sys.implementation.cache_tag)


def _assembler(assembler: str) -> str:
    """The assembler's version; that of nvJitLink without loading it, where its package says it."""
    if assembler == "nvjitlink":
        try:
            return f"nvidia-nvjitlink {metadata.version('nvidia-nvjitlink')}"
        except metadata.PackageNotFoundError:
            pass
    return assembler_version(assembler)
