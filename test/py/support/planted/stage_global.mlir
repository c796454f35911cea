// Threads write a scratch tensor with ordinary stores; TMA loads it after a proxy fence and a barrier.
!tile = memref<16x64xf32, #gpu.address_space<workgroup>>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @tile : !tile
    gpu.func @stage_global(%in: memref<16x64xf32>, %scratch: memref<16x64xf32>, %out: memref<16x64xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %leader = arith.cmpi eq, %t, %c0 : index
      %tile = memref.get_global @tile : !tile
      %bar = nvgpu.mbarrier.create -> !bar
      scf.if %leader {
        nvgpu.mbarrier.init %bar[%c0], %c1 : !bar
        nvvm.fence.mbarrier.init
      }
      gpu.barrier
      scf.for %r = %c0 to %c16 step %c1 {
        %v = memref.load %in[%r, %t] : memref<16x64xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %scratch[%r, %t] : memref<16x64xf32>
      }
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
      nvvm.barrier
      scf.if %leader {
        "tile.copy_async"(%scratch, %tile, %bar, %c0) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 64>, expect_tx, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<16x64xf32>, !tile, !bar, index) -> ()
      }
      "tile.wait"(%bar, %c0, %false) : (!bar, index, i1) -> ()
      scf.for %r = %c0 to %c16 step %c1 {
        %v = memref.load %tile[%r, %t] : !tile
        memref.store %v, %out[%r, %t] : memref<16x64xf32>
      }
      gpu.return
    }
  }
}
