// What no plan can do is one error at the copy: the rule, the value found, the remedy.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tile-plan-copies

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @short_row {
  memref.global "private" @tile : memref<8x4xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<8x256xf16>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<8x4xf16, #gpu.address_space<workgroup>>
    // expected-error@+1 {{16}}
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 0, 8>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 4>, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x256xf16>, memref<8x4xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @odd_pitch {
  memref.global "private" @tile : memref<8x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x100xf16>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<8x64xf16, #gpu.address_space<workgroup>>
    // expected-error@+1 {{200}}
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 64>, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x100xf16>, memref<8x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}
