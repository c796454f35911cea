// C = A B, 64 x 64 in bfloat16 with K = 128: one stage of wgmma's 128-byte atoms, filled twice.
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<64x64xbf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!operand = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>>
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @a : !tile {alignment = 1024 : i64}
    memref.global "private" @b : !tile {alignment = 1024 : i64}
    gpu.func @matmul(%a: memref<64x128xbf16>, %b: memref<128x64xbf16>, %c: memref<64x64xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %t = gpu.thread_id x
      %leader = arith.cmpi eq, %t, %c0 : index
      %tile_a = memref.get_global @a : !tile
      %tile_b = memref.get_global @b : !tile
      %bar = nvgpu.mbarrier.create -> !bar
      scf.if %leader {
        nvgpu.mbarrier.init %bar[%c0], %c1 : !bar
        nvvm.fence.mbarrier.init
      }
      gpu.barrier
      // The descriptors take the layout from a tensor map's type; its value is not used.
      %null = llvm.mlir.zero : !llvm.ptr
      %map = builtin.unrealized_conversion_cast %null : !llvm.ptr to !map
      %zero = nvgpu.warpgroup.mma.init.accumulator -> !sum
      %sum = scf.for %k = %c0 to %c2 step %c1 iter_args(%old = %zero) -> (!sum) {
        %depth = arith.muli %k, %c64 : index
        scf.if %leader {
          "tile.copy_async"(%a, %tile_a, %depth, %bar, %c0) {
            static_source_offsets = array<i64: 0, -9223372036854775808>, static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 64, 64>, destination_layout = #tile.atoms<"128B">, expect_tx, variant = "tma",
            operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
          } : (memref<64x128xbf16>, !tile, index, !bar, index) -> ()
          "tile.copy_async"(%b, %tile_b, %depth, %bar, %c0) {
            static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 64, 64>, destination_layout = #tile.atoms<"128B">, expect_tx, variant = "tma",
            operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
          } : (memref<128x64xbf16>, !tile, index, !bar, index) -> ()
        }
        %ready = arith.cmpi eq, %k, %c1 : index
        "tile.wait"(%bar, %c0, %ready) : (!bar, index, i1) -> ()
        %left = nvgpu.warpgroup.generate.descriptor %tile_a, %map : !tile, !map -> !operand
        %right = nvgpu.warpgroup.generate.descriptor %tile_b, %map : !tile, !map -> !operand
        %new = nvgpu.warpgroup.mma %left, %right, %old {transposeB, waitGroup = 0} : !operand, !operand, !sum -> !sum
        nvvm.barrier
        scf.yield %new : !sum
      }
      nvgpu.warpgroup.mma.store %sum, %c : !sum to memref<64x64xf32>
      gpu.return
    }
  }
}
