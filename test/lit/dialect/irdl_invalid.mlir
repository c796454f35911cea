// What the IRDL definition alone refuses: the same messages here and from stock mlir-opt.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics
// RUN: mlir-opt --irdl-file=%irdl %s --split-input-file --verify-diagnostics

func.func @not_a_memref(%a: tensor<8xf16>, %b: memref<8xf16, 3>) {
  // expected-error@+1 {{expected base type 'builtin.memref' but got 'builtin.tensor'}}
  "tile.copy_async"(%a, %b) {static_source_offsets = array<i64: 0>, static_destination_offsets = array<i64: 0>,
    sizes = array<i64: 8>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<8xf16>, memref<8xf16, 3>) -> ()
  return
}

// -----

func.func @no_sizes(%a: memref<8xf16>, %b: memref<8xf16, 3>) {
  // expected-error@+1 {{attribute "sizes" is expected but not provided}}
  "tile.copy_async"(%a, %b) {static_source_offsets = array<i64: 0>, static_destination_offsets = array<i64: 0>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>} : (memref<8xf16>, memref<8xf16, 3>) -> ()
  return
}

// -----

// expected-error@+1 {{does not satisfy the constraint}}
func.func private @f() attributes {swizzle = #tile.swizzle<"256B">}

// -----

func.func @unknown_operation() {
  // expected-error@+1 {{unregistered operation 'tile.copy' found in dialect ('tile')}}
  "tile.copy"() : () -> ()
  return
}
