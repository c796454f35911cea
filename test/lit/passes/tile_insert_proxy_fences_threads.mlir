// What threads store one element after the other (the plan says so) passes no proxy. 3 columns of int32 are 12 bytes.
//
// RUN: tma-opt %s --tile-plan-copies --tile-insert-proxy-fences | FileCheck %s

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @by_threads
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpu.return
gpu.module @by_threads {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    memref.store %v, %tile[%c0, %c0] : !tile
    gpu.barrier
    "tile.copy_async"(%tile, %out) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 1>,
      sizes = array<i64: 16, 32>, variant = "simt",
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (!tile, memref<128x256xi32>) -> ()
    gpu.return
  }
}
