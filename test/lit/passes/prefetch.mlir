// Prefetches into L2, with descriptors of their own or shared with copies, and the prefetch of descriptors themselves.
//
// RUN: tma-opt %s --tile-plan-copies --convert-tile-to-nvgpu=prefetch-descriptors=true --tma-remarks 2>%t.remarks \
// RUN:   | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file %t.remarks

// CHECK: gpu.func @kernel
// CHECK: %[[A:.*]] = "tile.create_descriptor"(%arg0)
// CHECK-NOT: tile.create_descriptor
// CHECK: nvvm.elect.sync
// CHECK: nvgpu.tma.prefetch.descriptor %[[A]]
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[A]] : {{.*}} to !llvm.ptr
// CHECK: nvvm.cp.async.bulk.tensor.prefetch %[[P]], box[%{{.*}}, %{{.*}}]
// CHECK: scf.if
// CHECK: nvvm.cp.async.bulk.tensor.prefetch %{{.*}}, box[%{{.*}}, %{{.*}}] l2_cache_hint = %{{.*}}
// CHECK-NOT: nvvm.cp.async.bulk.tensor.prefetch

// REMARK: remark: prefetch dropped: stride 1 is 200 B; needed: a multiple of 16 B

gpu.module @m {
  gpu.func @kernel(%in: memref<256x256xf16>, %odd: memref<64x100xf16>, %row: index, %p: i1, %hint: i64) kernel {
    "tile.prefetch_async"(%in, %row) {
      static_source_offsets = array<i64: -9223372036854775808, 64>, sizes = array<i64: 64, 64>,
      operandSegmentSizes = array<i32: 1, 1, 0, 0>
    } : (memref<256x256xf16>, index) -> ()
    "tile.prefetch_async"(%in, %p, %hint) {
      static_source_offsets = array<i64: 0, 128>, sizes = array<i64: 64, 64>,
      operandSegmentSizes = array<i32: 1, 0, 1, 1>
    } : (memref<256x256xf16>, i1, i64) -> ()
    "tile.prefetch_async"(%odd) {
      static_source_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 64>,
      operandSegmentSizes = array<i32: 1, 0, 0, 0>
    } : (memref<64x100xf16>) -> ()
    gpu.return
  }
}
