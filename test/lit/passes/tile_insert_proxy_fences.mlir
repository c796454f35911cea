// Ordinary writes are fenced for the async proxy by the threads that made them, in front of the barrier that orders
// them before the store (FlashKDA#24, cuLA#114: a fence by the storing thread alone stores old data).
//
// RUN: tma-opt %s --split-input-file --tile-insert-proxy-fences | FileCheck %s

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @once_after_the_last
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: vector.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpu.return
gpu.module @once_after_the_last {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %leader: i1, %v: i32, %w: vector<4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %tile = memref.get_global @tile : !tile
    scf.for %r = %c0 to %c16 step %c1 {
      memref.store %v, %tile[%r, %c0] : !tile
    }
    vector.store %w, %tile[%c0, %c0] : !tile, vector<4xi32>
    gpu.barrier
    scf.if %leader {
      "tile.copy_async"(%tile, %out) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
      } : (!tile, memref<128x256xi32>) -> ()
    }
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>

// A fence that is there is enough; so is none where nothing ordinary writes the tile, though another one is written.
// CHECK-LABEL: gpu.module @fenced_already
// CHECK-COUNT-1: nvvm.fence.proxy
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpu.return
gpu.module @fenced_already {
  memref.global "private" @tile : !tile
  memref.global "private" @other : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %v: i32) workgroup(%third: !tile) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    %other = memref.get_global @other : !tile
    memref.store %v, %tile[%c0, %c0] : !tile
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    "tile.copy_async"(%tile, %out) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (!tile, memref<128x256xi32>) -> ()
    memref.store %v, %other[%c0, %c0] : !tile
    memref.store %v, %third[%c0, %c0] : !tile
    gpu.barrier
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>

// One thread's own writes need the fence, but no barrier.
// CHECK-LABEL: gpu.module @one_thread
// CHECK: scf.if
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: "tile.copy_async"
gpu.module @one_thread {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %leader: i1, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    scf.if %leader {
      memref.store %v, %tile[%c0, %c0] : !tile
      "tile.copy_async"(%tile, %out) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
      } : (!tile, memref<128x256xi32>) -> ()
    }
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!token = !nvgpu.mbarrier.token

// Specialised warps: the writers release by arriving. Written through an LLVM pointer, read through a subview.
// CHECK-LABEL: gpu.module @specialised
// CHECK: llvm.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: nvgpu.mbarrier.arrive
gpu.module @specialised {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %stores: i1, %p: i1, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %bar = nvgpu.mbarrier.create -> !barrier
    %tile = memref.get_global @tile : !tile
    scf.if %stores {
      "tile.wait"(%bar, %c0, %p) : (!barrier, index, i1) -> ()
      %view = memref.subview %tile[8, 0] [8, 32] [1, 1]
        : !tile to memref<8x32xi32, strided<[32, 1], offset: 256>, #gpu.address_space<workgroup>>
      "tile.copy_async"(%view, %out) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 8, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
      } : (memref<8x32xi32, strided<[32, 1], offset: 256>, #gpu.address_space<workgroup>>, memref<128x256xi32>) -> ()
    } else {
      %struct = builtin.unrealized_conversion_cast %tile
        : !tile to !llvm.struct<(ptr<3>, ptr<3>, i64, array<2 x i64>, array<2 x i64>)>
      %pointer = llvm.extractvalue %struct[1] : !llvm.struct<(ptr<3>, ptr<3>, i64, array<2 x i64>, array<2 x i64>)>
      llvm.store %v, %pointer : i32, !llvm.ptr<3>
      %token = nvgpu.mbarrier.arrive %bar[%c0] : !barrier -> !token
    }
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>

// In a loop the barrier that orders the writes may stand at the head of the next iteration.
// CHECK-LABEL: gpu.module @next_iteration
// CHECK: scf.for
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK: memref.store
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpu.return
gpu.module @next_iteration {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %leader: i1, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %tile = memref.get_global @tile : !tile
    scf.for %r = %c0 to %c16 step %c1 {
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%tile, %out) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
        } : (!tile, memref<128x256xi32>) -> ()
      }
      gpu.barrier
      memref.store %v, %tile[%r, %c0] : !tile
    }
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// The next load of the loop overwrites the tile too, though no TMA store reads it. Reads need no fence, and neither
// does what is written into another tile.
// CHECK-LABEL: gpu.module @overwritten_by_a_load
// CHECK: gpu.barrier
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpu.return
gpu.module @overwritten_by_a_load {
  memref.global "private" @tile : !tile
  memref.global "private" @other : !tile
  gpu.func @kernel(%in: memref<128x256xi32>, %leader: i1, %b: !barrier, %phase: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %tile = memref.get_global @tile : !tile
    %other = memref.get_global @other : !tile
    scf.for %r = %c0 to %c16 step %c1 {
      scf.if %leader {
        "tile.copy_async"(%in, %tile, %b, %c0) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
          sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<128x256xi32>, !tile, !barrier, index) -> ()
      }
      gpu.barrier
      "tile.wait"(%b, %c0, %phase) : (!barrier, index, i1) -> ()
      %v = memref.load %tile[%r, %c0] : !tile
      memref.store %v, %other[%r, %c0] : !tile
      gpu.barrier
      memref.store %v, %tile[%r, %c0] : !tile
      gpu.barrier
    }
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// A load that came before, once, overwrites nothing; one that comes later does.
// CHECK-LABEL: gpu.module @before_and_after
// CHECK: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: nvvm.fence.proxy
// CHECK: gpu.return
gpu.module @before_and_after {
  memref.global "private" @tile : !tile
  memref.global "private" @other : !tile
  gpu.func @kernel(%in: memref<128x256xi32>, %leader: i1, %b: !barrier, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    %other = memref.get_global @other : !tile
    scf.if %leader {
      "tile.copy_async"(%in, %tile, %b, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
        sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<128x256xi32>, !tile, !barrier, index) -> ()
    }
    memref.store %v, %tile[%c0, %c0] : !tile
    gpu.barrier
    memref.store %v, %other[%c0, %c0] : !tile
    gpu.barrier
    scf.if %leader {
      "tile.copy_async"(%in, %other, %b, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
        sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<128x256xi32>, !tile, !barrier, index) -> ()
    }
    gpu.return
  }
}
