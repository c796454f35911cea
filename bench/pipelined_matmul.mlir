// C = A B in bfloat16 with float32 accumulation, 512 x 512 x 512: a ring of four stages filled by one producer warp
// through TMA and emptied by a consumer warpgroup with wgmma; one 128x128 tile of C per block.
//
// Warps 0-3 consume, one thread of warp 4 produces. full[s]: the bytes of stage s have arrived; empty[s]: the consumers
// have read it.

!tileA = memref<128x64xbf16, #gpu.address_space<workgroup>>
!tileB = memref<64x128xbf16, #gpu.address_space<workgroup>>
!bytes = memref<?xi8, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
!mapA = !nvgpu.tensormap.descriptor<tensor = memref<128x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!mapB = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!descA = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xbf16, #gpu.address_space<workgroup>>>
!descB = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, #gpu.address_space<workgroup>>>
!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @matmul(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %c: memref<512x512xf32>) kernel
        attributes {known_block_size = array<i32: 160, 1, 1>, known_grid_size = array<i32: 4, 4, 1>,
                    tile.dynamic_shared_bytes = 131072 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c16384 = arith.constant 16384 : index
      %c32768 = arith.constant 32768 : index
      %bytes = arith.constant 32768 : index
      %ticks = arith.constant 10000000 : index
      %thread = gpu.thread_id x
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %row = arith.muli %block_y, %c128 : index
      %column = arith.muli %block_x, %c128 : index

      %memory = gpu.dynamic_shared_memory : !bytes
      %full = nvgpu.mbarrier.create -> !bars
      %empty = nvgpu.mbarrier.create -> !bars
      %leader = arith.cmpi eq, %thread, %c0 : index
      scf.if %leader {
        scf.for %s = %c0 to %c4 step %c1 {
          nvgpu.mbarrier.init %full[%s], %c1 : !bars
          nvgpu.mbarrier.init %empty[%s], %c128 : !bars
        }
        nvvm.fence.mbarrier.init
      }
      gpu.barrier

      %consumes = arith.cmpi ult, %thread, %c128 : index
      %produces = arith.cmpi eq, %thread, %c128 : index
      scf.if %produces {
        scf.for %k = %c0 to %c8 step %c1 {
          %s = arith.remui %k, %c4 : index
          %round = arith.divui %k, %c4 : index
          %bit = arith.remui %round, %c2 : index
          // The first wait for a stage passes on the phase before the first.
          %parity = arith.cmpi eq, %bit, %c0 : index
          nvgpu.mbarrier.try_wait.parity %empty[%s], %parity, %ticks : !bars
          nvgpu.mbarrier.arrive.expect_tx %full[%s], %bytes : !bars
          %depth = arith.muli %k, %c64 : index
          %at = arith.muli %s, %c32768 : index
          %at_b = arith.addi %at, %c16384 : index
          %tile_a = memref.view %memory[%at][] : !bytes to !tileA
          %tile_b = memref.view %memory[%at_b][] : !bytes to !tileB
          "tile.copy_async"(%a, %tile_a, %row, %depth, %full, %s) {
            static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 128, 64>, destination_layout = #tile.atoms<"128B">,
            operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
          } : (memref<512x512xbf16>, !tileA, index, index, !bars, index) -> ()
          "tile.copy_async"(%b, %tile_b, %depth, %column, %full, %s) {
            static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 64, 128>, destination_layout = #tile.atoms<"128B">,
            operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
          } : (memref<512x512xbf16>, !tileB, index, index, !bars, index) -> ()
        }
      }
      scf.if %consumes {
        // Only their types are used: how each tile was laid out by its copy.
        %null = llvm.mlir.zero : !llvm.ptr
        %map_a = builtin.unrealized_conversion_cast %null : !llvm.ptr to !mapA
        %map_b = builtin.unrealized_conversion_cast %null : !llvm.ptr to !mapB
        %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
        %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%old = %zero) -> (!acc) {
          %s = arith.remui %k, %c4 : index
          %round = arith.divui %k, %c4 : index
          %bit = arith.remui %round, %c2 : index
          %parity = arith.cmpi eq, %bit, %c1 : index
          nvgpu.mbarrier.try_wait.parity %full[%s], %parity, %ticks : !bars
          %at = arith.muli %s, %c32768 : index
          %at_b = arith.addi %at, %c16384 : index
          %tile_a = memref.view %memory[%at][] : !bytes to !tileA
          %tile_b = memref.view %memory[%at_b][] : !bytes to !tileB
          %left = nvgpu.warpgroup.generate.descriptor %tile_a, %map_a : !tileA, !mapA -> !descA
          %right = nvgpu.warpgroup.generate.descriptor %tile_b, %map_b : !tileB, !mapB -> !descB
          %new = nvgpu.warpgroup.mma %left, %right, %old {transposeB, waitGroup = 0} : !descA, !descB, !acc -> !acc
          %state = nvgpu.mbarrier.arrive %empty[%s] : !bars -> !nvgpu.mbarrier.token
          scf.yield %new : !acc
        }
        %out = memref.subview %c[%row, %column] [128, 128] [1, 1]
          : memref<512x512xf32> to memref<128x128xf32, strided<[512, 1], offset: ?>>
        nvgpu.warpgroup.mma.store %sum, %out : !acc to memref<128x128xf32, strided<[512, 1], offset: ?>>
      }
      gpu.return
    }
  }
}
