// A transpose through padded shared memory with ordinary accesses, in two halves that reuse the tile.
!tile = memref<64x33xf32, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @tile : !tile
    gpu.func @transpose(%in: memref<64x64xf32>, %out: memref<64x64xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %t = gpu.thread_id x
      %tile = memref.get_global @tile : !tile
      scf.for %h = %c0 to %c2 step %c1 {
        %column = arith.muli %h, %c32 : index
        %x = arith.remui %t, %c32 : index
        %y = arith.divui %t, %c32 : index
        %from = arith.addi %column, %x : index
        scf.for %r = %y to %c64 step %c2 {
          %v = memref.load %in[%r, %from] : memref<64x64xf32>
          memref.store %v, %tile[%r, %x] : !tile
        }
        gpu.barrier
        scf.for %c = %c0 to %c32 step %c1 {
          %v = memref.load %tile[%t, %c] : !tile
          %to = arith.addi %column, %c : index
          memref.store %v, %out[%to, %t] : memref<64x64xf32>
        }
        nvvm.barrier
      }
      gpu.return
    }
  }
}
