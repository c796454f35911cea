// Text, generic text and bytecode all come back as they went in; stock mlir-opt reads and writes the same.

// RUN: tma-opt %s > %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: tma-opt %t.mlir | diff %t.mlir -
// RUN: tma-opt %s --emit-bytecode -o %t.bc
// RUN: tma-opt %t.bc | diff %t.mlir -
// RUN: tma-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: tma-opt %s --mlir-print-op-generic | tma-opt - | diff %t.mlir -
// RUN: tma-opt - < %s | diff %t.mlir -

// CHECK-LABEL: func.func private @f
// CHECK-SAME: #tile.swizzle<"128B">
// GENERIC: "func.func"()
func.func private @f(memref<8x256xf16> {tile.layout = #tile.layout<[8, 256], [256, 1]>, tile.swizzle = #tile.swizzle<"128B">})
