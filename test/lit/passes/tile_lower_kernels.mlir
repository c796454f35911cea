// Vectors in shared memory compile without a word: loads, stores, transfers of rows and of boxes, masks.
//
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-descriptor-args,tile-lower-kernels)' 2>&1 | FileCheck %s
// RUN: tma-opt %s --tile-to-cubin 2>&1 | FileCheck %s --check-prefix=CUBIN

// CHECK-NOT: error
// CHECK: llvm.func @k
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.intr.masked.store
// CHECK: llvm.store %{{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT: unrealized_conversion_cast

// CUBIN-NOT: error
// CUBIN: bin = "\7FELF

!tile = memref<16x64xf32, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
gpu.module @m {
  memref.global "private" @t : !tile
  gpu.func @k(%a: memref<16x64xf32>, %b: memref<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %i = gpu.thread_id x
    %t = memref.get_global @t : !tile
    %v = vector.transfer_read %a[%i, %c0], %z {in_bounds = [true]} : memref<16x64xf32>, vector<4xf32>
    %w = vector.load %t[%i, %c0] : !tile, vector<4xf32>
    %s = arith.addf %v, %w : vector<4xf32>
    %bc = vector.broadcast %z : f32 to vector<4xf32>
    %m = arith.mulf %s, %bc : vector<4xf32>
    %r = vector.reduction <add>, %m : vector<4xf32> into f32
    %e = vector.extract %m[1] : f32 from vector<4xf32>
    %q = vector.insert %e, %m[0] : f32 into vector<4xf32>
    %x = vector.fma %q, %m, %s : vector<4xf32>
    %m2 = vector.create_mask %i : vector<4xi1>
    vector.maskedstore %t[%i, %c0], %m2, %x : !tile, vector<4xi1>, vector<4xf32>
    %sh = vector.shuffle %x, %q [0, 5, 2, 7] : vector<4xf32>, vector<4xf32>
    vector.transfer_write %sh, %t[%i, %c0] {in_bounds = [true]} : vector<4xf32>, !tile
    %big = vector.transfer_read %t[%c0, %c0], %z {in_bounds = [true, true]} : !tile, vector<2x4xf32>
    vector.transfer_write %big, %a[%c0, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, memref<16x64xf32>
    memref.store %r, %b[%i] : memref<64xf32>
    gpu.return
  }
}
}
