// Copies a matrix of any size tile by tile through shared memory: TMA in, TMA out. Tiles at the edges are clipped by the
// hardware, so the grid covers the matrix and nothing more is said. The programs beside this file launch it.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s

// CHECK: "tile.copy_async"
// CHECK-SAME: plan = #tile.plan<{
// CHECK-SAME: instructions = 1
// CHECK: "tile.copy_async"
// CHECK-SAME: plan = #tile.plan<{
// CHECK-SAME: instructions = 1

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!matrix = memref<?x?xf32, strided<[?, 1]>>
!tile = memref<32x32xf32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile

    // Grid: a block for each 32 columns (x) and 32 rows (y).
    gpu.func @copy_tiles(%in: !matrix, %out: !matrix) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %leader = arith.cmpi eq, %thread, %c0 : index
      %row = arith.muli %block_y, %c32 : index
      %column = arith.muli %block_x, %c32 : index
      %tile = memref.get_global @tile : !tile

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%in, %tile, %row, %column, %barrier, %c0) {
          static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
          static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 32, 32>, expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
        } : (!matrix, !tile, index, index, !barrier, index) -> ()
        nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier
        "tile.copy_async"(%tile, %out, %row, %column) {
          static_source_offsets = array<i64: 0, 0>,
          static_destination_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
          sizes = array<i64: 32, 32>,
          operandSegmentSizes = array<i32: 1, 1, 0, 2, 0, 0, 0, 0, 0>
        } : (!tile, !matrix, index, index) -> ()
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }
      gpu.return
    }
  }
}
