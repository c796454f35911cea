// What was converted for one chip is not compiled for another.

// RUN: tma-opt %s --tile-plan-copies=chip=sm_100a --convert-tile-to-nvgpu -o %t
// RUN: not tma-opt %t --tile-to-cubin=chip=sm_90a 2>&1 | FileCheck %s
// RUN: tma-opt %t --tile-to-cubin=chip=sm_100a -o /dev/null

// CHECK: {{.+}}:{{[0-9]+}}:{{[0-9]+}}: error: the copies of this kernel were converted for sm_100a, and it is compiled for sm_90a. Convert them for sm_90a, or compile it for sm_100a
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<8x64xf16, #gpu.address_space<workgroup>>
gpu.module @kernels {
  memref.global "private" @tile : !tile
  gpu.func @kernel(%in: memref<8x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    %barrier = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%in, %tile, %barrier, %c0) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x64xf16>, !tile, !barrier, index) -> ()
    gpu.return
  }
}
