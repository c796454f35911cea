// The dialect's text survives parsing and printing, here and in stock mlir-opt.
//
// RUN: tma-opt %s | tma-opt | FileCheck %s
// RUN: mlir-opt --irdl-file=%irdl %s | mlir-opt --irdl-file=%irdl | FileCheck %s
// RUN: tma-opt %s -o %t.ours && mlir-opt --irdl-file=%irdl %s -o %t.theirs && diff %t.ours %t.theirs

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
!shared = memref<8x256xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: @load
func.func @load(%source: memref<64x256xf16>, %tile: !shared, %barrier: !barrier, %i: index) {
  // CHECK: "tile.copy_async"(%{{.*}}, %{{.*}}, %[[I:.*]], %{{.*}}, %[[I]])
  // CHECK-SAME: destination_layout = #tile.atoms<"128B">
  // CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
  // CHECK-SAME: sizes = array<i64: 8, 256>
  // CHECK-SAME: static_destination_offsets = array<i64: 0, 0>
  // CHECK-SAME: static_source_offsets = array<i64: -9223372036854775808, 0>
  "tile.copy_async"(%source, %tile, %i, %barrier, %i) {
    static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 256>, destination_layout = #tile.atoms<"128B">,
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
  } : (memref<64x256xf16>, !shared, index, !barrier, index) -> ()
  return
}

// CHECK-LABEL: @gather
func.func @gather(%source: memref<64x256xf16>, %tile: memref<4x64xf16, #gpu.address_space<workgroup>>,
                  %barrier: !barrier, %i: index) {
  // CHECK: "tile.copy_async"
  // CHECK-SAME: mode = "gather4"
  // CHECK-SAME: static_source_offsets = array<i64: 7, -9223372036854775808, 1, 2, 64>
  "tile.copy_async"(%source, %tile, %i, %barrier, %i) {
    mode = "gather4", static_source_offsets = array<i64: 7, -9223372036854775808, 1, 2, 64>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 64>,
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
  } : (memref<64x256xf16>, memref<4x64xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
  return
}

// CHECK-LABEL: @rebase
func.func @rebase(%tensor: memref<?x64xf16>, %address: i64, %scratch: memref<128xi8>, %rows: index) {
  // CHECK: "tile.rebase_tensor"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}
  %0 = "tile.rebase_tensor"(%tensor, %address, %scratch, %rows) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}
    : (memref<?x64xf16>, i64, memref<128xi8>, index) -> memref<?x64xf16>
  return
}

// CHECK-LABEL: @store
func.func @store(%tile: !shared, %target: memref<8x256xf16>, %p: i1) {
  // CHECK: "tile.copy_async"
  // CHECK-SAME: source_layout = #tile.layout<[8, 4, 64], [64, 512, 1]>
  // CHECK-SAME: swizzle = #tile.swizzle<"128B">
  "tile.copy_async"(%tile, %target, %p) {
    static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 256>, source_layout = #tile.layout<[8, 4, 64], [64, 512, 1]>,
    swizzle = #tile.swizzle<"128B">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1, 0, 0>
  } : (!shared, memref<8x256xf16>, i1) -> ()
  return
}
