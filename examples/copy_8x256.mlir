// The demonstration: one thread moves an 8x256 float16 tile from global to shared memory. The tile is stored as
// 128-byte-swizzled atoms, so the 256 columns are four groups of 64: one three-dimensional TMA instruction.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/copy_8x256.ptx

// PLAN: plan = #tile.plan<{
// PLAN-SAME: coordinates = [0, 0, 0]
// PLAN-SAME: instructions = 1
// PLAN-SAME: shared_alignment_bytes = 1024
// PLAN-SAME: box = [64, 8, 4]
// PLAN-SAME: data_type = "FLOAT16"
// PLAN-SAME: dims = [64, 8, 4]
// PLAN-SAME: strides_bytes = [512, 128]
// PLAN-SAME: swizzle = "128B"
// PLAN-SAME: transaction_bytes = 4096

// NVGPU: memref.global "private" @tile {{.*}}alignment = 1024
// NVGPU: tile.create_descriptor
// NVGPU: nvgpu.tma.async.load {{.*}}[{{.*}}, {{.*}}, {{.*}}], {{.*}}tensor = memref<4x8x64xf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b

// PTX: .entry copy_8x256(
// PTX: .param .align 128 .b8 copy_8x256_param_0[128]
// PTX: cp.async.bulk.tensor.3d.shared::{{cta|cluster}}.global.tile.mbarrier::complete_tx::bytes

// RESULT: verified

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<8x256xf16, #gpu.address_space<workgroup>>

    gpu.func @copy_8x256(%in: memref<8x256xf16>, %out: memref<8x256xf16>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %c2048 = arith.constant 2048 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %tile = memref.get_global @tile : memref<8x256xf16, #gpu.address_space<workgroup>>

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%in, %tile, %barrier, %c0) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 8, 256>, destination_layout = #tile.atoms<"128B">, expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<8x256xf16>, memref<8x256xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier

      // The tile's bytes as they lie in shared memory, swizzle and all, go out in order.
      %flat = memref.collapse_shape %tile [[0, 1]]
        : memref<8x256xf16, #gpu.address_space<workgroup>> into memref<2048xf16, #gpu.address_space<workgroup>>
      %flat_out = memref.collapse_shape %out [[0, 1]] : memref<8x256xf16> into memref<2048xf16>
      scf.for %i = %thread to %c2048 step %c128 {
        %value = memref.load %flat[%i] : memref<2048xf16, #gpu.address_space<workgroup>>
        memref.store %value, %flat_out[%i] : memref<2048xf16>
      }
      gpu.return
    }
  }
}
