// An ordinary copy moves elements of 4 bits as LLVM lays them out, a byte each; a tile.copy_async takes them for packed.
//
// RUN: tma-opt %s --verify-diagnostics --tma-remarks --tile-raise-copies=chip=sm_100a

gpu.module @m {
  memref.global "private" @tile : memref<8x128xi4, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<8x128xi4>) kernel {
    %tile = memref.get_global @tile : memref<8x128xi4, #gpu.address_space<workgroup>>
    // expected-remark@+1 {{'memref.copy' op stays as it is: it moves elements of 4 bits in a byte each, which a tile.copy_async takes for packed}}
    memref.copy %in, %tile : memref<8x128xi4> to memref<8x128xi4, #gpu.address_space<workgroup>>
    gpu.return
  }
}
