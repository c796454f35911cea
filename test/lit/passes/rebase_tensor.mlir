// A loop over three matrices of their own sizes and pitches on one descriptor: base, dimensions and stride are replaced
// each time round. A load and a store of the same box shape share the descriptor; another shape has its own.
//
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' | FileCheck %s
// RUN: tma-run %s --device sim --arg 0=random:1@40x128 --arg 1=random:2@24x200 --arg 2=random:3@22x136 \
// RUN:   --arg 3=zeros --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/rebase_tensor.ptx

// CHECK: memref.global "private" @__tile_descriptor_1
// CHECK: memref.global "private" @__tile_descriptor_0
// CHECK: "tile.create_descriptor"(%arg0) {{.*}}box = [64, 16], {{.*}}dims = ["global.dim1", "global.dim0"], {{.*}}strides_bytes = ["2*global.stride0"], swizzle = "128B"
// CHECK: "tile.create_descriptor"(%arg0) {{.*}}box = [64, 8]
// CHECK: scf.for
// CHECK: tensormap.replace.tile.global_address
// CHECK: tensormap.replace.tile.global_address
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.tma.async.store
// CHECK: nvgpu.tma.async.store

// PTX-COUNT-2: tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r{{[0-9]+}}], 0, %rd{{[0-9]+}};
// PTX: cp.async.bulk.tensor.2d.global.shared::cta

// RESULT: verified: {{.*}}
// RESULT: changed: argument 0 ({{[^)]*}}), argument 1 ({{[^)]*}}), argument 2 ({{[^)]*}}), argument 3 ({{[^)]*}})

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!matrix = memref<?x?xf16, strided<[?, 1]>>

gpu.module @kernels {
  memref.global "private" @tile : memref<16x64xf16, #gpu.address_space<workgroup>>

  gpu.func @rebase_tensor(%a: !matrix, %b: !matrix, %c: !matrix, %scratch: memref<256xi8>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %thread = gpu.thread_id x
    %leader = arith.cmpi eq, %thread, %c0 : index
    %tile = memref.get_global @tile : memref<16x64xf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    scf.if %leader {
      nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
    }
    gpu.barrier

    %pa = memref.extract_aligned_pointer_as_index %a : !matrix -> index
    %pb = memref.extract_aligned_pointer_as_index %b : !matrix -> index
    %pc = memref.extract_aligned_pointer_as_index %c : !matrix -> index
    %base_a, %offset_a, %sizes_a:2, %strides_a:2 = memref.extract_strided_metadata %a : !matrix -> memref<f16>, index, index, index, index, index
    %base_b, %offset_b, %sizes_b:2, %strides_b:2 = memref.extract_strided_metadata %b : !matrix -> memref<f16>, index, index, index, index, index
    %base_c, %offset_c, %sizes_c:2, %strides_c:2 = memref.extract_strided_metadata %c : !matrix -> memref<f16>, index, index, index, index, index
    scf.for %g = %c0 to %c3 step %c1 {
      %is_a = arith.cmpi eq, %g, %c0 : index
      %is_b = arith.cmpi eq, %g, %c1 : index
      %p_bc = arith.select %is_b, %pb, %pc : index
      %p = arith.select %is_a, %pa, %p_bc : index
      %rows_bc = arith.select %is_b, %sizes_b#0, %sizes_c#0 : index
      %rows = arith.select %is_a, %sizes_a#0, %rows_bc : index
      %columns_bc = arith.select %is_b, %sizes_b#1, %sizes_c#1 : index
      %columns = arith.select %is_a, %sizes_a#1, %columns_bc : index
      %pitch_bc = arith.select %is_b, %strides_b#0, %strides_c#0 : index
      %pitch = arith.select %is_a, %strides_a#0, %pitch_bc : index
      %address = arith.index_cast %p : index to i64
      %matrix = "tile.rebase_tensor"(%a, %address, %scratch, %rows, %columns, %pitch)
        {operandSegmentSizes = array<i32: 1, 1, 1, 2, 1>}
        : (!matrix, i64, memref<256xi8>, index, index, index) -> !matrix
      scf.if %leader {
        %odd = arith.remui %g, %c2 : index
        %phase = arith.cmpi eq, %odd, %c1 : index
        "tile.copy_async"(%matrix, %tile, %barrier, %c0) {
          static_source_offsets = array<i64: 8, 64>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, expect_tx, variant = "tma",
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (!matrix, memref<16x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
        "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()
        "tile.copy_async"(%tile, %matrix) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 4, 0>,
          sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma", in_bounds,
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
        } : (memref<16x64xf16, #gpu.address_space<workgroup>>, !matrix) -> ()
        "tile.copy_async"(%tile, %matrix) {
          static_source_offsets = array<i64: 8, 0>, static_destination_offsets = array<i64: 0, 64>,
          sizes = array<i64: 8, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma", in_bounds,
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
        } : (memref<16x64xf16, #gpu.address_space<workgroup>>, !matrix) -> ()
        "tile.commit_group"() : () -> ()
        "tile.wait_group"() {pending = 0 : i64} : () -> ()
      }
      gpu.barrier
    }
    gpu.return
  }
}
