// What MLIR 22 lowers wrong or slowly is said at its own line. Each trap once; what is next to it and right, not.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tile-check-kernels

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!out = memref<64x64xf32>

// The row of a store comes from the thread's number in the CTA.
gpu.module @store_of_any_warpgroup {
  gpu.func @kernel(%out: !out) kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %thread = gpu.thread_id x
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %is_first = arith.cmpi ult, %thread, %c128 : index
    scf.if %is_first {
      nvgpu.warpgroup.mma.store %zero, %out : !acc to !out
    } else {
      // expected-warning@+1 {{writes 64 rows further down for each warpgroup before the one that executes it}}
      nvgpu.warpgroup.mma.store %zero, %out : !acc to !out
    }
    %is_later = arith.cmpi uge, %thread, %c128 : index
    scf.if %is_later {
      // expected-warning@+1 {{Let threads 0 to 127 execute it (scf.if on thread id < 128), or subtract 64 rows per warpgroup}}
      nvgpu.warpgroup.mma.store %zero, %out : !acc to !out
    } else {
      nvgpu.warpgroup.mma.store %zero, %out : !acc to !out
    }
    gpu.return
  }
  gpu.func @one_warpgroup(%out: !out) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    nvgpu.warpgroup.mma.store %zero, %out : !acc to !out
    gpu.return
  }
}

// -----

!acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!a64 = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>>
!b64 = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xbf16, #gpu.address_space<workgroup>>>
!a32 = !nvgpu.warpgroup.descriptor<tensor = memref<64x32xbf16, #gpu.address_space<workgroup>>>
!b32 = !nvgpu.warpgroup.descriptor<tensor = memref<32x64xbf16, #gpu.address_space<workgroup>>>
!a16 = !nvgpu.warpgroup.descriptor<tensor = memref<64x16xbf16, #gpu.address_space<workgroup>>>
!b16 = !nvgpu.warpgroup.descriptor<tensor = memref<16x64xbf16, #gpu.address_space<workgroup>>>

// B advances by K * 32 bytes a step: right for a 64-row tile of N-contiguous bf16 rows (2048 bytes, 16 rows of 128).
gpu.module @steps_of_b {
  gpu.func @kernel(%da: !a64, %db: !b64, %ea: !a32, %eb: !b32, %fa: !a16, %fb: !b16) {
    %zero = nvgpu.warpgroup.mma.init.accumulator -> !acc
    %0 = nvgpu.warpgroup.mma %da, %db, %zero {transposeB} : !a64, !b64, !acc -> !acc
    // expected-error@+1 {{takes 4 steps through a K tile of 128 bytes, with K-contiguous A and K-contiguous B}}
    %1 = nvgpu.warpgroup.mma %da, %db, %0 : !a64, !b64, !acc -> !acc
    // expected-error@+1 {{takes 2 steps through a K tile of 64 bytes, with K-contiguous A and N-contiguous B}}
    %2 = nvgpu.warpgroup.mma %ea, %eb, %1 {transposeB} : !a32, !b32, !acc -> !acc
    %3 = nvgpu.warpgroup.mma %fa, %fb, %2 : !a16, !b16, !acc -> !acc
    gpu.return
  }
}

// -----

// A release of cluster scope is a barrier of the whole GPU in SASS; scope cta and relaxed are not.
gpu.module @needless_fence {
  gpu.func @kernel(%address: i64) kernel {
    %remote = llvm.inttoptr %address : i64 to !llvm.ptr<7>
    // expected-warning@+1 {{'nvvm.mbarrier.arrive' op with cluster scope becomes MEMBAR.ALL.GPU before each arrival}}
    nvvm.mbarrier.arrive %remote {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    nvvm.mbarrier.arrive %remote : !llvm.ptr<7>
    nvvm.mbarrier.arrive %remote {relaxed = true, scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    gpu.return
  }
}

// -----

// LLVM 22 aborts with "Cannot select" here.
gpu.module @relaxed_on_old_ptx [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  gpu.func @kernel(%address: i64) kernel {
    %remote = llvm.inttoptr %address : i64 to !llvm.ptr<7>
    // expected-error@+1 {{is relaxed, which LLVM 22 can select from PTX 8.6 on; the target has +ptx80}}
    nvvm.mbarrier.arrive %remote {relaxed = true} : !llvm.ptr<7>
    gpu.return
  }
}

// -----

gpu.module @registers {
  gpu.func @unknown_block() kernel {
    // expected-error@+1 {{is ignored by ptxas where the kernel does not say its block size}}
    nvvm.setmaxregister increase 232
    gpu.return
  }
  gpu.func @known_block() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    nvvm.setmaxregister increase 232
    gpu.return
  }
}

// -----

!ring = memref<4x64x64xf32, #gpu.address_space<workgroup>>
gpu.module @static_shared {
  memref.global "private" @ring : !ring
  // expected-error@+1 {{kernel reserves 65568 bytes of static shared memory, @ring alone 65536; the limit is 49152. Put the tiles into gpu.dynamic_shared_memory}}
  gpu.func @kernel() kernel {
    %ring = memref.get_global @ring : !ring
    %bar = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
    gpu.return
  }
}
