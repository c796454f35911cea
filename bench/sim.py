"""Speed of the simulator: the demonstration, TMA traffic on large boxes, a pipelined matmul. Exit status 1 on a miss.

usage: bench/sim.py [--profile matmul|traffic|demonstration]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tma_mlir.compile.compiler import CompiledModule, compile_file, compile_text
from tma_mlir.sim.simulate import simulate

ROOT = Path(__file__).resolve().parents[1]

# Boxes of 256 x 64 float32: 64 KiB.
TRAFFIC = """
!tile = memref<256x64xf32, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @traffic(%in: memref<4096x1024xf32>, %out: memref<4096x1024xf32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 16, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %c256 = arith.constant 256 : index
      %c1024 = arith.constant 1024 : index
      %ticks = arith.constant 10000000 : index
      %thread = gpu.thread_id x
      %block_y = gpu.block_id y
      %row = arith.muli %block_y, %c256 : index
      %leader = arith.cmpi eq, %thread, %c0 : index
      %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to !tile
      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
        scf.for %column = %c0 to %c1024 step %c64 {
          "tile.copy_async"(%in, %tile, %row, %column, %barrier, %c0) {
            static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 256, 64>, expect_tx,
            operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
          } : (memref<4096x1024xf32>, !tile, index, index, !barrier, index) -> ()
          %turn = arith.divui %column, %c64 : index
          %bit = arith.remui %turn, %c2 : index
          %parity = arith.cmpi eq, %bit, %c1 : index
          nvgpu.mbarrier.try_wait.parity %barrier[%c0], %parity, %ticks : !barrier
          "tile.copy_async"(%tile, %out, %row, %column) {
            static_source_offsets = array<i64: 0, 0>,
            static_destination_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            sizes = array<i64: 256, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 2, 0, 0, 0, 0, 0>
          } : (!tile, memref<4096x1024xf32>, index, index) -> ()
          nvvm.cp.async.bulk.commit.group
          nvvm.cp.async.bulk.wait_group 0 {read}
        }
      }
      gpu.return
    }
  }
}
"""


def only_kernel(compiled: CompiledModule):
    return compiled.texts["lowered"], next(iter(compiled.signatures.values()))


def demonstration() -> Callable[[], None]:
    """Decode and run the 8x256 copy of the examples."""
    text, signature = only_kernel(
        compile_file(ROOT / "examples/copy_8x256.mlir", keep=("lowered",), assemble_cubin=False)
    )
    x = np.arange(2048, dtype=np.float16).reshape(8, 256)
    out = np.zeros_like(x)

    def run() -> None:
        simulate(text, signature, [x, out])

    run()
    assert np.sort(out.reshape(-1)).tolist() == np.sort(x.reshape(-1)).tolist()
    return run


def traffic() -> tuple[Callable[[], None], int]:
    """Load and store 16 MiB through 64 KiB boxes; and the bytes that TMA moves."""
    text, signature = only_kernel(compile_text(TRAFFIC, keep=("lowered",), assemble_cubin=False))
    x = np.random.default_rng(0).standard_normal((4096, 1024)).astype(np.float32)
    out = np.zeros_like(x)

    def run() -> None:
        simulate(text, signature, [x, out])

    result = simulate(text, signature, [x, out])
    assert result.transfer_bytes == 2 * x.nbytes
    np.testing.assert_array_equal(x, out)
    return run, result.transfer_bytes


def matmul() -> Callable[[], None]:
    """512 x 512 x 512 in bfloat16: TMA, a ring of mbarriers, a producer warp, wgmma."""
    text, signature = only_kernel(
        compile_file(ROOT / "bench/pipelined_matmul.mlir", keep=("lowered",), assemble_cubin=False)
    )
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((512, 512)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((512, 512), np.float32)

    def run() -> None:
        simulate(text, signature, [a, b, c])

    run()
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)
    return run


def best(run: Callable[[], None], repeats: int) -> float:
    """Least seconds of ``repeats`` runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--profile", choices=["demonstration", "traffic", "matmul"])
    options = parser.parse_args()
    moving, moved = traffic()
    if options.profile:
        run = {"demonstration": demonstration, "traffic": lambda: moving, "matmul": matmul}[options.profile]()
        run()
        profiler = cProfile.Profile()
        profiler.runcall(run)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(20)
        return 0
    demonstration_ms = best(demonstration(), 5) * 1e3
    rate = moved / best(moving, 5) / 1e6
    matmul_s = best(matmul(), 2)
    rows = [
        ("demonstration, decode and run", f"{demonstration_ms:.1f} ms", "under 50 ms", demonstration_ms < 50),
        ("TMA traffic, 64 KiB boxes", f"{rate:.0f} MB/s", "at least 200 MB/s", rate >= 200),
        ("512x512x512 pipelined matmul", f"{matmul_s:.2f} s", "under 60 s", matmul_s < 60),
    ]
    for name, found, wanted, good in rows:
        print(f"{name:32} {found:>12}   {wanted:18} {'ok' if good else 'MISSED'}")
    return 0 if all(good for *_, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
