// Tensors whose type names the global address space have pointers of that space, in instructions and in copies by
// threads, also where their arguments are expanded. A prefetch means nothing by definition.
//
// RUN: tma-run %s --device sim --arg 0=random:1@40x64 --arg 1=random:2@40x50 | FileCheck %s

// CHECK-DAG: cp.async.bulk.prefetch.tensor.2d.L2.global.tile
// CHECK-DAG: cp.async.bulk.tensor.2d.shared::cta.global.tile
// CHECK: verified: {{.*}}
// CHECK: changed: argument 2 ({{[^)]*}})

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!matrix = memref<?x64xf16, #gpu.address_space<global>>
!odd = memref<?x50xf16, #gpu.address_space<global>>

gpu.module @kernels {
  memref.global "private" @tile : memref<32x64xf16, #gpu.address_space<workgroup>>
  memref.global "private" @odd_tile : memref<32x50xf16, #gpu.address_space<workgroup>>

  gpu.func @global_space(%a: !matrix, %b: !odd, %out: memref<2x32x64xf16, #gpu.address_space<global>>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %phase = arith.constant false
    %thread = gpu.thread_id x
    %leader = arith.cmpi eq, %thread, %c0 : index
    %tile = memref.get_global @tile : memref<32x64xf16, #gpu.address_space<workgroup>>
    %odd_tile = memref.get_global @odd_tile : memref<32x50xf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    %odd_barrier = nvgpu.mbarrier.create -> !barrier
    scf.if %leader {
      nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      nvgpu.mbarrier.init %odd_barrier[%c0], %c1 : !barrier
      "tile.prefetch_async"(%a) {static_source_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
        operandSegmentSizes = array<i32: 1, 0, 0, 0>} : (!matrix) -> ()
    }
    gpu.barrier
    "tile.copy_async"(%a, %tile, %barrier, %c0) {
      static_source_offsets = array<i64: 16, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 32, 64>, expect_tx, scope = "cta", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (!matrix, memref<32x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    // Rows of 100 bytes: no descriptor has such a pitch.
    "tile.copy_async"(%b, %odd_tile, %odd_barrier, %c0) {
      static_source_offsets = array<i64: 3, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 32, 50>, expect_tx, scope = "cta", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (!odd, memref<32x50xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()
    "tile.wait"(%odd_barrier, %c0, %phase) : (!barrier, index, i1) -> ()
    scf.for %r = %c0 to %c32 step %c1 {
      %value = memref.load %tile[%r, %thread] : memref<32x64xf16, #gpu.address_space<workgroup>>
      memref.store %value, %out[%c0, %r, %thread] : memref<2x32x64xf16, #gpu.address_space<global>>
      %odd = memref.load %odd_tile[%r, %thread] : memref<32x50xf16, #gpu.address_space<workgroup>>
      memref.store %odd, %out[%c1, %r, %thread] : memref<2x32x64xf16, #gpu.address_space<global>>
    }
    gpu.return
  }
}
