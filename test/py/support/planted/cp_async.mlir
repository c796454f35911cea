// Threads fill two stages with cp.async, one group a stage, and read each other's bytes.
!ring = memref<2x4x64xf32, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @ring : !ring
    gpu.func @cp_async(%in: memref<32x64xf32>, %out: memref<32x64xf32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c7 = arith.constant 7 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c63 = arith.constant 63 : index
      %t = gpu.thread_id x
      %ring = memref.get_global @ring : !ring
      %r = arith.divui %t, %c16 : index
      %q = arith.remui %t, %c16 : index
      %c = arith.muli %q, %c4 : index
      %mirror = arith.subi %c63, %t : index
      %start = nvgpu.device_async_copy %in[%r, %c], %ring[%c0, %r, %c], 4 : memref<32x64xf32> to !ring
      %group = nvgpu.device_async_create_group %start
      scf.for %k = %c0 to %c8 step %c1 {
        %stage = arith.remui %k, %c2 : index
        %next = arith.addi %k, %c1 : index
        %other = arith.remui %next, %c2 : index
        %more = arith.cmpi ult, %k, %c7 : index
        scf.if %more {
          %base = arith.muli %next, %c4 : index
          %row = arith.addi %base, %r : index
          %copy = nvgpu.device_async_copy %in[%row, %c], %ring[%other, %r, %c], 4 : memref<32x64xf32> to !ring
        }
        nvvm.cp.async.commit.group
        nvvm.cp.async.wait.group 1
        gpu.barrier
        scf.for %i = %c0 to %c4 step %c1 {
          %v = memref.load %ring[%stage, %i, %mirror] : !ring
          %first = arith.muli %k, %c4 : index
          %to = arith.addi %first, %i : index
          memref.store %v, %out[%to, %mirror] : memref<32x64xf32>
        }
        nvvm.barrier
      }
      gpu.return
    }
  }
}
