// Writes that are not seen, or that no barrier orders, are said with both places.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tma-remarks --tile-insert-proxy-fences

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
gpu.module @no_barrier {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %leader: i1, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    memref.store %v, %tile[%c0, %c0] : !tile
    scf.if %leader {
      // expected-warning@+1 {{reads what is written at line 11 by threads that no barrier orders before it. Put a gpu.barrier between them}}
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
gpu.module @led_by_one_of_a_warp {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    memref.store %v, %tile[%c0, %c0] : !tile
    // expected-warning@+1 {{by threads that no barrier orders before it}}
    "tile.copy_async"(%tile, %out) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, scope = "warp",
      sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (!tile, memref<128x256xi32>) -> ()
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
gpu.module @other_branch {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %writes: i1, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    scf.if %writes {
      // expected-warning@+1 {{writes what the copy at line 53 reads, and no barrier follows}}
      memref.store %v, %tile[%c0, %c0] : !tile
    } else {
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
gpu.module @called {
  memref.global "private" @tile : !tile
  func.func private @fill(!tile)
  gpu.func @kernel(%out: memref<128x256xi32>) kernel {
    %tile = memref.get_global @tile : !tile
    // expected-warning@+1 {{if the function ends its writes with a barrier of its own, it needs a fence.proxy.async before that}}
    func.call @fill(%tile) : (!tile) -> ()
    gpu.barrier
    "tile.copy_async"(%tile, %out) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (!tile, memref<128x256xi32>) -> ()
    gpu.return
  }
}

// -----

!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
gpu.module @unknown_memory {
  memref.global "private" @tile : !tile
  memref.global "private" @other : !tile
  gpu.func @kernel(%out: memref<128x256xi32>, %which: i1, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    %other = memref.get_global @other : !tile
    %either = arith.select %which, %tile, %other : !tile
    // expected-remark@+1 {{taken to write what the copy at line 95 reads: where the memory comes from is not seen}}
    memref.store %v, %either[%c0, %c0] : !tile
    gpu.barrier
    "tile.copy_async"(%tile, %out) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 16, 32>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (!tile, memref<128x256xi32>) -> ()
    gpu.return
  }
}
