// A 64x64 bfloat16 tile out of a 1024x512 matrix, at offsets known only at run time: each of 16x8 blocks moves its own
// tile. The offsets are products with 64, so the planner knows that every start is a multiple of 16 bytes.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/matrix_tile.ptx

// PLAN: plan = #tile.plan<{
// PLAN-SAME: coordinates = ["source_offset1", "source_offset0"]
// PLAN-SAME: instructions = 1
// PLAN-SAME: box = [64, 64]
// PLAN-SAME: data_type = "BFLOAT16"
// PLAN-SAME: dims = [512, 1024]
// PLAN-SAME: strides_bytes = [1024]
// PLAN-SAME: swizzle = "128B"

// NVGPU: %[[ROW:.*]] = arith.muli %block_id_y
// NVGPU: %[[COLUMN:.*]] = arith.muli %block_id_x
// NVGPU: nvgpu.tma.async.load %{{.*}}[%[[COLUMN]], %[[ROW]]]

// PTX: cp.async.bulk.tensor.2d.shared::

// RESULT: rank 2, dims 512,1024, strides 1024 bytes, box 64,64, swizzle 128B
// RESULT: verified

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<64x64xbf16, #gpu.address_space<workgroup>>

    gpu.func @matrix_tile(%in: memref<1024x512xbf16>, %out: memref<16x8x4096xbf16>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 8, 16, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c4096 = arith.constant 4096 : index
      %c8192 = arith.constant 8192 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %leader = arith.cmpi eq, %thread, %c0 : index
      %row = arith.muli %block_y, %c64 : index
      %column = arith.muli %block_x, %c64 : index
      %tile = memref.get_global @tile : memref<64x64xbf16, #gpu.address_space<workgroup>>

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        // Announcing the bytes is the caller's where the copy does not say expect_tx.
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %c8192 : !barrier
        "tile.copy_async"(%in, %tile, %row, %column, %barrier, %c0) {
          static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
          static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">,
          operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
        } : (memref<1024x512xbf16>, memref<64x64xbf16, #gpu.address_space<workgroup>>, index, index, !barrier, index)
          -> ()
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier

      %flat = memref.collapse_shape %tile [[0, 1]]
        : memref<64x64xbf16, #gpu.address_space<workgroup>> into memref<4096xbf16, #gpu.address_space<workgroup>>
      scf.for %i = %thread to %c4096 step %c128 {
        %value = memref.load %flat[%i] : memref<4096xbf16, #gpu.address_space<workgroup>>
        memref.store %value, %out[%block_y, %block_x, %i] : memref<16x8x4096xbf16>
      }
      gpu.return
    }
  }
}
