// A tile comes in swizzled and goes out with the same swizzle.
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<16x32xi32, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @tile : !tile {alignment = 1024 : i64}
    gpu.func @swizzled(%in: memref<64x32xi32>, %out: memref<64x32xi32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %row = arith.muli %b, %c16 : index
      %leader = arith.cmpi eq, %t, %c0 : index
      %tile = memref.get_global @tile : !tile
      %bar = nvgpu.mbarrier.create -> !bar
      scf.if %leader {
        nvgpu.mbarrier.init %bar[%c0], %c1 : !bar
        nvvm.fence.mbarrier.init
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%in, %tile, %row, %bar, %c0) {
          static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 32>, swizzle = #tile.swizzle<"128B">, expect_tx,
          operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
        } : (memref<64x32xi32>, !tile, index, !bar, index) -> ()
      }
      "tile.wait"(%bar, %c0, %false) : (!bar, index, i1) -> ()
      scf.if %leader {
        "tile.copy_async"(%tile, %out, %row) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: -9223372036854775808, 0>,
          sizes = array<i64: 16, 32>, swizzle = #tile.swizzle<"128B">, variant = "tma",
          operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>
        } : (!tile, memref<64x32xi32>, index) -> ()
        "tile.commit_group"() : () -> ()
        "tile.wait_group"() {pending = 0 : i64} : () -> ()
      }
      gpu.return
    }
  }
}
