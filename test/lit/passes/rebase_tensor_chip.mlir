// RUN: tma-opt %s --verify-diagnostics --pass-pipeline='builtin.module(tile-plan-copies{chip=sm_90})'

func.func @portable_target(%a: memref<8x64xf16>, %p: i64, %s: memref<128xi8>) {
  // expected-error@+1 {{needs tensormap.replace, which sm_90 lacks. Target one of sm_90a, sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f, sm_120a, sm_120f, sm_121a, sm_121f}}
  %0 = "tile.rebase_tensor"(%a, %p, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
    : (memref<8x64xf16>, i64, memref<128xi8>) -> memref<8x64xf16>
  return
}
