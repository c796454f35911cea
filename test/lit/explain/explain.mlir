// Why each way was taken or not, as text, as JSON and as remarks.
//
// RUN: tma-explain %examples/copy_8x256.mlir | FileCheck %s
// RUN: tma-explain %examples/copy_8x256.mlir --format json | FileCheck %s --check-prefix=JSON
// RUN: tma-explain %s | FileCheck %s --check-prefix=DECLINED
// RUN: tma-opt %s --tile-plan-copies --tma-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not tma-explain %S/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING

// CHECK: copy_8x256.mlir:55:9: f16 load of 8x256 (4096 B) at (0, 0): tma, 1 instruction
// CHECK: descriptor 0: rank 3, dims 64,8,4, strides 512,128 bytes, box 64,8,4, swizzle 128B, float16
// CHECK: not bulk: swizzle 128B
// CHECK: not simt:

// JSON: "variant": "tma"
// JSON: "instructions": 1
// JSON: "alternatives"

// DECLINED: not tma: stride 1 is 200 B; needed: a multiple of 16 B (rule: global stride alignment). Pad the pitch to 208 B.

// REMARK: explain.mlir:[[#@LINE+8]]:5: remark: copy takes
// REMARK-SAME: Not tma: stride 1 is 200 B

// MISSING: cannot open input file

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @odd_pitch {
  gpu.func @kernel(%in: memref<64x100xf16>, %tile: memref<8x64xf16, 3>, %bar: !barrier, %i: index) kernel {
    "tile.copy_async"(%in, %tile, %bar, %i) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x100xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
    gpu.return
  }
}
