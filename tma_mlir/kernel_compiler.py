"""A program in, kernels that can be launched out; and kernels as bytes, for the disk and for other processes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .assembler import assemble
from .compiled_kernel import CompiledKernel
from .diagnostics import Diagnostic
from .runtime.artifact import unpack

if TYPE_CHECKING:
    from .passes.pipeline import Instrumentation


_LENGTH = struct.Struct("<Q")


def compile_kernels(
    source: str | bytes,
    name: str,
    chip: str,
    opt_level: int,
    assembler: str,
    assembler_options: Sequence[str],
    *,
    observe: Callable[[str], None] = lambda step: None,
    instrumentation: Sequence[Instrumentation] = (),
) -> tuple[dict[str, CompiledKernel], tuple[Diagnostic, ...]]:
    """All kernels of ``source`` by name, in the order of the module, and the warnings. ``observe`` as for
    ``compile_text``."""
    from .compile.compiler import compile_text

    compiled = compile_text(
        source,
        chip,
        name=name,
        opt_level=opt_level,
        assemble_cubin=False,
        observe=lambda step: observe(step) if step != "assemble" else None,
        instrumentation=instrumentation,
    )
    cubin = assemble(compiled.ptx, chip, assembler=assembler, options=assembler_options)
    observe("assemble")
    kernels = {
        kernel: CompiledKernel(
            cubin,
            signature,
            ptx=compiled.ptx,
            plans=[copy.plan for copy in compiled.plans if copy.kernel == kernel],
            source=source,
            source_name=name,
        )
        for kernel, signature in compiled.signatures.items()
    }
    return kernels, compiled.warnings


def pack_kernels(kernels: dict[str, CompiledKernel]) -> bytes:
    """All kernels as bytes: for each a length, and what ``Kernel.to_bytes`` gives."""
    packed = [kernel.to_bytes() for kernel in kernels.values()]
    return b"".join(_LENGTH.pack(len(each)) + each for each in packed)


def unpack_kernels(content: bytes, source: str | bytes, name: str) -> dict[str, CompiledKernel]:
    """What ``pack_kernels`` was given, of ``source`` called ``name``. ``ValueError`` for anything else."""
    kernels, position = {}, 0
    while position < len(content):
        start = position + _LENGTH.size
        if start > len(content):
            raise ValueError("the kernels end in the middle of a length")
        (length,) = _LENGTH.unpack_from(content, position)
        position = start + length
        if position > len(content):
            raise ValueError("the kernels end early")
        parts = unpack(content[start:position], "a cached kernel")
        kernel = CompiledKernel(**parts, source=source, source_name=name)
        kernels[kernel.signature.name] = kernel
    return kernels
