// Barriers and static tiles never share bytes with dynamic shared memory, which starts at a multiple of 1024; cluster
// sizes reach the assembler.
//
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-descriptor-args,tile-lower-kernels)' | FileCheck %s --check-prefix=LLVM
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-descriptor-args,tile-lower-kernels,nvvm-attach-target{chip=sm_90a features=+ptx86},gpu-module-to-binary{format=isa})' \
// RUN:   | FileCheck %s --check-prefix=PTX

// One static block (barriers 16 bytes, tile 256) padded to 1024; MLIR's own lowering puts both at the same address.
// LLVM-DAG: llvm.mlir.global external @__dynamic_shmem__{{.*}}alignment = 1024 : i64} : !llvm.array<0 x i8>
// LLVM-DAG: llvm.mlir.global {{.*}}alignment = 1024 : i64} : !llvm.array<1024 x i8>
// LLVM: llvm.func @ring
// LLVM: llvm.func @cluster
// LLVM-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>

// PTX: .extern .shared .align 1024 .b8 __dynamic_shmem__
// PTX: .entry ring
// PTX: .shared .align 1024 .b8 {{.*}}[1024]
// PTX: .entry cluster
// PTX: .reqnctapercluster 2, 1, 1
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @scales : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.func @ring(%out: memref<64xf32>, %i: index) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bars = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      nvgpu.mbarrier.init %bars[%i], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
      %scales = memref.get_global @scales : memref<64xf32, #gpu.address_space<workgroup>>
      %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
      %x = memref.load %out[%i] : memref<64xf32>
      memref.store %x, %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %x, %scales[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %y = memref.load %tile[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
      %z = memref.load %scales[%c1] : memref<64xf32, #gpu.address_space<workgroup>>
      %sum = arith.addf %y, %z : f32
      memref.store %sum, %out[%i] : memref<64xf32>
      gpu.return
    }
    gpu.func @cluster(%out: memref<64xf32>, %i: index) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %out[%i] : memref<64xf32>
      gpu.return
    }
  }
}
