// Host code in the module launches the kernel: it creates the descriptors, through the whole upstream lowering.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args)' | FileCheck %s
// RUN: split-file %s %t && tma-opt %t/good.mlir --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args,expand-strided-metadata,convert-nvgpu-to-nvvm,gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts),nvvm-attach-target{chip=sm_90a features=+ptx86},convert-scf-to-cf,gpu-to-llvm,convert-nvvm-to-llvm,reconcile-unrealized-casts,gpu-module-to-binary{format=isa})' | FileCheck %s --check-prefix=LLVM

//--- good.mlir

// CHECK-LABEL: gpu.func @kernel
// CHECK-SAME: (%{{.*}}: memref<?x64xf16>, %[[P:.*]]: !llvm.ptr) kernel
// CHECK: %[[D:.*]] = builtin.unrealized_conversion_cast %[[P]] : !llvm.ptr to !nvgpu.tensormap.descriptor
// CHECK: nvgpu.tma.fence.descriptor %[[D]]
// CHECK: nvgpu.tma.async.load %[[D]]

// CHECK-LABEL: func.func @host(%arg0: memref<?x64xf16>)
// CHECK: %[[V:.*]] = memref.reinterpret_cast %arg0 to offset: [0], sizes: [%{{.*}}, 64], strides: [64, 1]
// CHECK: %[[U:.*]] = memref.cast %[[V]] : {{.*}} to memref<*xf16>
// CHECK: %[[H:.*]] = nvgpu.tma.create.descriptor %[[U]] box[%{{.*}}, %{{.*}}]
// CHECK: %[[HP:.*]] = builtin.unrealized_conversion_cast %[[H]] : {{.*}} to !llvm.ptr
// CHECK: gpu.launch_func @kernels::@kernel {{.*}} args(%arg0 : memref<?x64xf16>, %[[HP]] : !llvm.ptr)

// LLVM: gpu.binary @kernels
// LLVM-SAME: fence.proxy.tensormap::generic.acquire
// LLVM-SAME: cp.async.bulk.tensor.2d
// LLVM: llvm.func @host
// LLVM: llvm.call @mgpuTensorMapEncodeTiledMemref

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.func @kernel(%in: memref<?x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : memref<64x64xf16, #gpu.address_space<workgroup>>
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<?x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      gpu.return
    }
  }
  func.func @host(%in: memref<?x64xf16>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%in : memref<?x64xf16>)
    return
  }
}

// -----
//--- bad.mlir

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<8x2048xi8, #gpu.address_space<workgroup>>
    // expected-error@+1 {{descriptor needs element type i8, which nvgpu cannot encode, and the module's host code launches the kernel}}
    gpu.func @kernel(%in: memref<8x2048xi8>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : memref<8x2048xi8, #gpu.address_space<workgroup>>
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 8, 2048>, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<8x2048xi8>, memref<8x2048xi8, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      gpu.return
    }
  }
  func.func @host(%in: memref<8x2048xi8>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%in : memref<8x2048xi8>)
    return
  }
}
