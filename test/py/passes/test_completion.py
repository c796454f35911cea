"""Announcements and fences that our passes add are what the simulator's checks ask for."""

from __future__ import annotations

import numpy as np
import pytest

from tma_mlir.analysis.ir_access import collect
from tma_mlir.compile.compiler import parse
from tma_mlir.compile.signature_reader import read_signature
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline
from tma_mlir.run.execute import run_simulator
from tma_mlir.sim.errors import SimulationError

KERNEL = """
!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @left : !tile
    memref.global "private" @right : !tile
    gpu.func @kernel(%a: memref<64x64xi32>, %b: memref<64x64xi32>, %out: memref<16x32xi32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %first = arith.constant false
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %left = memref.get_global @left : !tile
      %right = memref.get_global @right : !tile
      %bar = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %bar[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%a, %left, %bar, %c0) {
          static_source_offsets = array<i64: 16, 32>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 32>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<64x64xi32>, !tile, !barrier, index) -> ()
        "tile.copy_async"(%b, %right, %bar, %c0) {
          static_source_offsets = array<i64: 32, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 32>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<64x64xi32>, !tile, !barrier, index) -> ()
      }
      "tile.wait"(%bar, %c0, %first) : (!barrier, index, i1) -> ()
      scf.for %r = %c0 to %c16 step %c1 {
        %x = memref.load %left[%r, %thread] : !tile
        %y = memref.load %right[%r, %thread] : !tile
        %sum = arith.addi %x, %y : i32
        memref.store %sum, %left[%r, %thread] : !tile
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%left, %out) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
        } : (!tile, memref<16x32xi32>) -> ()
        "tile.commit_group"() : () -> ()
        "tile.wait_group"() {pending = 0 : i64} : () -> ()
      }
      gpu.return
    }
  }
}
"""


def simulate(passes: str) -> tuple[np.ndarray, np.ndarray]:
    """The result of the kernel lowered with ``passes`` between planning and conversion, and what it should be."""
    context = make_context()
    with context:
        root = parse(KERNEL)
        run_pipeline(
            root,
            f"builtin.module(tile-plan-copies,{passes}convert-tile-to-nvgpu,tile-descriptor-args,tile-lower-kernels)",
        )
        function = next(each for each in collect(root, ("llvm.func",)) if "tile.descriptors" in each.attributes)
        signature, text = read_signature(function), str(root)
    a, b = (np.random.default_rng(seed).integers(0, 1000, (64, 64), np.int32) for seed in (1, 2))
    found = np.zeros((16, 32), np.int32)
    run_simulator(text, signature, [a, b, found])
    return found, a[16:32, 32:64] + b[32:48, 0:32]


def test_two_loads_and_a_store_with_both_passes():
    found, wanted = simulate("tile-merge-expect-tx,tile-insert-proxy-fences,")
    assert (found == wanted).all()


@pytest.mark.parametrize("passes", ["tile-merge-expect-tx,", "tile-insert-proxy-fences,", ""])
def test_either_pass_is_missed(passes):
    with pytest.raises(SimulationError):
        simulate(passes)
