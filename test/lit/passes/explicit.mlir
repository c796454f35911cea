// variant = "tma_explicit": the user's own box, one instruction, checked and never repaired.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tile-plan-copies | FileCheck %s

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// The planner would fold the two dimensions into one row of 256 elements; this box is taken as it is.
// CHECK: box = [32, 8]
// CHECK-SAME: dims = [32, 64]
gpu.module @taken {
  memref.global "private" @tile : memref<8x32xf32, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x32xf32>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<8x32xf32, #gpu.address_space<workgroup>>
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 8, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 32>, variant = "tma_explicit", explicit = {box = [8, 32]},
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x32xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @too_small {
  memref.global "private" @tile : memref<8x32xf32, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x32xf32>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<8x32xf32, #gpu.address_space<workgroup>>
    // expected-error@+1 {{rule: }}
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 8, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 32>, variant = "tma_explicit", explicit = {box = [4, 32]},
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x32xf32>, memref<8x32xf32, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @not_together(%a: memref<64x32xf32>, %b: memref<8x32xf32, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{variant "tma_explicit" and the attribute 'explicit' with its box belong together}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 32>, explicit = {box = [8, 32]},
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<64x32xf32>, memref<8x32xf32, 3>, !barrier, index) -> ()
  return
}
