// RUN: tma-opt %s | FileCheck %s
// RUN: tma-opt %s | tma-opt | FileCheck %s
// RUN: tma-opt %s --emit-bytecode | tma-opt | FileCheck %s
// RUN: tma-opt --mlir-print-op-generic %s | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @f
// CHECK-SAME: memref<8x256xf16>
// GENERIC: "func.func"()
func.func @f(%a: memref<8x256xf16>) {
  return
}
