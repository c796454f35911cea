// A 2x16x32 float16 tile of a rank-3 tensor, one image pair for each block, stored with the 64-byte swizzle. The
// shared tile lives in dynamic shared memory, which the lowering keeps apart from barriers and aligns.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/load_rank3.ptx

// PLAN: plan = #tile.plan<{
// PLAN-SAME: instructions = 1
// PLAN-SAME: box = [32, 16, 2]
// PLAN-SAME: data_type = "FLOAT16"
// PLAN-SAME: dims = [128, 64, 8]
// PLAN-SAME: strides_bytes = [256, 16384]
// PLAN-SAME: swizzle = "64B"

// NVGPU: nvgpu.tma.async.load {{.*}}tensor = memref<2x16x32xf16, #gpu.address_space<workgroup>>, swizzle = swizzle_64b

// The barrier sits in a block of whole kilobytes, so that the dynamic part after it is aligned under every assembler.
// PTX: .extern .shared .align 1024 .b8 __dynamic_shmem__
// PTX: .shared .align 1024 .b8 __static_shmem[1024]
// PTX: cp.async.bulk.tensor.3d.shared::

// RESULT: rank 3, dims 128,64,8, strides 256,16384 bytes, box 32,16,2, swizzle 64B
// RESULT: verified

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @load_rank3(%in: memref<8x64x128xf16>, %out: memref<4x1024xf16>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c128 = arith.constant 128 : index
      %c1024 = arith.constant 1024 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %image = arith.muli %block, %c2 : index
      %leader = arith.cmpi eq, %thread, %c0 : index
      %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %memory[%c0][]
        : memref<?xi8, #gpu.address_space<workgroup>> to memref<2x16x32xf16, #gpu.address_space<workgroup>>

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%in, %tile, %image, %barrier, %c0) {
          static_source_offsets = array<i64: -9223372036854775808, 32, 64>,
          static_destination_offsets = array<i64: 0, 0, 0>,
          sizes = array<i64: 2, 16, 32>, swizzle = #tile.swizzle<"64B">, expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
        } : (memref<8x64x128xf16>, memref<2x16x32xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier

      %flat = memref.collapse_shape %tile [[0, 1, 2]]
        : memref<2x16x32xf16, #gpu.address_space<workgroup>> into memref<1024xf16, #gpu.address_space<workgroup>>
      scf.for %i = %thread to %c1024 step %c128 {
        %value = memref.load %flat[%i] : memref<1024xf16, #gpu.address_space<workgroup>>
        memref.store %value, %out[%block, %i] : memref<4x1024xf16>
      }
      gpu.return
    }
  }
}
