// Ordinary copies become copies by TMA, with what completes them.
//
// RUN: tma-opt %s --split-input-file --tile-raise-copies | FileCheck %s
// RUN: tma-opt %s --split-input-file --tile-raise-copies --tile-to-cubin | FileCheck %s --check-prefix=CUBIN
// CUBIN-COUNT-5: bin = "\7FELF

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>

// A load: its mbarrier is initialised by one thread at entry, the wait is for the first phase.
// CHECK-LABEL: gpu.func @load
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[BAR:.*]] = nvgpu.mbarrier.create
// CHECK: scf.if
// CHECK: nvgpu.mbarrier.init %[[BAR]][%[[ZERO]]], %c1
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK: }
// CHECK-NEXT: gpu.barrier
// CHECK: %[[TILE:.*]] = memref.get_global
// CHECK: gpu.barrier
// CHECK: "tile.copy_async"(%arg0, %[[TILE]], %[[BAR]], %[[ZERO]]) {expect_tx, in_bounds, {{.*}}scope = "cta", sizes = array<i64: 32, 32>, {{.*}}static_source_offsets = array<i64: 32, 64>
// CHECK-NEXT: %[[PARITY:.*]] = arith.constant false
// CHECK-NEXT: "tile.wait"(%[[BAR]], %[[ZERO]], %[[PARITY]])
// CHECK-NOT: memref.copy
// CHECK: gpu.return
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @load(%in: memref<128x256xf32>) kernel {
      %tile = memref.get_global @tile : !tile
      %from = memref.subview %in[32, 64] [32, 32] [1, 1] : memref<128x256xf32> to memref<32x32xf32, strided<[256, 1], offset: 8256>>
      memref.copy %from, %tile : memref<32x32xf32, strided<[256, 1], offset: 8256>> to !tile
      gpu.return
    }
  }
}

// -----

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>

// A store in a loop; the ordinary write is fenced by all threads, and the tile free again behind the last barrier.
// CHECK-LABEL: gpu.func @store
// CHECK-NOT: mbarrier
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: memref.store
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: "tile.copy_async"(%{{.*}}, %arg0, %[[ROW]])
// CHECK-NEXT: "tile.commit_group"
// CHECK-NEXT: "tile.wait_group"() {pending = 0 : i64}
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: linalg.copy
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @store(%out: memref<128x32xf32>, %x: f32) kernel {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %thread = gpu.thread_id x
      %tile = memref.get_global @tile : !tile
      scf.for %row = %c0 to %c128 step %c32 {
        memref.store %x, %tile[%thread, %c0] : !tile
        %to = memref.subview %out[%row, 0] [32, 32] [1, 1] : memref<128x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
        linalg.copy ins(%tile : !tile) outs(%to : memref<32x32xf32, strided<[32, 1], offset: ?>>)
      }
      gpu.return
    }
  }
}

// -----

!tile = memref<2x32x32xf32, #gpu.address_space<workgroup>>

// A vector read here and written there. In a single loop the parity is that of the iteration.
// CHECK-LABEL: gpu.func @transfer
// CHECK: scf.for %[[ROW:.*]] = %[[LOW:.*]] to %{{.*}} step %[[STEP:.*]] {
// CHECK: "tile.copy_async"(%arg0, %{{.*}}, %[[ROW]], %{{.*}}) {{.*}}sizes = array<i64: 32, 32>, static_destination_offsets = array<i64: 1, 0, 0>, static_source_offsets = array<i64: -9223372036854775808, 96>
// CHECK-NEXT: %[[DONE:.*]] = arith.subi %[[ROW]], %[[LOW]]
// CHECK-NEXT: %[[ITERATION:.*]] = arith.divui %[[DONE]], %[[STEP]]
// CHECK: %[[PARITY:.*]] = arith.trunci
// CHECK-NEXT: "tile.wait"(%{{.*}}, %{{.*}}, %[[PARITY]])
// CHECK-NOT: vector.transfer
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @transfer(%in: memref<128x256xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c96 = arith.constant 96 : index
      %c128 = arith.constant 128 : index
      %zero = arith.constant 0.0 : f32
      %tile = memref.get_global @tile : !tile
      scf.for %row = %c0 to %c128 step %c32 {
        %v = vector.transfer_read %in[%row, %c96], %zero {in_bounds = [true, true]} : memref<128x256xf32>, vector<32x32xf32>
        vector.transfer_write %v, %tile[%c1, %c0, %c0] {in_bounds = [true, true]} : vector<32x32xf32>, !tile
      }
      gpu.return
    }
  }
}

// -----

!tile = memref<4x16x64xf16, #gpu.address_space<workgroup>>

// 64 threads copy eight halves each, twice: rows 0-7 and 8-15 of one box. The copy starts where the group was closed and
// is waited for where the group was.
// CHECK-LABEL: gpu.func @group
// CHECK-NOT: nvgpu.device_async
// CHECK: "tile.copy_async"(%arg0, %{{.*}}, %arg1, %arg2, %{{.*}}, %{{.*}}) {{.*}}sizes = array<i64: 16, 64>, static_destination_offsets = array<i64: -9223372036854775808, 0, 0>, static_source_offsets = array<i64: -9223372036854775808, 128>
// CHECK: arith.addi %arg1, %arg2
// CHECK: "tile.wait"
// CHECK: gpu.barrier
// CHECK-NOT: nvgpu.device_async
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @ring : !tile
    gpu.func @group(%in: memref<128x256xf16>, %row: index, %stage: index) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c8 = arith.constant 8 : index
      %c128 = arith.constant 128 : index
      %ring = memref.get_global @ring : !tile
      %thread = gpu.thread_id x
      %r = arith.divui %thread, %c8 : index
      %q = arith.remui %thread, %c8 : index
      %c = arith.muli %q, %c8 : index
      %from_row = arith.addi %row, %r : index
      %from_column = arith.addi %c, %c128 : index
      %0 = nvgpu.device_async_copy %in[%from_row, %from_column], %ring[%stage, %r, %c], 8 : memref<128x256xf16> to !tile
      %r8 = arith.addi %r, %c8 : index
      %from_row8 = arith.addi %from_row, %c8 : index
      %1 = nvgpu.device_async_copy %in[%from_row8, %from_column], %ring[%stage, %r8, %c], 8 : memref<128x256xf16> to !tile
      %group = nvgpu.device_async_create_group %0, %1
      %work = arith.addi %row, %stage : index
      nvgpu.device_async_wait %group
      gpu.barrier
      gpu.return
    }
  }
}

// -----

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>

// How often a branch in a loop was taken is counted.
// CHECK-LABEL: gpu.func @counted
// CHECK: %[[PHASE:.*]] = memref.alloca() : memref<i32>
// CHECK: memref.store %c0_i32, %[[PHASE]][]
// CHECK: "tile.copy_async"
// CHECK-NEXT: %[[NOW:.*]] = memref.load %[[PHASE]][]
// CHECK-NEXT: %[[PARITY:.*]] = arith.trunci %[[NOW]]
// CHECK-NEXT: "tile.wait"(%{{.*}}, %{{.*}}, %[[PARITY]])
// CHECK: %[[NEXT:.*]] = arith.xori
// CHECK: memref.store %[[NEXT]], %[[PHASE]][]
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @counted(%in: memref<128x32xf32>, %skip: index) kernel {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %tile = memref.get_global @tile : !tile
      scf.for %row = %c0 to %c128 step %c32 {
        %wanted = arith.cmpi ne, %row, %skip : index
        scf.if %wanted {
          %from = memref.subview %in[%row, 0] [32, 32] [1, 1] : memref<128x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
          memref.copy %from, %tile : memref<32x32xf32, strided<[32, 1], offset: ?>> to !tile
        }
      }
      gpu.return
    }
  }
}
