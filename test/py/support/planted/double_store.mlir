// Two staging tiles: 64 threads double a tile of the input, one of them stores it while the next is made.
!stage = memref<2x16x64xi32, #gpu.address_space<workgroup>>
!one = memref<16x64xi32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @stage : !stage
    gpu.func @double_store(%in: memref<96x64xi32>, %out: memref<96x64xi32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c6 = arith.constant 6 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %t = gpu.thread_id x
      %leader = arith.cmpi eq, %t, %c0 : index
      %stage = memref.get_global @stage : !stage
      scf.for %k = %c0 to %c6 step %c1 {
        %s = arith.remui %k, %c2 : index
        %row = arith.muli %k, %c16 : index
        scf.if %leader {
          "tile.wait_group"() {pending = 1 : i64, read} : () -> ()
        }
        gpu.barrier
        scf.for %r = %c0 to %c16 step %c1 {
          %at = arith.addi %row, %r : index
          %v = memref.load %in[%at, %t] : memref<96x64xi32>
          %w = arith.addi %v, %v : i32
          memref.store %w, %stage[%s, %r, %t] : !stage
        }
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        nvvm.barrier
        %one = memref.subview %stage[%s, 0, 0] [1, 16, 64] [1, 1, 1] : !stage to !one
        scf.if %leader {
          "tile.copy_async"(%one, %out, %row) {
            static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: -9223372036854775808, 0>,
            sizes = array<i64: 16, 64>, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>
          } : (!one, memref<96x64xi32>, index) -> ()
          "tile.commit_group"() : () -> ()
        }
      }
      scf.if %leader {
        "tile.wait_group"() {pending = 0 : i64, read} : () -> ()
      }
      gpu.return
    }
  }
}
