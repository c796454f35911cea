// What stays as it was, and why.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tma-remarks --tile-raise-copies
// RUN: tma-opt %s --split-input-file --tile-raise-copies | FileCheck %s
// CHECK-NOT: tile.
// CHECK-NOT: mbarrier

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>
gpu.module @branches {
  memref.global "private" @tile : !tile
  gpu.func @one_thread(%in: memref<32x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %thread = gpu.thread_id x
    %tile = memref.get_global @tile : !tile
    %leader = arith.cmpi eq, %thread, %c0 : index
    scf.if %leader {
      // expected-remark@+1 {{'memref.copy' op stays as it is: it is under a condition that may differ between threads}}
      memref.copy %in, %tile : memref<32x32xf32> to !tile
    }
    gpu.return
  }
  gpu.func @uneven_loop(%in: memref<32x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %tile = memref.get_global @tile : !tile
    scf.for %i = %c0 to %thread step %c1 {
      // expected-remark@+1 {{it is in a loop whose bounds may differ between threads}}
      memref.copy %in, %tile : memref<32x32xf32> to !tile
    }
    gpu.return
  }
  gpu.func @own_part(%in: memref<32x32xf32>, %out: memref<32x32xf32>) kernel {
    %thread = gpu.thread_id x
    %tile = memref.get_global @tile : !tile
    %row = memref.subview %tile[%thread, 0] [1, 32] [1, 1] : !tile to memref<1x32xf32, strided<[32, 1], offset: ?>, #gpu.address_space<workgroup>>
    %to = memref.subview %out[%thread, 0] [1, 32] [1, 1] : memref<32x32xf32> to memref<1x32xf32, strided<[32, 1], offset: ?>>
    // expected-remark@+1 {{what it copies may differ between threads}}
    memref.copy %row, %to : memref<1x32xf32, strided<[32, 1], offset: ?>, #gpu.address_space<workgroup>> to memref<1x32xf32, strided<[32, 1], offset: ?>>
    gpu.return
  }
  gpu.func @no_kernel(%in: memref<32x32xf32>) {
    %tile = memref.get_global @tile : !tile
    // expected-remark@+1 {{it is in no kernel}}
    memref.copy %in, %tile : memref<32x32xf32> to !tile
    gpu.return
  }
}

// -----

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>
gpu.module @what_tma_cannot_do {
  memref.global "private" @tile : !tile
  gpu.func @row_pitch(%in: memref<32x33xf32>) kernel {
    %tile = memref.get_global @tile : !tile
    %from = memref.subview %in[0, 0] [32, 32] [1, 1] : memref<32x33xf32> to memref<32x32xf32, strided<[33, 1]>>
    // expected-remark@+1 {{132}}
    memref.copy %from, %tile : memref<32x32xf32, strided<[33, 1]>> to !tile
    gpu.return
  }
  gpu.func @written_before(%x: memref<32x32xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    memref.store %v, %x[%c0, %c0] : memref<32x32xf32>
    // expected-remark@+1 {{the kernel writes its tensor by ordinary stores too, which TMA may not see}}
    memref.copy %x, %tile : memref<32x32xf32> to !tile
    gpu.return
  }
  gpu.func @unseen_memory(%in: memref<32x32xf32>, %which: i1) workgroup(%a: !tile, %b: !tile) kernel {
    %tile = arith.select %which, %a, %b : !tile
    // expected-remark@+1 {{where its shared memory is reserved, and how it is aligned, is not seen}}
    memref.copy %in, %tile : memref<32x32xf32> to !tile
    gpu.return
  }
}

// -----

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>
gpu.module @transfers {
  memref.global "private" @tile : !tile
  gpu.func @transposed(%in: memref<32x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %tile = memref.get_global @tile : !tile
    %v = vector.transfer_read %in[%c0, %c0], %zero {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>}
      : memref<32x32xf32>, vector<32x32xf32>
    // expected-remark@+1 {{'vector.transfer_write' op stays as it is: it transposes or broadcasts}}
    vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<32x32xf32>, !tile
    gpu.return
  }
  gpu.func @padded(%in: memref<30x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %tile = memref.get_global @tile : !tile
    %v = vector.transfer_read %in[%c0, %c0], %zero {in_bounds = [false, true]} : memref<30x32xf32>, vector<32x32xf32>
    // expected-remark@+1 {{it may leave the memref}}
    vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<32x32xf32>, !tile
    gpu.return
  }
  gpu.func @used_twice(%in: memref<32x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %tile = memref.get_global @tile : !tile
    %v = vector.transfer_read %in[%c0, %c0], %zero {in_bounds = [true, true]} : memref<32x32xf32>, vector<32x32xf32>
    %w = arith.addf %v, %v : vector<32x32xf32>
    // expected-remark@+1 {{the vector it reads is used in other places too}}
    vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<32x32xf32>, !tile
    gpu.return
  }
}

// -----

!tile = memref<8x64xf16, #gpu.address_space<workgroup>>
gpu.module @groups {
  memref.global "private" @tile : !tile
  gpu.func @holes(%in: memref<8x64xf16>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %r = arith.divui %thread, %c8 : index
    %q = arith.remui %thread, %c8 : index
    %c2 = arith.constant 2 : index
    %r2 = arith.muli %r, %c2 : index
    %c = arith.muli %q, %c8 : index
    %tile = memref.get_global @tile : !tile
    %0 = nvgpu.device_async_copy %in[%r2, %c], %tile[%r2, %c], 8 : memref<8x64xf16> to !tile
    // expected-remark@+1 {{the pieces that the threads copy do not form a box}}
    %group = nvgpu.device_async_create_group %0
    nvgpu.device_async_wait %group
    gpu.return
  }
  gpu.func @transposing(%in: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %r = arith.divui %thread, %c8 : index
    %q = arith.remui %thread, %c8 : index
    %c = arith.muli %q, %c8 : index
    %rc = arith.muli %r, %c8 : index
    %tile = memref.get_global @tile : !tile
    %0 = nvgpu.device_async_copy %in[%q, %rc], %tile[%r, %c], 8 : memref<64x64xf16> to !tile
    // expected-remark@+1 {{the pieces that the threads copy do not form a box}}
    %group = nvgpu.device_async_create_group %0
    nvgpu.device_async_wait %group
    gpu.return
  }
  gpu.func @counted(%in: memref<8x64xf16>, %r: index) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %c = arith.muli %thread, %c8 : index
    %tile = memref.get_global @tile : !tile
    %0 = nvgpu.device_async_copy %in[%r, %c], %tile[%r, %c], 8 : memref<8x64xf16> to !tile
    // expected-remark@+1 {{a wait of the kernel counts groups (numGroups)}}
    %group = nvgpu.device_async_create_group %0
    nvgpu.device_async_wait %group {numGroups = 1 : i32}
    gpu.return
  }
  gpu.func @unknown_block(%in: memref<8x64xf16>, %r: index) kernel {
    %c8 = arith.constant 8 : index
    %thread = gpu.thread_id x
    %c = arith.muli %thread, %c8 : index
    %tile = memref.get_global @tile : !tile
    %0 = nvgpu.device_async_copy %in[%r, %c], %tile[%r, %c], 8 : memref<8x64xf16> to !tile
    // expected-remark@+1 {{without known_block_size it is not known which threads copy which piece}}
    %group = nvgpu.device_async_create_group %0
    nvgpu.device_async_wait %group
    gpu.return
  }
}
