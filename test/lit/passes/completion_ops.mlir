// Waiting for copies: loads by the parity of an mbarrier's phase, stores by their bulk async groups.
//
// RUN: tma-opt %s --convert-tile-to-nvgpu | FileCheck %s
// RUN: tma-opt %s --pass-pipeline='builtin.module(convert-tile-to-nvgpu,tile-descriptor-args,tile-lower-kernels,nvvm-attach-target{chip=sm_90a features=+ptx86},gpu-module-to-binary{format=isa})' \
// RUN:   | FileCheck %s --check-prefix=PTX

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>

// CHECK: gpu.func @kernel(%[[STAGE:.*]]: index, %[[PARITY:.*]]: i1)
// CHECK: %[[BARRIERS:.*]] = nvgpu.mbarrier.create
// CHECK: nvgpu.mbarrier.try_wait.parity %[[BARRIERS]][%[[STAGE]]], %[[PARITY]], %{{.*}}
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 3{{$}}
// CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK-NOT: tile.

// PTX: mbarrier.try_wait.parity.shared.b64
// PTX: cp.async.bulk.commit_group;
// PTX: cp.async.bulk.wait_group {{[^ ]*}}3;
// PTX: cp.async.bulk.wait_group.read {{[^ ]*}}1;
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @kernel(%stage: index, %parity: i1) kernel {
      %barriers = nvgpu.mbarrier.create -> !barrier
      "tile.wait"(%barriers, %stage, %parity) : (!barrier, index, i1) -> ()
      "tile.commit_group"() : () -> ()
      "tile.wait_group"() {pending = 3 : i64} : () -> ()
      "tile.wait_group"() {pending = 1 : i64, read} : () -> ()
      gpu.return
    }
  }
}
