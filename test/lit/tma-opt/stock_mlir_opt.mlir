// What tma-opt prints, mlir-opt reads with the dialect's definition, and the other way round.

// REQUIRES: mlir-opt
// RUN: tma-opt %examples/copy_8x256.mlir > %t.mlir
// RUN: mlir-opt --irdl-file=%irdl %t.mlir | diff %t.mlir -
// RUN: mlir-opt --irdl-file=%irdl %t.mlir --emit-bytecode -o %t.bc
// RUN: tma-opt %t.bc | diff %t.mlir -
// RUN: FileCheck %s --input-file %t.mlir

// CHECK: "tile.copy_async"
