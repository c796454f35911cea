// A launch in the module says the block size that ptxas needs to honour setmaxnreg.
//
// RUN: tma-opt %s --tile-check-kernels | FileCheck %s

// CHECK: gpu.func @launched() kernel attributes {known_block_size = array<i32: 384, 1, 1>}
// CHECK: gpu.func @launched_twice() kernel {
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @launched() kernel {
      nvvm.setmaxregister increase 232
      gpu.return
    }
    gpu.func @launched_twice() kernel {
      gpu.return
    }
  }
  func.func @host() {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c384 = arith.constant 384 : index
    gpu.launch_func @kernels::@launched blocks in (%c1, %c1, %c1) threads in (%c384, %c1, %c1)
    gpu.launch_func @kernels::@launched_twice blocks in (%c1, %c1, %c1) threads in (%c384, %c1, %c1)
    gpu.launch_func @kernels::@launched_twice blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
    return
  }
}
