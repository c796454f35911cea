// A pipeline: one warp loads tiles of a int32 matrix into a ring of four stages, four warps double them in place, and
// TMA stores them. Loads, arithmetic and stores of different tiles overlap.
//
// Each stage has two mbarriers. full: the bytes of its tile have arrived; empty: its last tile has been stored. A phase
// of either is one use of the stage, so its parity is the round of the ring modulo two.
//
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,tile-merge-expect-tx,tile-insert-proxy-fences)' \
// RUN:   | FileCheck %s --check-prefix=PLAN
// RUN: tma-run %s --device sim --emit ptx --out-dir %t.d | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/pipelined_copy.ptx

// The consumers' writes are fenced in front of the barrier that orders them before the store.
// PLAN: vector.store
// PLAN: }
// PLAN-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// PLAN-NEXT: nvvm.barrier

// PTX: .extern .shared .align 1024
// PTX-DAG: mbarrier.arrive.expect_tx
// PTX-DAG: cp.async.bulk.tensor.2d.shared::{{cta|cluster}}.global
// PTX-DAG: cp.async.bulk.tensor.2d.global.shared::cta
// PTX-DAG: cp.async.bulk.wait_group.read {{.*}}1;

// RESULT: verified: {{.*}}
// RESULT: changed: argument 1 ({{[^)]*}})

!bytes = memref<?xi8, #gpu.address_space<workgroup>>
!tile = memref<32x64xi32, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
!token = !nvgpu.mbarrier.token

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @pipelined_copy(%in: memref<512x128xi32>, %out: memref<512x128xi32>) kernel
        attributes {known_block_size = array<i32: 160, 1, 1>, known_grid_size = array<i32: 2, 2, 1>,
                    tile.dynamic_shared_bytes = 32768 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %stage_bytes = arith.constant 8192 : index
      %all_loaded = arith.constant 512 : index
      %thread = gpu.thread_id x
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %first_row = arith.muli %block_y, %c256 : index
      %column = arith.muli %block_x, %c64 : index
      %ring = gpu.dynamic_shared_memory : !bytes

      %full = nvgpu.mbarrier.create -> !barriers
      %empty = nvgpu.mbarrier.create -> !barriers
      %is_first = arith.cmpi eq, %thread, %c0 : index
      scf.if %is_first {
        scf.for %stage = %c0 to %c4 step %c1 {
          nvgpu.mbarrier.init %full[%stage], %c1 : !barriers
          nvgpu.mbarrier.init %empty[%stage], %c1 : !barriers
        }
        // The async proxy completes on these barriers, so it has to see them initialised.
        nvvm.fence.mbarrier.init
      }
      gpu.barrier

      // The producer: one thread of warp 4.
      %is_producer = arith.cmpi eq, %thread, %c128 : index
      scf.if %is_producer {
        scf.for %k = %c0 to %c8 step %c1 {
          %stage = arith.remui %k, %c4 : index
          %round = arith.divui %k, %c4 : index
          %bit = arith.remui %round, %c2 : index
          // A wait for the phase before the first passes: in round 0 every stage is empty.
          %parity = arith.cmpi eq, %bit, %c0 : index
          "tile.wait"(%empty, %stage, %parity) : (!barriers, index, i1) -> ()
          %start = arith.muli %stage, %stage_bytes : index
          %tile = memref.view %ring[%start][] : !bytes to !tile
          %offset = arith.muli %k, %c32 : index
          %row = arith.addi %first_row, %offset : index
          "tile.copy_async"(%in, %tile, %row, %column, %full, %stage) {
            static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
            static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 32, 64>, expect_tx, variant = "tma",
            operandSegmentSizes = array<i32: 1, 1, 2, 0, 1, 1, 0, 0, 0>
          } : (memref<512x128xi32>, !tile, index, index, !barriers, index) -> ()
        }
      }

      // The consumers: warps 0 to 3.
      %is_consumer = arith.cmpi ult, %thread, %c128 : index
      scf.if %is_consumer {
        %two = arith.constant dense<2> : vector<4xi32>
        %group = arith.constant 1 : i32
        %threads = arith.constant 128 : i32
        scf.for %k = %c0 to %c8 step %c1 {
          %stage = arith.remui %k, %c4 : index
          %round = arith.divui %k, %c4 : index
          %bit = arith.remui %round, %c2 : index
          %parity = arith.cmpi eq, %bit, %c1 : index
          "tile.wait"(%full, %stage, %parity) : (!barriers, index, i1) -> ()
          %start = arith.muli %stage, %stage_bytes : index
          %tile = memref.view %ring[%start][] : !bytes to !tile
          scf.for %i = %thread to %all_loaded step %c128 {
            %r = arith.divui %i, %c16 : index
            %q = arith.remui %i, %c16 : index
            %c = arith.muli %q, %c4 : index
            %x = vector.load %tile[%r, %c] : !tile, vector<4xi32>
            %y = arith.muli %x, %two : vector<4xi32>
            vector.store %y, %tile[%r, %c] : !tile, vector<4xi32>
          }
          nvvm.barrier id = %group number_of_threads = %threads
          scf.if %is_first {
            %offset = arith.muli %k, %c32 : index
            %row = arith.addi %first_row, %offset : index
            "tile.copy_async"(%tile, %out, %row, %column) {
              static_source_offsets = array<i64: 0, 0>,
              static_destination_offsets = array<i64: -9223372036854775808, -9223372036854775808>,
              sizes = array<i64: 32, 64>, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 0, 2, 0, 0, 0, 0, 0>
            } : (!tile, memref<512x128xi32>, index, index) -> ()
            "tile.commit_group"() : () -> ()
            // All stores but this one have read their stage: the previous tile's can be loaded again.
            "tile.wait_group"() {pending = 1 : i64, read} : () -> ()
            %is_later = arith.cmpi ugt, %k, %c0 : index
            scf.if %is_later {
              %before = arith.subi %k, %c1 : index
              %free = arith.remui %before, %c4 : index
              %token = nvgpu.mbarrier.arrive %empty[%free] : !barriers -> !token
            }
          }
        }
        scf.if %is_first {
          "tile.wait_group"() {pending = 0 : i64} : () -> ()
        }
      }
      gpu.return
    }
  }
}
