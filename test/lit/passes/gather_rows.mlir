// Sixteen rows of a matrix picked by an index list, four to an instruction and one atom of 64 columns each, and four
// rows put back to other places. Runs in the simulator: no chip before sm_100 has the instructions.
//
// RUN: tma-run %s --chip sm_100a --device sim --arg 0=random:1@64x512 --arg 1=iota --emit ptx --out-dir %t.d \
// RUN:   | FileCheck %s
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/gather_rows.ptx

// CHECK: tma, 2 instructions, 1024 bytes on the mbarrier
// CHECK: tensor map: rank 2, dims 512,global.dim0, strides 1024 bytes, box 64,1, swizzle 128B
// CHECK: verified: @gather_rows on the simulator (sm_100a)
// CHECK: changed: argument 2 ({{[^)]*}}), argument 3 ({{[^)]*}})

// PTX-COUNT-8: cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes
// PTX-COUNT-2: cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @kernels {
  memref.global "private" @tile : memref<16x128xbf16, #gpu.address_space<workgroup>>
  gpu.func @gather_rows(%in: memref<?x512xbf16>, %rows: memref<16xi32>, %out: memref<64x512xbf16>, %flat_out : memref<2048xbf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %c128 = arith.constant 128 : index
    %c2048 = arith.constant 2048 : index
    %bytes = arith.constant 4096 : index
    %phase = arith.constant false
    %thread = gpu.thread_id x
    %leader = arith.cmpi eq, %thread, %c0 : index
    %tile = memref.get_global @tile : memref<16x128xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    scf.if %leader {
      nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
    }
    gpu.barrier
    scf.if %leader {
      nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
      scf.for %i = %c0 to %c16 step %c4 {
        %i1 = arith.addi %i, %c1 : index
        %i2 = arith.addi %i, %c2 : index
        %i3 = arith.addi %i, %c3 : index
        %r0 = memref.load %rows[%i] : memref<16xi32>
        %r1 = memref.load %rows[%i1] : memref<16xi32>
        %r2 = memref.load %rows[%i2] : memref<16xi32>
        %r3 = memref.load %rows[%i3] : memref<16xi32>
        %s0 = arith.index_cast %r0 : i32 to index
        %s1 = arith.index_cast %r1 : i32 to index
        %s2 = arith.index_cast %r2 : i32 to index
        %s3 = arith.index_cast %r3 : i32 to index
        "tile.copy_async"(%in, %tile, %s0, %s1, %s2, %s3, %i, %barrier, %c0) {
          mode = "gather4",
          static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 128>,
          static_destination_offsets = array<i64: -9223372036854775808, 0>,
          sizes = array<i64: 4, 128>, destination_layout = #tile.atoms<"128B">,
          operandSegmentSizes = array<i32: 1, 1, 4, 1, 1, 1, 0, 0, 0>
        } : (memref<?x512xbf16>, memref<16x128xbf16, #gpu.address_space<workgroup>>, index, index, index, index, index, !barrier, index) -> ()
      }
    }
    "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()
    %flat = memref.collapse_shape %tile [[0, 1]]
      : memref<16x128xbf16, #gpu.address_space<workgroup>> into memref<2048xbf16, #gpu.address_space<workgroup>>
    scf.for %i = %thread to %c2048 step %c128 {
      %value = memref.load %flat[%i] : memref<2048xbf16, #gpu.address_space<workgroup>>
      memref.store %value, %flat_out[%i] : memref<2048xbf16>
    }
    scf.if %leader {
        "tile.copy_async"(%tile, %out) {
          mode = "scatter4", in_bounds,
          static_source_offsets = array<i64: 8, 0>,
          static_destination_offsets = array<i64: 3, 60, 7, 2, 64>,
          sizes = array<i64: 4, 128>, source_layout = #tile.atoms<"128B">,
          operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
        } : (memref<16x128xbf16, #gpu.address_space<workgroup>>, memref<64x512xbf16>) -> ()
        "tile.commit_group"() : () -> ()
        "tile.wait_group"() {pending = 0 : i64} : () -> ()
    }
    gpu.return
  }
}
