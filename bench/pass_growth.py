"""Time and memory of our passes over modules of 1 to 10,000 copies; the goal is linear growth, under 0.4 ms a copy.

    python bench/pass_growth.py [--most 10000]

Copies are spread over 64 shapes and 100 kernels, as in a library of kernels. For each size: milliseconds of
tile-verify, tile-plan-copies, convert-tile-to-nvgpu and tile-descriptor-args, their sum per copy, and the growth of
resident memory. The peer measured in the same run is MLIR's own canonicalize over the same module (per copy).
"""

from __future__ import annotations

import argparse
import resource
import time

from tma_mlir.bindings import ir
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline

PASSES = ("tile-verify", "tile-plan-copies", "convert-tile-to-nvgpu", "tile-descriptor-args")
SHARED = "#gpu.address_space<workgroup>"


def module_text(copies: int) -> str:
    """``copies`` loads with run-time offsets, 100 a kernel."""
    kernels = []
    for kernel in range(0, copies, 100):
        body = []
        for index in range(kernel, min(kernel + 100, copies)):
            columns = 64 * (1 + index % 4)
            rows = 8 * (1 + index // 4 % 16)
            tile = f"memref<{rows}x{columns}xf16, {SHARED}>"
            body.append(
                f"%s{index} = memref.get_global @s{rows}x{columns} : {tile}\n"
                f'"tile.copy_async"(%t, %s{index}, %x, %b, %c0) {{static_source_offsets = '
                f"array<i64: -9223372036854775808, {64 * (index % 8)}>, static_destination_offsets = array<i64: 0, 0>, "
                f'sizes = array<i64: {rows}, {columns}>, destination_layout = #tile.atoms<"128B">, '
                f"operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>}} : "
                f"(memref<4096x4096xf16>, {tile}, index, !barrier, index) -> ()"
            )
        kernels.append(
            f"gpu.func @k{kernel}(%t: memref<4096x4096xf16>, %x: index) kernel {{\n"
            "%c0 = arith.constant 0 : index\n%b = nvgpu.mbarrier.create -> !barrier\n"
            + "\n".join(body)
            + "\ngpu.return\n}"
        )
    shapes = [(8 * r, 64 * c) for r in range(1, 17) for c in range(1, 5)]
    tiles = "\n".join(f'memref.global "private" @s{r}x{c} : memref<{r}x{c}xf16, {SHARED}>' for r, c in shapes)
    return (
        f"!barrier = !nvgpu.mbarrier.group<memorySpace = {SHARED}>\n"
        f"module attributes {{gpu.container_module}} {{ gpu.module @m {{\n{tiles}\n" + "\n".join(kernels) + "\n} }"
    )


def measure(copies: int) -> tuple[dict[str, float], float, float]:
    """Milliseconds by pass, milliseconds of canonicalize, MiB that the peak grew by."""
    text = module_text(copies)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = {}
    with make_context():
        root = ir.Module.parse(text).operation
        peer = ir.Module.parse(text).operation
        started = time.perf_counter()
        run_pipeline(peer, "builtin.module(canonicalize)")
        canonicalize = (time.perf_counter() - started) * 1e3
        for name in PASSES:
            started = time.perf_counter()
            run_pipeline(root, f"builtin.module({name})", verify=False)
            times[name] = (time.perf_counter() - started) * 1e3
    return times, canonicalize, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000)
    options = parser.parse_args()
    measure(1)
    columns = ("verify", "plan", "convert", "args", "ms/copy", "canonicalize", "MiB")
    print(f"{'copies':>7} " + " ".join(f"{name:>9}" for name in columns))
    size = 1
    while size <= options.most:
        times, canonicalize, memory = measure(size)
        parts = " ".join(f"{times[name]:9.1f}" for name in PASSES)
        total = sum(times.values())
        print(f"{size:7} {parts} {total / size:9.3f} {canonicalize / size:12.3f} {memory:9.0f}")
        size *= 10


if __name__ == "__main__":
    main()
