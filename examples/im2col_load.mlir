// One filter tap of a 3x3 convolution with padding 1: 64 output pixels of an NHWC image as rows of 64 channels, the
// right operand of an implicit GEMM. The bounding box starts at -1 and ends one pixel before the image does, so the
// pixels are those of the top left tap; filter offset (2, 1) moves them to the tap wanted. Pixels in the padding read
// as zero, and the walk goes on from row to row and from image to image by itself.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/im2col_load.ptx

// PLAN: plan = #tile.plan<{
// PLAN-SAME: coordinates = [0, -1, "source_offset1", 0], im2col_offsets = [1, 2], mode = "im2col"
// PLAN-SAME: instructions = 1
// PLAN-SAME: box = [64, 64]
// PLAN-SAME: dims = [64, 16, 12, 4]
// PLAN-SAME: im2col = {lower_corner = [-1, -1], upper_corner = [-1, -1]}
// PLAN-SAME: swizzle = "128B"
// PLAN-SAME: transaction_bytes = 8192

// NVGPU: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}im2col[%{{.*}}, %{{.*}}]

// PTX: cp.async.bulk.tensor.4d.shared::{{cta|cluster}}.global.im2col.mbarrier::complete_tx::bytes

// RESULT: verified

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<64x64xf16, #gpu.address_space<workgroup>>

    gpu.func @im2col_load(%image: memref<4x12x16x64xf16>, %out: memref<2x4096xf16>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c128 = arith.constant 128 : index
      %c4096 = arith.constant 4096 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      // Block 0 takes output rows 0 to 3, block 1 rows 4 to 7 of image 0: the first pixel's row, less the padding.
      %output_row = arith.muli %block, %c4 : index
      %row = arith.subi %output_row, %c1 : index
      %tile = memref.get_global @tile : memref<64x64xf16, #gpu.address_space<workgroup>>

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        // Offsets: image, row, column and channel of the first pixel, then the filter's row and column.
        "tile.copy_async"(%image, %tile, %row, %barrier, %c0) {
          mode = "im2col", im2col = {lower_corner = [-1, -1], upper_corner = [-1, -1]},
          static_source_offsets = array<i64: 0, -9223372036854775808, -1, 0, 2, 1>,
          static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">, expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
        } : (memref<4x12x16x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
      }
      "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()

      %flat = memref.collapse_shape %tile [[0, 1]]
        : memref<64x64xf16, #gpu.address_space<workgroup>> into memref<4096xf16, #gpu.address_space<workgroup>>
      scf.for %i = %thread to %c4096 step %c128 {
        %value = memref.load %flat[%i] : memref<4096xf16, #gpu.address_space<workgroup>>
        memref.store %value, %out[%block, %i] : memref<2x4096xf16>
      }
      gpu.return
    }
  }
}
