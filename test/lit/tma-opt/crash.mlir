// MLIR 22 stops the process in this pass; tma-opt makes an error of it.

// RUN: not tma-opt %s --xegpu-subgroup-distribute 2>&1 | FileCheck %s

// CHECK: crash.mlir:1:1: while running builtin.module({{.*}}xegpu-subgroup-distribute{{.*}}): error: MLIR crashed (SIGABRT)
gpu.module @kernels {
  gpu.func @f() kernel { gpu.return }
}
