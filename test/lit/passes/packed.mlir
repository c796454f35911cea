// Elements of 4 and 6 bits: strides in bytes of global memory, transaction bytes without the gaps, boxes in elements.
//
// RUN: tma-opt %s --split-input-file --tile-plan-copies=chip=sm_100a | FileCheck %s
// RUN: tma-opt %s --split-input-file --tile-to-cubin=chip=sm_120 -o /dev/null
// RUN: sed '/^.. -----/,$d' %s > %t.mlir && not tma-run %t.mlir --device sim --chip sm_100a 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SIM

// SIM: .mlir:[[#]]:5: error: 'tile.copy_async' op copies packed elements (f4E2M1FN), which are not simulated
// SIM-NOT: internal error

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// 8 rows of 128 elements of 4 bits are 512 bytes; rows of 512 elements are 256 bytes apart.
// CHECK-LABEL: gpu.module @with_gaps
// CHECK: box = [128, 8], data_type = "16U4_ALIGN16B", dims = [512, 64]
// CHECK-SAME: strides_bytes = [256], swizzle = "128B"
// CHECK-SAME: transaction_bytes = 512
gpu.module @with_gaps {
  memref.global "private" @tile : memref<8x128xf4E2M1FN, #gpu.address_space<workgroup>>
  gpu.func @with_gaps(%tensor: memref<64x512xf4E2M1FN>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x128xf4E2M1FN, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {packing = "16B", sizes = array<i64: 8, 128>, scope = "cta",
      static_source_offsets = array<i64: 8, 128>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      swizzle = #tile.swizzle<"128B">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xf4E2M1FN>, memref<8x128xf4E2M1FN, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// A stage of a ring: 2048 elements of the tile, so 2048 bytes, behind the first.
// CHECK-LABEL: gpu.module @without_gaps
// CHECK: box = [256, 8], data_type = "16U4_ALIGN8B", dims = [512, 64]
// CHECK-SAME: strides_bytes = [256]
// CHECK-SAME: transaction_bytes = 1024
// CHECK: data_type = "16U4_ALIGN8B"
// CHECK-NOT: transaction_bytes
// CHECK: gpu.return
gpu.module @without_gaps {
  memref.global "private" @tiles : memref<2x8x256xi4, #gpu.address_space<workgroup>>
  gpu.func @without_gaps(%tensor: memref<64x512xi4>) kernel {
    %c0 = arith.constant 0 : index
    %tiles = memref.get_global @tiles : memref<2x8x256xi4, #gpu.address_space<workgroup>>
    %tile = memref.subview %tiles[1, 0, 0] [1, 8, 256] [1, 1, 1] : memref<2x8x256xi4, #gpu.address_space<workgroup>>
      to memref<8x256xi4, strided<[256, 1], offset: 2048>, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {sizes = array<i64: 8, 256>,
      static_source_offsets = array<i64: 8, 256>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xi4>, memref<8x256xi4, strided<[256, 1], offset: 2048>, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    "tile.copy_async"(%tile, %tensor) {sizes = array<i64: 8, 256>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 8, 0>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (memref<8x256xi4, strided<[256, 1], offset: 2048>, #gpu.address_space<workgroup>>, memref<64x512xi4>) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// 16 rows of 128 elements of 6 bits are 1536 bytes; rows of a dynamic pitch that is said to be a multiple of 128.
// CHECK-LABEL: gpu.module @six_bits
// CHECK: data_type = "16U6_ALIGN16B", dims = ["global.dim1", "global.dim0"]
// CHECK-SAME: transaction_bytes = 1536
gpu.module @six_bits {
  memref.global "private" @tile : memref<16x128xf6E3M2FN, #gpu.address_space<workgroup>>
  gpu.func @six_bits(%tensor: memref<?x?xf6E3M2FN, strided<[?, 1]>>, %row: index) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<16x128xf6E3M2FN, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tensor, %tile, %row, %barrier, %c0) {sizes = array<i64: 16, 128>,
      static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
      assume = {global_strides = [128, 1]}, expect_tx, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<?x?xf6E3M2FN, strided<[?, 1]>>, memref<16x128xf6E3M2FN, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
    gpu.return
  }
}
