// Wrong uses of a copy's mode: form first (tile-verify), then what the hardware refuses (tile-plan-copies).
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tile-plan-copies

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @unknown_mode(%a: memref<64x64xf16>, %b: memref<4x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{attribute 'mode' must be one of "tile", "gather4", "scatter4", "im2col", "im2col_w", "im2col_w_128"; found "gather"}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "gather", static_source_offsets = array<i64: 0, 1, 2, 3, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<64x64xf16>, memref<4x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @four_offsets(%a: memref<64x64xf16>, %b: memref<4x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{needs 5 source offsets with mode "gather4", four rows and the column; found 4}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "gather4", static_source_offsets = array<i64: 0, 1, 2, 3>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<64x64xf16>, memref<4x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @eight_rows(%a: memref<64x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{moves four rows with mode "gather4"; sizes are [8, 64]. Write [4, columns], one copy for four rows}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "gather4", static_source_offsets = array<i64: 0, 1, 2, 3, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<64x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

func.func @gather_out(%a: memref<64x64xf16>, %b: memref<4x64xf16, 3>) {
  // expected-error@+1 {{gathers into shared memory and scatters out of it; use mode = "scatter4" in this direction}}
  "tile.copy_async"(%b, %a) {mode = "gather4", static_destination_offsets = array<i64: 0, 1, 2, 3, 0>,
    static_source_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>} : (memref<4x64xf16, 3>, memref<64x64xf16>) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @gather_of_rank_3(%a: memref<2x64x64xf16>, %b: memref<4x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{gathers rows of a matrix; the global side has 3 dimensions. View it as two}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "gather4", static_source_offsets = array<i64: 0, 1, 2, 3, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<2x64x64xf16>, memref<4x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @no_box(%a: memref<8x14x14x64xf16>, %b: memref<32x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{needs the bounding box: im2col = {lower_corner = [...], upper_corner = [...]}}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "im2col", static_source_offsets = array<i64: 0, 0, 0, 0, 0, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<8x14x14x64xf16>, memref<32x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @box_without_mode(%a: memref<64x64xf16>, %b: memref<32x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{has a bounding box 'im2col', which mode "tile" does not use. Say mode = "im2col", or drop it}}
  "tile.copy_async"(%a, %b, %bar, %i) {im2col = {lower_corner = [], upper_corner = []}, static_source_offsets = array<i64: 0, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<64x64xf16>, memref<32x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @box_of_one_dimension(%a: memref<8x14x14x64xf16>, %b: memref<32x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+2 {{'im2col' needs 2 entries in lower_corner, for each spatial dimension; found [-1]}}
  // expected-error@+1 {{'im2col' needs 2 entries in upper_corner, for each spatial dimension; found [0]}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "im2col", im2col = {lower_corner = [-1], upper_corner = [0]},
    static_source_offsets = array<i64: 0, 0, 0, 0, 0, 0>, static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<8x14x14x64xf16>, memref<32x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @misspelt(%a: memref<8x14x14x64xf16>, %b: memref<32x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{attribute 'im2col' must be a dictionary {lower_corner = [-1, -1], upper_corner = [-1, -1], traversal_strides = [1, 1]}}}
  "tile.copy_async"(%a, %b, %bar, %i) {mode = "im2col", im2col = {lower = [-1, 0], upper_corner = [0, 0]},
    static_source_offsets = array<i64: 0, 0, 0, 0, 0, 0>, static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>} : (memref<8x14x14x64xf16>, memref<32x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @gather_on_hopper {
  memref.global "private" @tile : memref<4x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<64x64xf16>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<4x64xf16, #gpu.address_space<workgroup>>
    // expected-error@+1 {{gather4 on sm_90a; needed: one of sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f (rule: gather supported)}}
    "tile.copy_async"(%in, %tile, %bar, %i) {mode = "gather4", static_source_offsets = array<i64: 0, 1, 2, 3, 0>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 4, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, memref<4x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @im2col_rules {
  memref.global "private" @tile : memref<32x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<8x14x14x64xf16>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<32x64xf16, #gpu.address_space<workgroup>>
    // 8 bits for corners and filter offsets of an NHWC tensor.
    // expected-error@+1 {{filter offset 256; needed: 0..255 (rule: im2col offset range)}}
    "tile.copy_async"(%in, %tile, %bar, %i) {mode = "im2col", im2col = {lower_corner = [0, 0], upper_corner = [0, 0]},
      static_source_offsets = array<i64: 0, 0, 0, 0, 0, 256>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    // expected-error@+1 {{first pixel at 14 in dimension 1; needed: 0..13 (rule: im2col start)}}
    "tile.copy_async"(%in, %tile, %bar, %i) {mode = "im2col", im2col = {lower_corner = [0, 0], upper_corner = [0, 0]},
      static_source_offsets = array<i64: 0, 0, 14, 0, 0, 0>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    // expected-error@+1 {{im2col_w on sm_90a; needed: one of sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f (rule: im2col wide supported)}}
    "tile.copy_async"(%in, %tile, %bar, %i) {mode = "im2col_w", im2col = {lower_corner = [0], upper_corner = [0]},
      swizzle = #tile.swizzle<"128B">, static_source_offsets = array<i64: 0, 0, 0, 0, 0, 0>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @no_other_way {
  memref.global "private" @tile : memref<32x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%in: memref<8x14x14x64xf16>, %bar: !barrier, %i: index, %channel: index) kernel {
    %tile = memref.get_global @tile : memref<32x64xf16, #gpu.address_space<workgroup>>
    // expected-error@+1 {{variant simt; needed: tma (rule: way of mode)}}
    "tile.copy_async"(%in, %tile, %bar, %i) {mode = "im2col", im2col = {lower_corner = [0, 0], upper_corner = [0, 0]},
      static_source_offsets = array<i64: 0, 0, 0, 0, 0, 0>, variant = "simt",
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    // Nothing can be on the other side of a guard.
    // expected-error@+1 {{cannot prove that tma is legal: innermost start at byte 2*source_offset3 B; needed: a multiple of 16 B}}
    "tile.copy_async"(%in, %tile, %channel, %bar, %i) {mode = "im2col", im2col = {lower_corner = [0, 0], upper_corner = [0, 0]},
      static_source_offsets = array<i64: 0, 0, 0, -9223372036854775808, 0, 0>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<8x14x14x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
    gpu.return
  }
}
