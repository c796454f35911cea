// A copy that the block executes together is shared by its threads, between barriers; any other is each thread's own.
//
// RUN: tma-opt %s --verify-diagnostics --tma-remarks --tile-lower-copies
// RUN: tma-opt %s --tile-lower-copies | FileCheck %s

!part = memref<32x32xf32, strided<[33, 1]>>
!tile = memref<32x32xf32, #gpu.address_space<workgroup>>
gpu.module @copies {
  memref.global "private" @tile : !tile

  // CHECK-LABEL: gpu.func @together
  // CHECK: gpu.barrier
  // CHECK: scf.for %{{.*}} = %{{.*}} to %c1024
  // CHECK: memref.load
  // CHECK: memref.store
  // CHECK: }
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: gpu.return
  gpu.func @together(%in: !part) kernel {
    %tile = memref.get_global @tile : !tile
    // expected-remark@+1 {{'memref.copy' op becomes a loop that the threads of the block share}}
    memref.copy %in, %tile : !part to !tile
    gpu.barrier
    gpu.return
  }

  // CHECK-LABEL: gpu.func @each
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32
  // CHECK-NOT: gpu.barrier
  gpu.func @each(%in: !part, %mine: memref<32x32xf32, #gpu.address_space<private>>) {
    // expected-remark@+1 {{'linalg.copy' op becomes a loop in which each thread copies everything: it is in no kernel}}
    linalg.copy ins(%in : !part) outs(%mine : memref<32x32xf32, #gpu.address_space<private>>)
    gpu.return
  }
}
