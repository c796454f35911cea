// Blocks hand a running sum on in their order: each waits for the flag of the block before it.
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @lock(%in: memref<4x32xi32>, %sums: memref<4x32xi32>, %flag: memref<1xi32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %turn = arith.index_cast %b : index to i32
      %leader = arith.cmpi eq, %t, %c0 : index
      scf.if %leader {
        scf.while : () -> () {
          %now = memref.atomic_rmw addi %zero, %flag[%c0] : (i32, memref<1xi32>) -> i32
          %wait = arith.cmpi ne, %now, %turn : i32
          scf.condition(%wait)
        } do {
          scf.yield
        }
        nvvm.memory.barrier #nvvm.mem_scope<gpu>
      }
      gpu.barrier
      %v = memref.load %in[%b, %t] : memref<4x32xi32>
      %first = arith.cmpi eq, %b, %c0 : index
      %before = scf.if %first -> (i32) {
        scf.yield %zero : i32
      } else {
        %p = arith.subi %b, %c1 : index
        %s = memref.load %sums[%p, %t] : memref<4x32xi32>
        scf.yield %s : i32
      }
      %sum = arith.addi %before, %v : i32
      memref.store %sum, %sums[%b, %t] : memref<4x32xi32>
      nvvm.memory.barrier #nvvm.mem_scope<gpu>
      nvvm.barrier
      scf.if %leader {
        %old = memref.atomic_rmw addi %one, %flag[%c0] : (i32, memref<1xi32>) -> i32
      }
      gpu.return
    }
  }
}
