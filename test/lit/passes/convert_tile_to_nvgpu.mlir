// What nvgpu cannot say becomes nvvm; loops, predicates, subviews and announcements come out as written here.
//
// RUN: tma-opt %s --split-input-file --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' | FileCheck %s

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// A 32-byte row in a 128-byte swizzle: nvgpu's verifier wants the full span, the hardware does not.
// CHECK-LABEL: gpu.module @narrow_box
// CHECK: memref.global "private" @tile {{.*}}alignment = 1024
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}]
// CHECK-NOT: nvgpu.tma.async.load
gpu.module @narrow_box {
  memref.global "private" @tile : memref<8x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x16xf16>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<8x64xf16, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 16>, swizzle = #tile.swizzle<"128B">, variant = "tma",
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x16xf16>, memref<8x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// 2048 one-byte elements a row move as 256 eight-byte ones: one instruction, with pointers because the memref is i8.
// CHECK-LABEL: gpu.module @promoted
// CHECK: tile.create_descriptor
// CHECK-SAME: box = [256, 8], data_type = "UINT64"
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: cp.async.bulk
gpu.module @promoted {
  memref.global "private" @tile : memref<8x2048xi8, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x4096xi8>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<8x2048xi8, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 8, 16>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 2048>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x4096xi8>, memref<8x2048xi8, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// A subview of the argument folds into coordinates; the predicate guards announcement and instruction alike.
// CHECK-LABEL: gpu.module @subview
// CHECK: gpu.func @kernel(%[[IN:.*]]: memref<256x256xf32>, {{.*}}, %[[ROW:.*]]: index, %[[P:.*]]: i1)
// CHECK: tile.create_descriptor"(%[[IN]])
// CHECK: scf.if %[[P]] {
// CHECK:   nvgpu.mbarrier.arrive.expect_tx %{{.*}}, %c4096
// CHECK:   nvgpu.tma.async.load %{{.*}}[%c64{{.*}}, %[[ROW]]]
// CHECK: }
gpu.module @subview {
  memref.global "private" @tile : memref<32x32xf32, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<256x256xf32>, %bar: !barrier, %i: index, %row: index, %p: i1) kernel {
    %tile = memref.get_global @tile : memref<32x32xf32, #gpu.address_space<workgroup>>
    %view = memref.subview %in[%row, 64] [32, 32] [1, 1]
      : memref<256x256xf32> to memref<32x32xf32, strided<[256, 1], offset: ?>>
    "tile.copy_async"(%view, %tile, %bar, %i, %p) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 32, 32>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 1, 0, 0>
    } : (memref<32x32xf32, strided<[256, 1], offset: ?>>, memref<32x32xf32, #gpu.address_space<workgroup>>,
         !barrier, index, i1) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// Two copies of one tensor with one tensor map share a descriptor; a stage of a ring is an offset into shared memory.
// CHECK-LABEL: gpu.module @ring
// CHECK-COUNT-1: tile.create_descriptor
// CHECK-NOT: tile.create_descriptor
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%{{.*}}], sizes: [64, 64]
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.tma.async.load
gpu.module @ring {
  memref.global "private" @ring : memref<4x64x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<256x256xf16>, %bar: !barrier, %stage: index) kernel {
    %ring = memref.get_global @ring : memref<4x64x64xf16, #gpu.address_space<workgroup>>
    %tile = memref.subview %ring[%stage, 0, 0] [1, 64, 64] [1, 1, 1] : memref<4x64x64xf16, #gpu.address_space<workgroup>>
      to memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %bar, %stage) {
      static_source_offsets = array<i64: 0, 64>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<256x256xf16>, memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>,
         !barrier, index) -> ()
    "tile.copy_async"(%in, %tile, %bar, %stage) {
      static_source_offsets = array<i64: 64, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<256x256xf16>, memref<64x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>,
         !barrier, index) -> ()
    gpu.return
  }
}
