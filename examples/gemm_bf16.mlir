// C = A B: bfloat16 operands, float32 sums, 256 x 256 with K = 512. One 128x128 tile of C per block: one warp loads
// tiles of A and B into a ring of four stages, four warps multiply them with wgmma.
//
// Both tiles are stored as the 128-byte-swizzled atoms that wgmma reads, B with its rows (N) contiguous: two column
// groups of 64, which the planner loads with one three-dimensional TMA instruction. The loads of a stage are announced
// together.
//
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-check-kernels,tile-plan-copies,tile-merge-expect-tx)' \
// RUN:   | FileCheck %s --check-prefix=PLAN
// RUN: tma-run %s --device sim --arg 0=small:1 --arg 1=small:2 --arg 2=zeros --emit ptx --out-dir %t.d \
// RUN:   | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/gemm_bf16.ptx

// PLAN: announce_bytes = 32768 : i64, {{.*}}expect_tx, {{.*}}box = [64, 128]
// PLAN: box = [64, 64, 2]
// PLAN-NOT: expect_tx

// PTX: .extern .shared .align 1024
// PTX: .maxntid 160
// PTX-DAG: cp.async.bulk.tensor.2d.shared::{{cta|cluster}}.global
// PTX-DAG: cp.async.bulk.tensor.3d.shared::{{cta|cluster}}.global
// PTX-DAG: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16

// RESULT: verified: {{.*}}
// RESULT: changed: argument 2 ({{[^)]*}})

!bytes = memref<?xi8, #gpu.address_space<workgroup>>
!tile_a = memref<128x64xbf16, #gpu.address_space<workgroup>>
!tile_b = memref<64x128xbf16, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
!token = !nvgpu.mbarrier.token
!map_a = !nvgpu.tensormap.descriptor<tensor = memref<128x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!map_b = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!operand_a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xbf16, #gpu.address_space<workgroup>>>
!operand_b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xbf16, #gpu.address_space<workgroup>>>
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @gemm_bf16(%a: memref<256x512xbf16>, %b: memref<512x256xbf16>, %c: memref<256x256xf32>) kernel
        attributes {known_block_size = array<i32: 160, 1, 1>, known_grid_size = array<i32: 2, 2, 1>,
                    tile.dynamic_shared_bytes = 131072 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %stage_bytes = arith.constant 32768 : index
      %a_bytes = arith.constant 16384 : index
      %steps = arith.constant 8 : index
      %thread = gpu.thread_id x
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %row = arith.muli %block_y, %c128 : index
      %column = arith.muli %block_x, %c128 : index
      %ring = gpu.dynamic_shared_memory : !bytes

      // full: the bytes of a stage have arrived; empty: the consumers have read it.
      %full = nvgpu.mbarrier.create -> !barriers
      %empty = nvgpu.mbarrier.create -> !barriers
      %is_first = arith.cmpi eq, %thread, %c0 : index
      scf.if %is_first {
        scf.for %stage = %c0 to %c4 step %c1 {
          nvgpu.mbarrier.init %full[%stage], %c1 : !barriers
          nvgpu.mbarrier.init %empty[%stage], %c128 : !barriers
        }
        nvvm.fence.mbarrier.init
      }
      gpu.barrier

      // The producer: one thread of warp 4.
      %is_producer = arith.cmpi eq, %thread, %c128 : index
      scf.if %is_producer {
        scf.for %k = %c0 to %steps step %c1 {
          %stage = arith.remui %k, %c4 : index
          %round = arith.divui %k, %c4 : index
          %bit = arith.remui %round, %c2 : index
          // A wait for the phase before the first passes: in round 0 every stage is empty.
          %parity = arith.cmpi eq, %bit, %c0 : index
          "tile.wait"(%empty, %stage, %parity) : (!barriers, index, i1) -> ()
          %start = arith.muli %stage, %stage_bytes : index
          %start_b = arith.addi %start, %a_bytes : index
          %tile_a = memref.view %ring[%start][] : !bytes to !tile_a
          %tile_b = memref.view %ring[%start_b][] : !bytes to !tile_b
          %depth = arith.muli %k, %c64 : index
          "tile.copy_async"(%a, %tile_a, %row, %depth, %full, %stage) {
            static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 128, 64>,
            destination_layout = #tile.atoms<"128B">, expect_tx, variant = "tma",
            operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
          } : (memref<256x512xbf16>, !tile_a, index, index, !barriers, index) -> ()
          "tile.copy_async"(%b, %tile_b, %depth, %column, %full, %stage) {
            static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 64, 128>,
            destination_layout = #tile.atoms<"128B">, expect_tx, variant = "tma",
            operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
          } : (memref<512x256xbf16>, !tile_b, index, index, !barriers, index) -> ()
        }
      }

      // The consumers: one warpgroup, threads 0 to 127.
      %is_consumer = arith.cmpi ult, %thread, %c128 : index
      scf.if %is_consumer {
        // wgmma's descriptors take the layout of a tile from a tensor map's type; its value is not used.
        %null = llvm.mlir.zero : !llvm.ptr
        %map_a = builtin.unrealized_conversion_cast %null : !llvm.ptr to !map_a
        %map_b = builtin.unrealized_conversion_cast %null : !llvm.ptr to !map_b
        %zero = nvgpu.warpgroup.mma.init.accumulator -> !sum
        %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%old = %zero) -> (!sum) {
          %stage = arith.remui %k, %c4 : index
          %round = arith.divui %k, %c4 : index
          %bit = arith.remui %round, %c2 : index
          %parity = arith.cmpi eq, %bit, %c1 : index
          "tile.wait"(%full, %stage, %parity) : (!barriers, index, i1) -> ()
          %start = arith.muli %stage, %stage_bytes : index
          %start_b = arith.addi %start, %a_bytes : index
          %tile_a = memref.view %ring[%start][] : !bytes to !tile_a
          %tile_b = memref.view %ring[%start_b][] : !bytes to !tile_b
          %left = nvgpu.warpgroup.generate.descriptor %tile_a, %map_a : !tile_a, !map_a -> !operand_a
          %right = nvgpu.warpgroup.generate.descriptor %tile_b, %map_b : !tile_b, !map_b -> !operand_b
          %new = nvgpu.warpgroup.mma %left, %right, %old {transposeB, waitGroup = 0}
            : !operand_a, !operand_b, !sum -> !sum
          %token = nvgpu.mbarrier.arrive %empty[%stage] : !barriers -> !token
          scf.yield %new : !sum
        }
        %part = memref.subview %c[%row, %column] [128, 128] [1, 1]
          : memref<256x256xf32> to memref<128x128xf32, strided<[256, 1], offset: ?>>
        nvgpu.warpgroup.mma.store %sum, %part : !sum to memref<128x128xf32, strided<[256, 1], offset: ?>>
      }
      gpu.return
    }
  }
}
