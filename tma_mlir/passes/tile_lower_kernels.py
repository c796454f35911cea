"""``tile-lower-kernels``: the bodies of gpu.module down to the LLVM and NVVM dialects."""

from __future__ import annotations

from .registry import Pipeline

_TEXT = (
    "tile-lower-copies,tile-expand-arguments,gpu.module(convert-linalg-to-loops,lower-affine,convert-vector-to-scf),"
    "tile-lower-transfers,tile-lower-bools,"
    "gpu.module(expand-strided-metadata,lower-affine,convert-nvgpu-to-nvvm,"
    "canonicalize,convert-scf-to-cf,convert-index-to-llvm,"
    # It converts most of vector too, and unlike convert-vector-to-llvm knows what the workgroup address space is.
    "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},"
    "convert-vector-to-llvm,convert-arith-to-llvm,convert-ub-to-llvm,convert-nvvm-to-llvm,reconcile-unrealized-casts,"
    "canonicalize,cse),"
    "tile-narrow-loads,tile-finish-kernels"
)

PIPELINE = Pipeline(
    "tile-lower-kernels",
    "Lower kernels to the LLVM and NVVM dialects with an ABI the host can follow.",
    lambda options: _TEXT,
    anchor="builtin.module",
)
