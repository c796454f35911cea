// Loads of one phase are announced by one arrival with the sum of their bytes (a barrier for each input costs 3 % of
// peak bandwidth at four inputs, NVIDIA/Fuser#5858).
//
// RUN: tma-opt %s --split-input-file --pass-pipeline='builtin.module(tile-plan-copies,tile-merge-expect-tx)' | FileCheck %s
// RUN: tma-opt %s --split-input-file --pass-pipeline='builtin.module(tile-plan-copies,tile-merge-expect-tx,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tma-remarks --tile-merge-expect-tx

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// 8192 bytes each.
// CHECK-LABEL: gpu.module @two
// CHECK: "tile.copy_async"{{.*}}announce_bytes = 16384 : i64, expect_tx
// CHECK: "tile.copy_async"
// CHECK-NOT: expect_tx
// CHECK: gpu.return
// NVGPU-LABEL: gpu.module @two
// NVGPU: nvgpu.mbarrier.arrive.expect_tx %{{.*}}, %c16384
// NVGPU: nvvm.cp.async.bulk.shared.cluster.global
// NVGPU-NOT: expect_tx
// NVGPU: nvvm.cp.async.bulk.shared.cluster.global
gpu.module @two {
  gpu.func @kernel(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %i: index)
      workgroup(%s: !tile, %t: !tile) kernel {
    %bar = nvgpu.mbarrier.create -> !barrier
    // expected-remark@+1 {{announces the 16384 bytes of 2 copies at once}}
    "tile.copy_async"(%a, %s, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    "tile.copy_async"(%b, %t, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// A wait ends the phase, and so does one inside a loop or branch.
// CHECK-LABEL: gpu.module @wait_between
// CHECK-COUNT-3: expect_tx
// CHECK-NOT: announce_bytes
// CHECK: gpu.return
gpu.module @wait_between {
  gpu.func @kernel(%a: memref<64x64xf16>, %i: index, %p: i1) workgroup(%s: !tile) kernel {
    %bar = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%a, %s, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    "tile.wait"(%bar, %i, %p) : (!barrier, index, i1) -> ()
    "tile.copy_async"(%a, %s, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    scf.if %p {
      "tile.wait"(%bar, %i, %p) : (!barrier, index, i1) -> ()
    }
    "tile.copy_async"(%a, %s, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// Another index of the group, another predicate: another phase, or one that may not happen.
// CHECK-LABEL: gpu.module @apart
// CHECK-COUNT-3: expect_tx
// CHECK-NOT: announce_bytes
// CHECK: gpu.return
gpu.module @apart {
  gpu.func @kernel(%a: memref<64x64xf16>, %p: i1) workgroup(%s: !tile, %t: !tile, %u: !tile) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%a, %s, %bar, %c0) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    "tile.copy_async"(%a, %t, %bar, %c1) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    "tile.copy_async"(%a, %u, %bar, %c0, %p) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 1, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index, i1) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// Here each announcement is one of the arrivals that the barrier counts.
// CHECK-LABEL: gpu.module @counted
// CHECK-COUNT-2: expect_tx
// CHECK-NOT: announce_bytes
// CHECK: gpu.return
gpu.module @counted {
  gpu.func @kernel(%a: memref<64x64xf16>) workgroup(%s: !tile, %t: !tile) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %bar = nvgpu.mbarrier.create -> !barrier
    nvgpu.mbarrier.init %bar[%c0], %c2 : !barrier
    // expected-remark@+1 {{2 announcements on one mbarrier stay apart: it expects 2 arrivals}}
    "tile.copy_async"(%a, %s, %bar, %c0) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    "tile.copy_async"(%a, %t, %bar, %c0) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 64, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
    gpu.return
  }
}
