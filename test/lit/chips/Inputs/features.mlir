// One kernel for each feature of a chip. Each must assemble, or be refused with the one message written here: make.py puts
// a chip for CHIP, its limit of shared memory for SHARED and one byte more for MORE, and makes `lacks-x-error` an expected
// error where the chip lacks x.

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @load {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xbf16>, memref<8x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @store {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tile, %tensor) {sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (memref<8x64xbf16, #gpu.address_space<workgroup>>, memref<64x512xbf16>) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @reduction {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tile, %tensor) {reduce = "add", sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (memref<8x64xbf16, #gpu.address_space<workgroup>>, memref<64x512xbf16>) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @im2col {
  memref.global "private" @tile : memref<16x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<8x14x14x64xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<16x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {
      mode = "im2col", im2col = {lower_corner = [-1, -1], upper_corner = [0, 0]},
      sizes = array<i64: 16, 64>,
      static_source_offsets = array<i64: 0, 3, 2, 0, 1, 2>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xbf16>, memref<16x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @multicast {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-fast-multicast-warning@+1 {{multicasts, which ptxas calls much slower on CHIP than on sm_90a, sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f. Target one of them, or let each CTA load its tile}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0, %mask) {sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 1, 0>
    } : (memref<64x512xbf16>, memref<8x64xbf16, #gpu.address_space<workgroup>>, !barrier, index, i16) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @cta_pairs {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-cta-pairs-error@+1 {{cta_group 2 on CHIP; needed: 1, or 2 on one of sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f (rule: cta group supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {cta_group = 2 : i64, sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xbf16>, memref<8x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @gather4 {
  memref.global "private" @tile : memref<4x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<4x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-gather4-error@+1 {{gather4 on CHIP; needed: one of sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f (rule: gather supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {mode = "gather4", sizes = array<i64: 4, 64>,
      static_source_offsets = array<i64: 0, 5, 9, 60, 64>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xbf16>, memref<4x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @gather4_multicast {
  memref.global "private" @tile : memref<4x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<4x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-gather4-cluster-error@+1 {{gather4 with multicast or cta_group 2 on CHIP; needed: one of sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f (rule: gather supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0, %mask) {mode = "gather4", sizes = array<i64: 4, 64>,
      static_source_offsets = array<i64: 0, 5, 9, 60, 64>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 1, 0>
    } : (memref<64x512xbf16>, memref<4x64xbf16, #gpu.address_space<workgroup>>, !barrier, index, i16) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @scatter4 {
  memref.global "private" @tile : memref<4x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<4x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-scatter4-error@+1 {{scatter4 on CHIP; needed: one of sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f (rule: gather supported)}}
    "tile.copy_async"(%tile, %tensor) {mode = "scatter4", sizes = array<i64: 4, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 5, 9, 60, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    } : (memref<4x64xbf16, #gpu.address_space<workgroup>>, memref<64x512xbf16>) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @im2col_w {
  memref.global "private" @tile : memref<16x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<8x14x14x64xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<16x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-im2col-w-error@+1 {{im2col_w on CHIP; needed: one of sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f (rule: im2col wide supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {
      mode = "im2col_w", im2col = {lower_corner = [-1], upper_corner = [-1]}, swizzle = #tile.swizzle<"128B">,
      sizes = array<i64: 16, 64>,
      static_source_offsets = array<i64: 0, 3, -1, 0, 0, 1>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xbf16>, memref<16x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @im2col_w_multicast {
  memref.global "private" @tile : memref<16x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<8x14x14x64xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<16x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-im2col-w-cluster-error@+1 {{im2col_w with multicast or cta_group 2 on CHIP; needed: one of sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f (rule: im2col wide supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0, %mask) {
      mode = "im2col_w", im2col = {lower_corner = [-1], upper_corner = [-1]}, swizzle = #tile.swizzle<"128B">,
      sizes = array<i64: 16, 64>,
      static_source_offsets = array<i64: 0, 3, -1, 0, 0, 1>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 1, 0>
    } : (memref<8x14x14x64xbf16>, memref<16x64xbf16, #gpu.address_space<workgroup>>, !barrier, index, i16) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @im2col_w_128 {
  memref.global "private" @tile : memref<128x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<8x14x14x64xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<128x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-im2col-w-128-error@+1 {{im2col_w_128 on CHIP; needed: one of sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f (rule: im2col wide supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {
      mode = "im2col_w_128", im2col = {lower_corner = [-1], upper_corner = [-1]}, swizzle = #tile.swizzle<"128B">,
      sizes = array<i64: 128, 64>,
      static_source_offsets = array<i64: 0, 3, -1, 0, 0, 1>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xbf16>, memref<128x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @atom_swizzles {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-atom-swizzles-error@+1 {{swizzle 128B_atom_32B on CHIP; needed: none, 32B, 64B or 128B (rule: swizzle supported)}}
    "tile.copy_async"(%tensor, %tile, %barrier, %c0) {
      swizzle = #tile.swizzle<"128B_atom_32B">, variant = "tma",
      sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xbf16>, memref<8x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

gpu.module @tensormap_replace {
  memref.global "private" @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16, %address: i64, %scratch: memref<128xi8>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    // lacks-tensormap-replace-error@+1 {{needs tensormap.replace, which CHIP lacks. Target one of sm_90a, sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f, sm_120a, sm_120f, sm_121a, sm_121f}}
    %moved = "tile.rebase_tensor"(%tensor, %address, %scratch) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
      : (memref<64x512xbf16>, i64, memref<128xi8>) -> memref<64x512xbf16>
    "tile.copy_async"(%moved, %tile, %barrier, %c0) {scope = "cta", sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, expect_tx,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x512xbf16>, memref<8x64xbf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

gpu.module @setmaxnreg {
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    // lacks-setmaxnreg-error@+1 {{needs setmaxnreg, which CHIP lacks. Target one of sm_90a, sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f, sm_120a, sm_120f, sm_121a, sm_121f}}
    nvvm.setmaxregister increase 232
    gpu.return
  }
}

// -----

gpu.module @wgmma {
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    // lacks-wgmma-error@+1 {{needs wgmma, which CHIP lacks. Target one of sm_90a}}
    nvvm.wgmma.fence.aligned
    gpu.return
  }
}

// -----

gpu.module @all_shared_bytes {
  gpu.func @kernel(%out: memref<1xf32>) kernel attributes {tile.dynamic_shared_bytes = SHARED : i64} {
    %c0 = arith.constant 0 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    %x = memref.load %tile[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %x, %out[%c0] : memref<1xf32>
    gpu.return
  }
}

// -----

gpu.module @one_shared_byte_more {
  // expected-error@+1 {{kernel needs MORE bytes of shared memory, 0 static and MORE dynamic; a block on CHIP has at most SHARED. Use smaller or fewer tiles}}
  gpu.func @kernel(%out: memref<1xf32>) kernel attributes {tile.dynamic_shared_bytes = MORE : i64} {
    %c0 = arith.constant 0 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    %x = memref.load %tile[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %x, %out[%c0] : memref<1xf32>
    gpu.return
  }
}
