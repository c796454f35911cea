// RUN: tma-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tile-verify,tile-plan-copies,convert-tile-to-nvgpu)'

func.func @too_many_sizes(%a: memref<?x64xf16>, %p: i64, %s: memref<128xi8>, %n: index) {
  // expected-error@+1 {{needs 1 sizes, one for each dynamic one of memref<?x64xf16>; found 2}}
  %0 = "tile.rebase_tensor"(%a, %p, %s, %n, %n) {operandSegmentSizes = array<i32: 1, 1, 1, 2, 0>}
    : (memref<?x64xf16>, i64, memref<128xi8>, index, index) -> memref<?x64xf16>
  return
}

// -----

func.func @small_scratch(%a: memref<8x64xf16>, %p: i64, %s: memref<64xi8>) {
  // expected-error@+1 {{needs 128 bytes of scratch for each descriptor; found memref<64xi8>}}
  %0 = "tile.rebase_tensor"(%a, %p, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
    : (memref<8x64xf16>, i64, memref<64xi8>) -> memref<8x64xf16>
  return
}

// -----

func.func @scratch_in_shared_memory(%a: memref<8x64xf16>, %p: i64, %s: memref<128xi8, 3>) {
  // expected-error@+1 {{needs scratch bytes in global memory, as memref<128xi8>}}
  %0 = "tile.rebase_tensor"(%a, %p, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
    : (memref<8x64xf16>, i64, memref<128xi8, 3>) -> memref<8x64xf16>
  return
}

// -----

func.func @other_type(%a: memref<8x64xf16>, %p: i64, %s: memref<128xi8>) {
  // expected-error@+1 {{gives a tensor of the type it takes}}
  %0 = "tile.rebase_tensor"(%a, %p, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
    : (memref<8x64xf16>, i64, memref<128xi8>) -> memref<?x64xf16>
  return
}

// -----

func.func @for_one_thread(%a: memref<8x64xf16>, %p: i64, %s: memref<128xi8>) {
  // expected-error@+1 {{attribute 'scope' must be "cta" or "warp"; found "thread"}}
  %0 = "tile.rebase_tensor"(%a, %p, %s) {scope = "thread", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
    : (memref<8x64xf16>, i64, memref<128xi8>) -> memref<8x64xf16>
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @two_descriptors_in_room_for_one {
  memref.global "private" @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%a: memref<64x64xf16>, %p: i64, %s: memref<128xi8>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
    // expected-error@+1 {{needs 256 bytes of scratch, 128 for each descriptor that copies of its result use}}
    %0 = "tile.rebase_tensor"(%a, %p, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
      : (memref<64x64xf16>, i64, memref<128xi8>) -> memref<64x64xf16>
    "tile.copy_async"(%0, %tile, %i, %bar, %i) {variant = "tma",
      static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
    "tile.copy_async"(%0, %tile, %i, %bar, %i) {variant = "tma",
      static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 8, 64>, swizzle = #tile.swizzle<"128B">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
    } : (memref<64x64xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, index, !barrier, index) -> ()
    gpu.return
  }
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @im2col {
  memref.global "private" @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%a: memref<2x8x8x64xf16>, %p: i64, %s: memref<128xi8>, %bar: !barrier, %i: index) kernel {
    %tile = memref.get_global @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
    // expected-error@+1 {{cannot change descriptors of im2col copies: tensormap.replace knows tiles only}}
    %0 = "tile.rebase_tensor"(%a, %p, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}
      : (memref<2x8x8x64xf16>, i64, memref<128xi8>) -> memref<2x8x8x64xf16>
    "tile.copy_async"(%0, %tile, %bar, %i) {mode = "im2col", im2col = {lower_corner = [0, 0], upper_corner = [0, 0]},
      static_source_offsets = array<i64: 0, 0, 0, 0, 0, 0>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: 16, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
    } : (memref<2x8x8x64xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
    gpu.return
  }
}
