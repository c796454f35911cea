// A plan is for the copy it was made for. After an edit by hand, whoever would follow it says what changed, and
// tile-plan-copies plans anew, also for another chip.
//
// RUN: tma-opt %s --tile-plan-copies > %t.planned
// RUN: sed 's/sizes = array<i64: 8, 256>/sizes = array<i64: 4, 256>/' %t.planned > %t.sizes
// RUN: not tma-opt %t.sizes --convert-tile-to-nvgpu 2>&1 | FileCheck %s --check-prefix=STALE
// RUN: not tma-opt %t.sizes --tile-verify 2>&1 | FileCheck %s --check-prefix=STALE
// RUN: not tma-opt %t.sizes --tile-to-cubin 2>&1 | FileCheck %s --check-prefix=STALE
// RUN: tma-opt %t.sizes --tile-plan-copies --tma-remarks 2>&1 | FileCheck %s --check-prefix=ANEW
// RUN: tma-opt %t.sizes --tile-plan-copies --tile-to-cubin -o /dev/null
// RUN: tma-opt %t.planned --tile-plan-copies=chip=sm_100a --tma-remarks 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: tma-opt %t.planned --tile-to-cubin=chip=sm_100a --tma-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: sed 's/transaction_bytes = 4096/transaction_bytes = 2048/' %t.planned > %t.edited
// RUN: not tma-opt %t.edited --convert-tile-to-nvgpu 2>&1 | FileCheck %s --check-prefix=EDITED
// RUN: tma-opt %t.planned --canonicalize --cse --convert-tile-to-nvgpu -o /dev/null

// STALE: [[#]]:[[#]]: error: 'tile.copy_async' op has a stale plan: {{.*}}extents: [8, 256] when planned, [4, 256] now
// STALE-SAME: Run tile-plan-copies

// ANEW: remark: planned anew: {{.*}}extents: [8, 256] when planned, [4, 256] now
// ANEW: transaction_bytes = 2048

// CHIP: remark: planned anew: chip: sm_90a when planned, sm_100a now

// EDITED: [[#]]:[[#]]: error: 'tile.copy_async' op has a plan that cannot be read (it was changed by hand
// EDITED-SAME: Drop it and run tile-plan-copies

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<8x256xf16, #gpu.address_space<workgroup>>
gpu.module @m {
  memref.global "private" @tile : !tile
  gpu.func @k(%in: memref<8x256xf16>) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : !tile
    %b = nvgpu.mbarrier.create -> !barrier
    "tile.copy_async"(%in, %tile, %b, %c0) {
      static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 256>,
      expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x256xf16>, !tile, !barrier, index) -> ()
    gpu.return
  }
}
