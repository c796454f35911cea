// Parts are processed one by one: a bad one does not hide the others, and errors have the line of the whole file.

// RUN: not tma-opt %s --split-input-file > %t.out 2> %t.err
// RUN: FileCheck %s --input-file %t.out
// RUN: FileCheck %s --input-file %t.err --check-prefix=ERROR

// CHECK: func.func private @first
// CHECK: // -----
// CHECK: func.func private @third
// ERROR: split_input_file.mlir:[[# @LINE + 4]]:1: error: custom op 'second' is unknown
func.func private @first()
// -----

second
// -----
func.func private @third()
