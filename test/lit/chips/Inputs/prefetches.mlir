// Prefetches are hints: one that the chip lacks is dropped with a remark. See features.mlir.

gpu.module @tile {
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    // Every chip has it.
    "tile.prefetch_async"(%tensor) {sizes = array<i64: 8, 64>,
      static_source_offsets = array<i64: 0, 0>, operandSegmentSizes = array<i32: 1, 0, 0, 0>
    } : (memref<64x512xbf16>) -> ()
    gpu.return
  }
}

// -----

gpu.module @gather4 {
  gpu.func @kernel(%tensor: memref<64x512xbf16>, %mask: i16) kernel {
    // lacks-gather4-prefetch-remark@+1 {{prefetch dropped: gather4 of a prefetch on CHIP; needed: one of sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f (rule: gather supported)}}
    "tile.prefetch_async"(%tensor) {mode = "gather4", sizes = array<i64: 4, 64>,
      static_source_offsets = array<i64: 0, 5, 9, 60, 64>, operandSegmentSizes = array<i32: 1, 0, 0, 0>
    } : (memref<64x512xbf16>) -> ()
    gpu.return
  }
}
