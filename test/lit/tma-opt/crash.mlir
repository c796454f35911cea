// MLIR 22 stops the process in this pass; tma-opt makes an error of it, and ends as a real tool does: 134.

// RUN: not --crash tma-opt %s --xegpu-subgroup-distribute 2>&1 | FileCheck %s

// CHECK: crash.mlir: error: MLIR ended the process in the pass 'xegpu-subgroup-distribute' on 'builtin.module': UNREACHABLE
gpu.module @kernels {
  gpu.func @f() kernel { gpu.return }
}
