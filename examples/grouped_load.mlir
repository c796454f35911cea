// Two matrices of different heights, one for each block, as in a grouped matmul: each block makes a descriptor for its
// own matrix out of the first one's, in the kernel. Base address and number of rows are replaced in shared memory, the
// result goes to the block's 128 bytes of scratch, and a fence makes it known to the tensor-map proxy. Rows behind the
// end of a matrix read as zero.
//
// RUN: tma-opt %s --tile-plan-copies | FileCheck %s --check-prefix=PLAN
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu)' \
// RUN:   | FileCheck %s --check-prefix=NVGPU
// RUN: tma-run %s --device sim --arg 0=random:1@40x64 --arg 1=random:2@24x64 --arg 2=zeros --emit ptx --out-dir %t.d \
// RUN:   | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.d/grouped_load.ptx

// PLAN: dims = [64, "global.dim0"], {{.*}}strides_bytes = [128]

// NVGPU: memref.global "private" @[[STAGING:.*]] : memref<128xi8, #gpu.address_space<workgroup>> {alignment = 128 : i64}
// NVGPU: %[[MAP:.*]] = "tile.create_descriptor"(%[[A:arg0]])
// NVGPU: %[[SOURCE:.*]] = builtin.unrealized_conversion_cast %[[MAP]] : {{.*}} to !llvm.ptr
// NVGPU: nvvm.elect.sync
// NVGPU: tensormap.replace.tile.global_address
// NVGPU: tensormap.replace.tile.global_dim
// NVGPU: tensormap.cp_fenceproxy
// NVGPU: gpu.barrier
// NVGPU: nvvm.fence.proxy.acquire <gpu>
// NVGPU: nvgpu.tma.async.load

// PTX: tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r{{[0-9]+}}], %rd{{[0-9]+}};
// PTX: tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r{{[0-9]+}}], 1, %r{{[0-9]+}};
// PTX: tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd{{[0-9]+}}], [%r{{[0-9]+}}], 128;
// PTX: fence.proxy.tensormap::generic.acquire.gpu [%rd{{[0-9]+}}], 128;
// PTX: cp.async.bulk.tensor.2d.shared::

// RESULT: verified

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : memref<32x64xf16, #gpu.address_space<workgroup>>

    gpu.func @grouped_load(%a: memref<?x64xf16>, %b: memref<?x64xf16>, %scratch: memref<256xi8>,
                           %out: memref<2x32x64xf16>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c128 = arith.constant 128 : index
      %phase = arith.constant false
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %tile = memref.get_global @tile : memref<32x64xf16, #gpu.address_space<workgroup>>

      // The block's matrix: its address and its number of rows.
      %first = arith.cmpi eq, %block, %c0 : index
      %address_a = memref.extract_aligned_pointer_as_index %a : memref<?x64xf16> -> index
      %address_b = memref.extract_aligned_pointer_as_index %b : memref<?x64xf16> -> index
      %address_index = arith.select %first, %address_a, %address_b : index
      %address = arith.index_cast %address_index : index to i64
      %rows_a = memref.dim %a, %c0 : memref<?x64xf16>
      %rows_b = memref.dim %b, %c0 : memref<?x64xf16>
      %rows = arith.select %first, %rows_a, %rows_b : index
      %offset = arith.muli %block, %c128 : index
      %own = memref.subview %scratch[%offset] [128] [1] : memref<256xi8> to memref<128xi8, strided<[1], offset: ?>>
      %matrix = "tile.rebase_tensor"(%a, %address, %own, %rows) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}
        : (memref<?x64xf16>, i64, memref<128xi8, strided<[1], offset: ?>>, index) -> memref<?x64xf16>

      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      scf.if %leader {
        "tile.copy_async"(%matrix, %tile, %barrier, %c0) {
          static_source_offsets = array<i64: 16, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 32, 64>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<?x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      }
      "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()

      scf.for %r = %c0 to %c32 step %c1 {
        %value = memref.load %tile[%r, %thread] : memref<32x64xf16, #gpu.address_space<workgroup>>
        memref.store %value, %out[%block, %r, %thread] : memref<2x32x64xf16>
      }
      gpu.return
    }
  }
}
