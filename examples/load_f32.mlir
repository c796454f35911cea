// A 32x64 float32 tile whose rows leave the tensor: the matrix has 40 rows and 100 columns, and the tile starts at
// (16, 64). What lies outside reads as zero. Without a swizzle the tile is plain row-major.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/load_f32.ptx

// PLAN: plan = #tile.plan<{
// PLAN-SAME: coordinates = [64, 16]
// PLAN-SAME: instructions = 1
// PLAN-SAME: box = [64, 32]
// PLAN-SAME: data_type = "FLOAT32"
// PLAN-SAME: dims = [100, 40]
// PLAN-SAME: strides_bytes = [400]

// NVGPU: %[[X:.*]] = arith.constant 64 : index
// NVGPU: %[[Y:.*]] = arith.constant 16 : index
// NVGPU: nvgpu.tma.async.load %{{.*}}[%[[X]], %[[Y]]]

// PTX: cp.async.bulk.tensor.2d.shared::

// RESULT: rank 2, dims 100,40, strides 400 bytes, box 64,32, swizzle none, float32
// RESULT: verified

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<32x64xf32, #gpu.address_space<workgroup>>

    gpu.func @load_f32(%in: memref<40x100xf32>, %out: memref<32x64xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %tile = memref.get_global @tile : memref<32x64xf32, #gpu.address_space<workgroup>>

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%in, %tile, %barrier, %c0) {
          static_source_offsets = array<i64: 16, 64>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 32, 64>, expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<40x100xf32>, memref<32x64xf32, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier

      scf.for %r = %c0 to %c32 step %c1 {
        %value = memref.load %tile[%r, %thread] : memref<32x64xf32, #gpu.address_space<workgroup>>
        memref.store %value, %out[%r, %thread] : memref<32x64xf32>
      }
      gpu.return
    }
  }
}
