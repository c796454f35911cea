// Shared to global: the threads write an int32 tile with ordinary stores, fence them for the async proxy, and one
// thread stores the tile with TMA. A store joins the bulk async group; committing and waiting is the caller's.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/store_tile.ptx

// PLAN: plan = #tile.plan<{
// PLAN-SAME: instructions = 1
// PLAN-SAME: box = [32, 16]
// PLAN-SAME: data_type = "INT32"
// PLAN-SAME: dims = [256, 128]
// PLAN-SAME: strides_bytes = [1024]

// NVGPU: nvgpu.tma.async.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}]

// PTX: fence.proxy.async.shared::cta
// PTX: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// PTX: cp.async.bulk.commit_group
// PTX: cp.async.bulk.wait_group 0

// RESULT: verified: {{.*}}
// RESULT: changed: argument 0 ({{[^)]*}})

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<16x32xi32, #gpu.address_space<workgroup>>

    gpu.func @store_tile(%out: memref<128x256xi32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 8, 8, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c256 = arith.constant 256 : index
      %thread = gpu.thread_id x
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %row = arith.muli %block_y, %c16 : index
      %column = arith.muli %block_x, %c32 : index
      %tile = memref.get_global @tile : memref<16x32xi32, #gpu.address_space<workgroup>>

      // Element (r, c) of the matrix becomes 256 r + c.
      scf.for %r = %c0 to %c16 step %c1 {
        %matrix_row = arith.addi %row, %r : index
        %matrix_column = arith.addi %column, %thread : index
        %line = arith.muli %matrix_row, %c256 : index
        %number = arith.addi %line, %matrix_column : index
        %value = arith.index_cast %number : index to i32
        memref.store %value, %tile[%r, %thread] : memref<16x32xi32, #gpu.address_space<workgroup>>
      }
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpu.barrier
      %leader = arith.cmpi eq, %thread, %c0 : index
      scf.if %leader {
        "tile.copy_async"(%tile, %out, %row, %column) {
          static_source_offsets = array<i64: 0, 0>,
          static_destination_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
          sizes = array<i64: 16, 32>,
          operandSegmentSizes = array<i32: 1, 1, 0, 2, 0, 0, 0, 0, 0>
        } : (memref<16x32xi32, #gpu.address_space<workgroup>>, memref<128x256xi32>, index, index) -> ()
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }
      gpu.return
    }
  }
}
