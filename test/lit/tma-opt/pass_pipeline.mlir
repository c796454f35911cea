// Our passes and MLIR's in one pipeline, nested; a pipeline given as flags is the same.

// RUN: tma-opt %s --pass-pipeline='builtin.module(func.func(canonicalize,tile-verify),any(tile-verify,cse), tile-verify)' | FileCheck %s
// RUN: tma-opt %s --canonicalize --tile-verify --cse | FileCheck %s
// RUN: tma-opt %s -canonicalize='max-iterations=3 top-down=true' | FileCheck %s
// RUN: not tma-opt %s --pass-pipeline='func.func(cse)' 2>&1 | FileCheck %s --check-prefix=ANCHOR

// Passes of another anchor than the module are nested in it.
// RUN: tma-opt %s --convert-gpu-to-nvvm --cse --mlir-timing 2>&1 | FileCheck %s --check-prefix=NESTED

// CHECK-LABEL: func.func @f
// CHECK-NEXT: return %arg0
func.func @f(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %x, %zero : i32
  return %sum : i32
}

gpu.module @kernels {
}

// ANCHOR: <pipeline>:1:1: error: the pipeline runs on 'func.func', but this is 'builtin.module'
// NESTED: 'gpu.module' Pipeline
// NESTED-NEXT: ConvertGpuOpsToNVVMOps
// NESTED-NEXT: CSE
