// A cluster of two: each block loads half of a tile for both, in four rounds on one stage.
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<16x64xf32, #gpu.address_space<workgroup>>
!half = memref<8x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @tile : !tile
    memref.global "private" @slot : memref<1xi64, #gpu.address_space<workgroup>> {alignment = 8 : i64}
    gpu.func @multicast(%in: memref<64x64xf32>, %out: memref<128x64xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 2, 1, 1>,
                    known_cluster_size = array<i32: 2, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %bytes = arith.constant 4096 : index
      %ticks = arith.constant 10000000 : i32
      %mask = arith.constant 3 : i16
      %count = arith.constant 2 : i32
      %rank0 = arith.constant 0 : i32
      %rank1 = arith.constant 1 : i32
      %t = gpu.thread_id x
      %rank = gpu.cluster_block_id x
      %leader = arith.cmpi eq, %t, %c0 : index
      %tile = memref.get_global @tile : !tile
      %slot = memref.get_global @slot : memref<1xi64, #gpu.address_space<workgroup>>
      %slot_index = memref.extract_aligned_pointer_as_index %slot : memref<1xi64, #gpu.address_space<workgroup>> -> index
      %slot_word = arith.index_cast %slot_index : index to i64
      %empty = llvm.inttoptr %slot_word : i64 to !llvm.ptr<3>
      %full = nvgpu.mbarrier.create -> !bar
      scf.if %leader {
        nvgpu.mbarrier.init %full[%c0], %c1 : !bar
        nvvm.mbarrier.init %empty, %count : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      %own = arith.muli %rank, %c8 : index
      %half = memref.subview %tile[%own, 0] [8, 64] [1, 1] : !tile to !half
      scf.for %k = %c0 to %c4 step %c1 {
        %bit = arith.remui %k, %c2 : index
        scf.if %leader {
          nvgpu.mbarrier.arrive.expect_tx %full[%c0], %bytes : !bar
          %even = arith.cmpi eq, %bit, %c0 : index
          %free = arith.extui %even : i1 to i32
          nvvm.mbarrier.try_wait.parity %empty, %free, %ticks : !llvm.ptr<3>, i32, i32
          %base = arith.muli %k, %c16 : index
          %row = arith.addi %base, %own : index
          "tile.copy_async"(%in, %half, %row, %full, %c0, %mask) {
            static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 8, 64>, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 1, 0>
          } : (memref<64x64xf32>, !half, index, !bar, index, i16) -> ()
        }
        %ready = arith.cmpi eq, %bit, %c1 : index
        "tile.wait"(%full, %c0, %ready) : (!bar, index, i1) -> ()
        scf.for %r = %c0 to %c16 step %c1 {
          %v = memref.load %tile[%r, %t] : !tile
          %part = arith.muli %rank, %c64 : index
          %base = arith.muli %k, %c16 : index
          %at = arith.addi %part, %base : index
          %to = arith.addi %at, %r : index
          memref.store %v, %out[%to, %t] : memref<128x64xf32>
        }
        gpu.barrier
        scf.if %leader {
          %here = nvvm.mapa %empty, %rank0 : !llvm.ptr<3> -> !llvm.ptr<7>
          nvvm.mbarrier.arrive %here {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
          %there = nvvm.mapa %empty, %rank1 : !llvm.ptr<3> -> !llvm.ptr<7>
          nvvm.mbarrier.arrive %there {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
        }
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      gpu.return
    }
  }
}
