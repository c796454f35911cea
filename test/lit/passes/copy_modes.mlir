// Gathers, scatters and im2col copies become nvvm operations with their mode; coordinates in the order of the PTX ISA.
//
// RUN: tma-opt %s --split-input-file --pass-pipeline='builtin.module(tile-verify,tile-plan-copies{chip=sm_100a},convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// Two boxes of 64 columns, one atom apart in shared memory. The column comes first, then the four rows.
// CHECK-LABEL: gpu.module @gather
// CHECK: gpu.func @kernel(%arg0: memref<64x512xf16>, {{.*}} %[[ROW:arg[0-9]]]: index)
// CHECK: "tile.create_descriptor"(%arg0) {{.*}}box = [64, 1], {{.*}}dims = [512, 64]{{.*}}strides_bytes = [1024], swizzle = "128B"
// CHECK: %[[R:.*]] = arith.index_cast %[[ROW]] : index to i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%c128_i32{{.*}}, %c7_i32{{.*}}, %[[R]], %c60_i32{{.*}}, %c3_i32{{.*}}] {mode = #nvvm.tma_load_mode<tile_gather4>}
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%c192_i32{{.*}}, %c7_i32
// CHECK-NOT: nvvm.cp.async.bulk.tensor
gpu.module @gather {
  memref.global "private" @tile : memref<8x128xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x512xf16>, %bar: !barrier, %i: index, %row: index) kernel {
    %tile = memref.get_global @tile : memref<8x128xf16, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %row, %bar, %i) {
      mode = "gather4", static_source_offsets = array<i64: 7, -9223372036854775808, 60, 3, 128>,
      static_destination_offsets = array<i64: 4, 0>, sizes = array<i64: 4, 128>, destination_layout = #tile.atoms<"128B">,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xf16>, memref<8x128xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.module @scatter
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %{{.*}}, box[%c32_i32{{.*}}, %c1_i32{{.*}}, %c2_i32{{.*}}, %c4_i32{{.*}}, %c8_i32{{.*}}] {mode = #nvvm.tma_store_mode<tile_scatter4>}
gpu.module @scatter {
  memref.global "private" @tile : memref<4x32xf32, #gpu.address_space<workgroup>>
  gpu.func @kernel(%out: memref<64x64xf32>) kernel {
    %tile = memref.get_global @tile : memref<4x32xf32, #gpu.address_space<workgroup>>
    "tile.copy_async"(%tile, %out) {
      mode = "scatter4", static_source_offsets = array<i64: 0, 0>,
      static_destination_offsets = array<i64: 1, 2, 4, 8, 32>, sizes = array<i64: 4, 32>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (memref<4x32xf32, #gpu.address_space<workgroup>>, memref<64x64xf32>) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// A strided 3-D convolution; corners, strides and offsets are written D, H, W and encoded W, H, D. The filter offsets
// are known at run time.
// CHECK-LABEL: gpu.module @im2col
// CHECK: "tile.create_descriptor"{{.*}}box = [32, 24], data_type = "UINT8", dims = [32, 11, 9, 7, 4], element_strides = [1, 2, 1, 3, 1], im2col = {lower_corner = [-2, -1, 0], upper_corner = [1, -1, -2]}
// CHECK: %[[W:.*]] = arith.index_cast %{{.*}} : index to i16
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%c0_i32{{.*}}, %c-2_i32, %c-1_i32, %c3_i32, %c1_i32{{.*}}] im2col[%[[W]], %c2_i16, %c0_i16] {mode = #nvvm.tma_load_mode<im2col>}
// CHECK: nvvm.cp.async.bulk.tensor.prefetch %{{.*}}, box[%c0_i32{{.*}}, %c-2_i32{{.*}}, %c-1_i32{{.*}}, %c3_i32{{.*}}, %c1_i32{{.*}}] im2col[%c0_i16{{.*}}, %c2_i16{{.*}}, %c1_i16{{.*}}] {mode = #nvvm.tma_load_mode<im2col>}
gpu.module @im2col {
  memref.global "private" @tile : memref<24x32xui8, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<4x7x9x11x32xui8>, %bar: !barrier, %i: index, %s: index) kernel {
    %tile = memref.get_global @tile : memref<24x32xui8, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %s, %bar, %i) {
      mode = "im2col",
      im2col = {lower_corner = [0, -1, -2], upper_corner = [-2, -1, 1], traversal_strides = [3, 1, 2]},
      static_source_offsets = array<i64: 1, 3, -1, -2, 0, 0, 2, -9223372036854775808>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 24, 32>,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<4x7x9x11x32xui8>, memref<24x32xui8, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
    "tile.prefetch_async"(%in) {
      mode = "im2col",
      im2col = {lower_corner = [0, -1, -2], upper_corner = [-2, -1, 1], traversal_strides = [3, 1, 2]},
      static_source_offsets = array<i64: 1, 3, -1, -2, 0, 1, 2, 0>, sizes = array<i64: 24, 32>,
      operandSegmentSizes = array<i32: 1, 0, 0, 0>
    } : (memref<4x7x9x11x32xui8>) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// The wide form: halo, then the offset of W.
// CHECK-LABEL: gpu.module @im2col_w
// CHECK: im2col = {lower_corner = [-1], upper_corner = [0], wide = "w"}
// CHECK: box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] im2col[%c0_i16{{.*}}, %c1_i16{{.*}}] {mode = #nvvm.tma_load_mode<im2col_w>}
gpu.module @im2col_w {
  memref.global "private" @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<4x9x11x64xf16>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %bar, %i) {
      mode = "im2col_w", im2col = {lower_corner = [-1], upper_corner = [0]}, swizzle = #tile.swizzle<"128B">,
      static_source_offsets = array<i64: 1, 3, -1, 0, 0, 1>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 16, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<4x9x11x64xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}
