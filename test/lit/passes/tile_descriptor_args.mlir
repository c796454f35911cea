// Descriptors become the first kernel parameters, by value, aligned, in constant memory; the recipe stays on the kernel.
//
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args)' \
// RUN:   | FileCheck %s --check-prefix=ARGS
// RUN: tma-opt %s --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args,tile-lower-kernels)' \
// RUN:   | FileCheck %s --check-prefix=LLVM
// RUN: tma-opt %s --tile-to-cubin | FileCheck %s --check-prefix=CUBIN

// ARGS: gpu.func @two(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: memref<64x64xf16>, %{{.*}}: memref<64x64xf16>)
// ARGS-SAME: workgroup(%{{.*}} : memref<64x64xf16, #gpu.address_space<workgroup>>
// ARGS-SAME: tile.arguments = [memref<64x64xf16>, memref<64x64xf16>]
// ARGS-SAME: tile.descriptors = [#tile.tensor_map<{argument = 0{{.*}}#tile.tensor_map<{argument = 1
// ARGS-NOT: tile.create_descriptor
// ARGS: gpu.func @dynamic(%{{.*}}: !llvm.ptr, %{{.*}}: memref<?x?xf16, strided<[?, 1]>>)
// ARGS-SAME: dims = ["global.dim1", "global.dim0"]
// ARGS-SAME: strides_bytes = ["2*global.stride0"]

// LLVM: llvm.mlir.global {{.*}} @[[TILE:.*]]() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x f16>
// LLVM: llvm.func @two(%{{[^:]*}}: !llvm.ptr {llvm.align = 128 : i32, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// LLVM-SAME: %{{[^:]*}}: !llvm.ptr {llvm.align = 128 : i32, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr)
// LLVM: llvm.func @dynamic(%{{[^:]*}}: !llvm.ptr {llvm.align = 128 : i32, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// LLVM-SAME: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64)
// LLVM-SAME: tile.bare_pointers = false

// CUBIN: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a"
// CUBIN-SAME: bin = "\7FELF

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @two(%in: memref<64x64xf16>, %out: memref<64x64xf16>)
        workgroup(%tile: memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">,
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<64x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      "tile.copy_async"(%tile, %out) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">,
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
      } : (memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16>) -> ()
      gpu.return
    }

    memref.global "private" @tile : memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.func @dynamic(%in: memref<?x?xf16, strided<[?, 1]>>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : memref<64x64xf16, #gpu.address_space<workgroup>>
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 64, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<?x?xf16, strided<[?, 1]>>, memref<64x64xf16, #gpu.address_space<workgroup>>, !barrier, index) -> ()
      gpu.return
    }
  }
}
