// Each of four blocks sums its rows; the last one to finish (an atomic counter) adds the partial sums.
!flag = memref<1xi32, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @flag : !flag
    gpu.func @last_block(%in: memref<64x64xi32>, %part: memref<4x64xi32>, %count: memref<1xi32>, %out: memref<64xi32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %first = arith.muli %b, %c16 : index
      %leader = arith.cmpi eq, %t, %c0 : index
      %flag = memref.get_global @flag : !flag
      %sum = scf.for %r = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> (i32) {
        %row = arith.addi %first, %r : index
        %v = memref.load %in[%row, %t] : memref<64x64xi32>
        %s = arith.addi %acc, %v : i32
        scf.yield %s : i32
      }
      memref.store %sum, %part[%b, %t] : memref<4x64xi32>
      nvvm.memory.barrier #nvvm.mem_scope<gpu>
      nvvm.barrier
      scf.if %leader {
        %done = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32>) -> i32
        nvvm.memory.barrier #nvvm.mem_scope<gpu>
        memref.store %done, %flag[%c0] : !flag
      }
      gpu.barrier
      %before = memref.load %flag[%c0] : !flag
      %last = arith.cmpi eq, %before, %three : i32
      scf.if %last {
        %total = scf.for %p = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (i32) {
          %v = memref.load %part[%p, %t] : memref<4x64xi32>
          %s = arith.addi %acc, %v : i32
          scf.yield %s : i32
        }
        memref.store %total, %out[%t] : memref<64xi32>
      }
      gpu.return
    }
  }
}
