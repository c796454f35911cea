// Every pass that knows chips says which it knows.
//
// RUN: not tma-opt %s --tile-check-kernels=chip=sm_89 2>&1 | FileCheck %s
// RUN: not tma-opt %s --tile-plan-copies=chip=sm_89 2>&1 | FileCheck %s
// RUN: not tma-opt %s --tile-raise-copies=chip=sm_89 2>&1 | FileCheck %s
// RUN: not tma-opt %s --tile-to-cubin=chip=sm_89 2>&1 | FileCheck %s
// RUN: not tma-run %s --device sim --chip sm_89 2>&1 | FileCheck %s

// CHECK: unknown chip 'sm_89'. TMA exists from sm_90 on; known chips: sm_90, sm_90a, sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f

gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
