"""What a kernel's copies mean: the same kernel, its copies executed by definition in the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..abi.signature import DESCRIPTORS, KernelSignature
from ..analysis.ir_access import collect
from ..bindings import ir
from ..compile.compiler import CompileError, debug_text, named, parse
from ..compile.signature_reader import read_signature
from ..diagnostics import collecting
from ..dialect import make_context
from ..passes.pipeline import run_pipeline
from ..passes.stages import reference_pipeline
from ..passes.tile_reference_copies import SCRATCH
from .arguments import Value

Reference = tuple[str, dict[str, KernelSignature], dict[str, tuple[int, ...]]]
"""A lowered module, its kernels, and of each the arguments that hold descriptors."""


def lower_reference(text: str | bytes, name: str) -> Reference:
    """The lowered module whose copies the simulator executes by definition, its kernels, and of each the arguments
    that hold descriptors, which mean nothing."""
    context = make_context()
    with context, collecting(context) as diagnostics:
        try:
            root = parse(text)
            run_pipeline(root, f"builtin.module({reference_pipeline()})")
        except ir.MLIRError:
            raise CompileError(named(diagnostics.seen, name)) from None
        kernels = [each for each in collect(root, ("llvm.func",)) if DESCRIPTORS in each.attributes]
        signatures = {signature.name: signature for signature in map(read_signature, kernels)}
        scratch = {kernel: _scratch(each) for kernel, each in zip(signatures, kernels, strict=True)}
        return debug_text(root, name), signatures, scratch


def _scratch(kernel: ir.Operation) -> tuple[int, ...]:
    return tuple(ir.DenseI64ArrayAttr(kernel.attributes[SCRATCH])) if SCRATCH in kernel.attributes else ()


def copy_arguments(arguments: Sequence[Value]) -> list[Value]:
    """Independent arrays with the same strides and bytes, the bytes between elements included."""
    return [_same_memory(each) if isinstance(each, np.ndarray) else each for each in arguments]


def storage_of(array: np.ndarray) -> np.ndarray:
    """The bytes an array of ``make_arguments`` lies in; a dense copy of them for other arrays."""
    if isinstance(array.base, np.ndarray) and array.base.dtype == np.uint8 and array.base.ndim == 1:
        return array.base
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _same_memory(array: np.ndarray) -> np.ndarray:
    storage = storage_of(array)
    if storage is not array.base:
        return np.ndarray(array.shape, array.dtype, storage.copy())
    start = array.__array_interface__["data"][0] - storage.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, storage.copy(), start, array.strides)
