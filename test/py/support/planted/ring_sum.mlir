// A ring of two stages: one thread of warp 2 loads 8 tiles, warps 0 and 1 sum their columns.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!ring = memref<2x4x64xf32, #gpu.address_space<workgroup>>
!one = memref<4x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @ring : !ring
    gpu.func @ring_sum(%in: memref<32x64xf32>, %out: memref<64xf32>) kernel
        attributes {known_block_size = array<i32: 96, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c4 = arith.constant 4 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %zero = arith.constant 0.0 : f32
      %t = gpu.thread_id x
      %ring = memref.get_global @ring : !ring
      %full = nvgpu.mbarrier.create -> !bars
      %empty = nvgpu.mbarrier.create -> !bars
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        scf.for %s = %c0 to %c2 step %c1 {
          nvgpu.mbarrier.init %full[%s], %c1 : !bars
          nvgpu.mbarrier.init %empty[%s], %c64 : !bars
        }
        nvvm.fence.mbarrier.init
      }
      gpu.barrier
      %is_producer = arith.cmpi eq, %t, %c64 : index
      scf.if %is_producer {
        scf.for %k = %c0 to %c8 step %c1 {
          %stage = arith.remui %k, %c2 : index
          %round = arith.divui %k, %c2 : index
          %bit = arith.remui %round, %c2 : index
          %free = arith.cmpi eq, %bit, %c0 : index
          "tile.wait"(%empty, %stage, %free) : (!bars, index, i1) -> ()
          %row = arith.muli %k, %c4 : index
          %one = memref.subview %ring[%stage, 0, 0] [1, 4, 64] [1, 1, 1] : !ring to !one
          %bytes = arith.constant 1024 : index
          nvgpu.mbarrier.arrive.expect_tx %full[%stage], %bytes : !bars
          "tile.copy_async"(%in, %one, %row, %full, %stage) {
            static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 4, 64>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
          } : (memref<32x64xf32>, !one, index, !bars, index) -> ()
        }
      }
      %is_consumer = arith.cmpi ult, %t, %c64 : index
      scf.if %is_consumer {
        %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (f32) {
          %stage = arith.remui %k, %c2 : index
          %round = arith.divui %k, %c2 : index
          %bit = arith.remui %round, %c2 : index
          %ready = arith.cmpi eq, %bit, %c1 : index
          "tile.wait"(%full, %stage, %ready) : (!bars, index, i1) -> ()
          %part = scf.for %r = %c0 to %c4 step %c1 iter_args(%a = %acc) -> (f32) {
            %v = memref.load %ring[%stage, %r, %t] : !ring
            %s = arith.addf %a, %v : f32
            scf.yield %s : f32
          }
          %token = nvgpu.mbarrier.arrive %empty[%stage] : !bars -> !nvgpu.mbarrier.token
          scf.yield %part : f32
        }
        memref.store %sum, %out[%t] : memref<64xf32>
      }
      gpu.return
    }
  }
}
