"""``tile-lower-kernels``: gpu.module bodies down to the LLVM and NVVM dialects, with an ABI the host can follow.

Memrefs become bare pointers where every kernel argument is static, else expanded descriptors. Afterwards the attributes
that convert-gpu-to-nvvm drops are put back, and dynamic shared memory is made external so that it cannot overlap
barriers and static tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from ..dialect.memrefs import read_memref
from .copies import collect
from .pipeline import run_pipeline
from .registry import Pass
from .shared_tiles import MAX_ALIGNMENT

_LOWERING = (
    "gpu.module(lower-affine,convert-vector-to-scf,expand-strided-metadata,lower-affine,convert-nvgpu-to-nvvm,"
    "canonicalize,convert-scf-to-cf,convert-vector-to-llvm,convert-index-to-llvm,"
    "convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv={bare}}},reconcile-unrealized-casts,canonicalize,cse)"
)


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    bare = all(_is_static(function) for function in collect(op, ("gpu.func",)))
    run_pipeline(op, _LOWERING.format(bare=int(bare)))
    with op.context:
        for function in collect(op, ("llvm.func",)):
            if "gpu.kernel" in function.attributes or "nvvm.kernel" in function.attributes:
                _finish_kernel(function, bare)
        for global_ in collect(op, ("llvm.mlir.global",)):
            _finish_dynamic_shared_memory(global_)


def _is_static(function: ir.Operation) -> bool:
    for type_ in ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs:
        memref = read_memref(type_) if str(type_).startswith("memref") else None
        if memref is not None and None in (*memref.shape, *memref.strides, memref.offset):
            return False
    return True


def _finish_kernel(function: ir.Operation, bare: bool) -> None:
    attributes = function.attributes
    if "tile.descriptors" not in attributes:
        return
    attributes["tile.bare_pointers"] = ir.BoolAttr.get(bare)
    count = len(ir.ArrayAttr(attributes["tile.descriptors"]))
    if not count:
        return
    descriptor = ir.DictAttr(
        ir.Attribute.parse("{llvm.align = 128 : i32, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}")
    )
    total = len(function.regions[0].blocks[0].arguments)
    each = list(ir.ArrayAttr(attributes["arg_attrs"])) if "arg_attrs" in attributes else [ir.DictAttr.get({})] * total
    attributes["arg_attrs"] = ir.ArrayAttr.get([descriptor] * count + each[count:])


def _finish_dynamic_shared_memory(global_: ir.Operation) -> None:
    """An internal zero-sized global is placed first by ptxas, on top of static shared memory; an external one after it."""
    attributes = global_.attributes
    if not ir.StringAttr(attributes["sym_name"]).value.startswith("__dynamic_shmem__"):
        return
    attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
    attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), MAX_ALIGNMENT)


PASS = Pass("tile-lower-kernels", "Lower kernels to the LLVM and NVVM dialects and finish their ABI.", run)
