// Every way to write a copy wrong is one error at the copy, with the rule, the value found and what to do.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @both_global(%a: memref<8x64xf16>, %b: memref<8x64xf16>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{copies between global and shared memory, not from global to global. Put exactly one side in #gpu.address_space<workgroup>}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @both_shared(%a: memref<8x64xf16, 3>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{copies between global and shared memory, not from shared to shared}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @element_types_differ(%a: memref<8x64xf32>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{the element types differ: f32 to f16. Give both sides one element type}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf32>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @unknown_element_type(%a: memref<8x64xindex>, %b: memref<8x64xindex, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{does not know the element type index}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xindex>, memref<8x64xindex, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @size_leaves_the_tile(%a: memref<8x64xf16>, %b: memref<8x32xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{size 64 does not fit dimension 1 of the shared memref, which has 32. Shrink the size or give the tile more shared memory}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x32xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @offset_leaves_the_tile(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{size 8 at offset 4 does not fit dimension 0 of the shared memref, which has 8}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 4, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @too_few_sizes(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{needs one size for each of the 2 dimensions of the global side; found 1}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @too_few_offsets(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{needs one source offset for each of 2 dimensions of its source; found 1}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @dynamic_offset_without_operand(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{has 1 dynamic entries in static_source_offsets but 0 source offset operands}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, -9223372036854775808>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @ranks_do_not_fit(%a: memref<2x8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{sizes [2, 8, 64] do not fit a shared memref of rank 2}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 2, 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<2x8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @negative_size(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{sizes must not be negative}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: -8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @load_without_mbarrier(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>) {
  // expected-error@+1 {{loads from global to shared memory complete on an mbarrier, and none is given}}
  "tile.copy_async"(%a, %b) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @store_with_mbarrier(%a: memref<8x64xf16, 3>, %b: memref<8x64xf16>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{stores to global memory join the bulk async group and do not complete on an mbarrier. Drop the mbarrier}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @store_before_the_tensor(%a: memref<8x64xf16, 3>, %b: memref<8x64xf16>) {
  // expected-error@+1 {{a store must not start before the tensor: offset -4 in dimension 0}}
  "tile.copy_async"(%a, %b) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: -4, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16>) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @expect_tx_on_a_store(%a: memref<8x64xf16, 3>, %b: memref<8x64xf16>) {
  // expected-error@+1 {{'expect_tx' announces bytes on the mbarrier of a load; a store has none}}
  "tile.copy_async"(%a, %b) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16>) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @fill_on_a_store(%a: memref<8x64xf16, 3>, %b: memref<8x64xf16>) {
  // expected-error@+1 {{'oob' says what a load reads outside of the tensor; a store writes nothing there}}
  "tile.copy_async"(%a, %b) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, oob = "nan", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16>) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @misspelt_attribute(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{does not know the attribute 'swizle'. Did you mean 'swizzle'?}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, swizle = #tile.swizzle<"128B">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @wrong_fill(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{attribute 'oob' must be one of "zero", "nan"; found "one"}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, oob = "one", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @wrong_promotion(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{attribute 'l2_promotion' must be one of 0, 64, 128, 256}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, l2_promotion = 32, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @wrong_swizzle_kind(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{attribute 'swizzle' must be #tile.swizzle}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, swizzle = "128B", operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @layout_too_small(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{'destination_layout' covers 256 elements, the memref has 512}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, destination_layout = #tile.layout<[8, 32], [32, 1]>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @layout_lengths_differ(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{'destination_layout' has 2 extents but 1 strides}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, destination_layout = #tile.layout<[8, 64], [1]>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @atoms_do_not_fill(%a: memref<8x64xf16>, %b: memref<8x32xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{a 8x32 tile of 2-byte elements is not made of 8x64 atoms}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 32>, destination_layout = #tile.atoms<"128B">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x32xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @atoms_in_global_memory(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{'source_layout' gives swizzle atoms to global memory}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, source_layout = #tile.atoms<"128B">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @swizzle_contradicts_atoms(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{'swizzle' #tile.swizzle<"64B"> contradicts #tile.atoms<"128B">. Drop 'swizzle'}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, destination_layout = #tile.atoms<"128B">, swizzle = #tile.swizzle<"64B">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @dynamic_shared_tile(%a: memref<8x64xf16>, %b: memref<8x?xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{needs a shared memref of static shape}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x?xf16, 3>, !barrier, index) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @mbarrier_without_index(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{needs the mbarrier group and the index in it together}}
  "tile.copy_async"(%a, %b, %bar) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @scope {
  gpu.func @every_thread_copies(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) kernel
      attributes {known_block_size = array<i32: 64, 2, 1>} {
    // expected-error@+1 {{is for one thread, and all 128 threads of the block execute it}}
    "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>,
      static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
      : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
    gpu.return
  }
}

// -----

func.func @no_allocate_is_not_for_l2(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>) {
  // expected-error@+1 {{cannot be no_allocate: that is a property of L1, which TMA does not go through}}
  "tile.copy_async"(%b, %a) {static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
    sizes = array<i64: 8, 64>, cache = "no_allocate", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16>) -> ()
  return
}

// -----

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @a_load_does_not_reduce(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %bar: !barrier, %i: index) {
  // expected-error@+1 {{reduces into global memory only; a load cannot}}
  "tile.copy_async"(%a, %b, %bar, %i) {static_source_offsets = array<i64: 0, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 64>, reduce = "add",
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}
    : (memref<8x64xf16>, memref<8x64xf16, 3>, !barrier, index) -> ()
  return
}

// -----

func.func @a_store_does_not_multicast(%a: memref<8x64xf16>, %b: memref<8x64xf16, 3>, %mask: i16) {
  // expected-error@+1 {{multicasts loads only; a store writes its tile once}}
  "tile.copy_async"(%b, %a, %mask) {static_source_offsets = array<i64: 0, 0>,
    static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 64>,
    operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 0>}
    : (memref<8x64xf16, 3>, memref<8x64xf16>, i16) -> ()
  return
}
