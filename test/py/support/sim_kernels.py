"""Small kernels as text, lowered with upstream passes; the pieces the tests share."""

from __future__ import annotations

from functools import cache

from tma_mlir.abi.signature import KernelSignature, MemRefArgument, TensorMapArgument
from tma_mlir.bindings import ir, passmanager
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import Swizzle, TensorMap
from tma_mlir.sim.simulate import Program, load_program, simulate

UPSTREAM = (
    "builtin.module(gpu.module(expand-strided-metadata,lower-affine,convert-nvgpu-to-nvvm,canonicalize,convert-scf-to-cf,"
    "convert-vector-to-llvm,convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv=1}}{extra},reconcile-unrealized-casts,"
    "canonicalize,cse))"
)


@cache
def lowered(text: str, extra: str = "") -> str:
    """The lowered module with its source locations, as text (``-:line:col`` are lines of ``text``)."""
    context = ir.Context()
    context.enable_multithreading(False)
    with context:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(UPSTREAM.format(extra=extra)).run(module.operation)
        return module.operation.get_asm(enable_debug_info=True)


def kernel(body: str, arguments: str = "", declarations: str = "", attributes: str = "", threads: int = 128) -> str:
    """A GPU module with one kernel ``@k``. ``body`` starts on its line 6."""
    extra = f", {attributes}" if attributes else ""
    return (
        "module attributes {gpu.container_module} {\n"
        "  gpu.module @m {\n"
        f"    {declarations}\n"
        f"    gpu.func @k({arguments}) kernel attributes {{known_block_size = array<i32: {threads}, 1, 1>{extra}}} {{\n"
        "      // body\n"
        f"{body}\n"
        "      gpu.return\n    }\n  }\n}\n"
    )


def shared(name: str, shape: str, alignment: int = 1024) -> str:
    """A static shared-memory tile, e.g. ``shared("s", "64x64xf16")``."""
    return f'memref.global "private" @{name} : memref<{shape}, 3> {{alignment = {alignment} : i64}}'


def tensor_map(rows: int, columns: int, box: tuple[int, int], element: str = "FLOAT16", swizzle=Swizzle.NONE):
    """A 2-D row-major tensor in driver order; ``box`` is (rows, columns)."""
    size = {"FLOAT16": 2, "FLOAT32": 4, "UINT8": 1, "INT32": 4, "BFLOAT16": 2}[element]
    return TensorMap(element, (columns, rows), (columns * size,), box[::-1], (1, 1), swizzle)


def signature(tensors: list[tuple[str, tuple[int, ...]]], maps: list[tuple[int, TensorMap]], dynamic: int = 0):
    """``tensors``: (element type, shape) of the arguments; ``maps``: (argument, tensor map) of the descriptors."""
    arguments = []
    for element, shape in tensors:
        strides = []
        step = 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
        arguments.append(MemRefArgument(dtype(element), shape, tuple(strides)))
    return KernelSignature(
        "k", tuple(TensorMapArgument(i, t) for i, t in maps), tuple(arguments), dynamic_shared_bytes=dynamic
    )


@cache
def _program(text: str, extra: str, dynamic: int) -> Program:
    return load_program(lowered(text, extra), "k", dynamic)


def run(text: str, sign: KernelSignature, arguments: list, seed: int = 0, extra: str = "", **options):
    """Lower once, simulate."""
    program = _program(text, extra, sign.dynamic_shared_bytes)
    return simulate(None, sign, arguments, schedule_seed=seed, program=program, **options)
