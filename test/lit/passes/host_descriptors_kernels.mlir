// Host code launches several kernels. Each launch gets the descriptors of the kernel that its symbol names, not those of
// another kernel with the same name.
//
// RUN: split-file %s %t
// RUN: tma-opt %t/two.mlir --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args)' | FileCheck %s --check-prefix=TWO
// RUN: tma-opt %t/two.mlir --tile-to-cubin | FileCheck %s --check-prefix=CUBIN
// RUN: tma-opt %t/equal_names.mlir --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args)' | FileCheck %s --check-prefix=EQUAL
// RUN: tma-opt %t/nested.mlir --pass-pipeline='builtin.module(tile-plan-copies,convert-tile-to-nvgpu,tile-descriptor-args)' | FileCheck %s --check-prefix=NESTED
// RUN: tma-opt %t/blocks.mlir --tile-check-kernels | FileCheck %s --check-prefix=BLOCKS
// RUN: tma-opt %t/invalid.mlir --split-input-file --verify-diagnostics --tile-descriptor-args

// Two kernels of one gpu.module, launched twice, from two functions, in a loop, under a condition, and with tokens.
//--- two.mlir

// TWO-LABEL: func.func @main
// TWO-SAME: (%[[P:.*]]: i1, %[[A:.*]]: memref<64x64xf16>, %[[B:.*]]: memref<128x64xf16>)
// TWO: scf.for
// TWO: %[[V1:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [64, 64]
// TWO: gpu.launch_func @kernels::@first {{.*}} args(%[[A]] : memref<64x64xf16>, %{{.*}} : !llvm.ptr)
// TWO: scf.if
// TWO: %[[V2:.*]] = memref.reinterpret_cast %[[B]] to offset: [0], sizes: [128, 64]
// TWO: gpu.launch_func @kernels::@second {{.*}} args(%[[B]] : memref<128x64xf16>, %{{.*}} : !llvm.ptr)
// TWO-LABEL: gpu.module @kernels
// TWO: gpu.func @first(%{{.*}}: memref<64x64xf16>, %{{.*}}: !llvm.ptr) kernel attributes {tile.chip = "sm_90a"} {
// TWO: gpu.func @second(%{{.*}}: memref<128x64xf16>, %{{.*}}: !llvm.ptr) kernel attributes {tile.chip = "sm_90a"} {
// TWO: gpu.func @unlaunched(%{{.*}}: !llvm.ptr, %{{.*}}: memref<32x64xf16>) kernel attributes {tile.arguments = [memref<32x64xf16>]
// TWO-LABEL: func.func @other
// TWO: %[[T0:.*]] = gpu.wait async
// TWO: %[[T1:.*]] = gpu.launch_func async [%[[T0]]] @kernels::@second {{.*}} args(%{{.*}} : memref<128x64xf16>, %{{.*}} : !llvm.ptr)
// TWO: %[[T2:.*]] = gpu.launch_func async [%[[T1]]] @kernels::@first {{.*}} args(%{{.*}} : memref<64x64xf16>, %{{.*}} : !llvm.ptr)
// TWO: gpu.wait [%[[T2]]]

// CUBIN-COUNT-2: gpu.launch_func {{.*}} : !llvm.ptr)
// CUBIN: gpu.binary @kernels
// CUBIN-COUNT-2: gpu.launch_func {{.*}} : !llvm.ptr)

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<16x64xf16, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  func.func @main(%p: i1, %a: memref<64x64xf16>, %b: memref<128x64xf16>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c1 to %c4 step %c1 {
      gpu.launch_func @kernels::@first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<64x64xf16>)
      scf.if %p {
        gpu.launch_func @kernels::@second blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
          args(%b : memref<128x64xf16>)
      }
    }
    return
  }
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @first(%in: memref<64x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 8, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
    gpu.func @second(%in: memref<128x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 16, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<128x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
    gpu.func @unlaunched(%in: memref<32x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<32x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
  }
  func.func @other(%a: memref<64x64xf16>, %b: memref<128x64xf16>) {
    %c1 = arith.constant 1 : index
    %t0 = gpu.wait async
    %t1 = gpu.launch_func async [%t0] @kernels::@second clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%b : memref<128x64xf16>)
    %bytes = arith.constant 1024 : i32
    %t2 = gpu.launch_func async [%t1] @kernels::@first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      dynamic_shared_memory_size %bytes args(%a : memref<64x64xf16>)
    gpu.wait [%t2]
    return
  }
}

// Equal kernel names in three gpu.modules: two are launched, the third is for the runtime to launch.
//--- equal_names.mlir

// EQUAL-LABEL: func.func @main(%arg0: memref<64x64xf16>, %arg1: memref<128x64xf16>)
// EQUAL: memref.reinterpret_cast %arg1
// EQUAL-NOT: memref.reinterpret_cast
// EQUAL: gpu.launch_func @right::@kernel {{.*}} args(%arg1 : memref<128x64xf16>, %{{.*}} : !llvm.ptr)
// EQUAL: memref.reinterpret_cast %arg0
// EQUAL: gpu.launch_func @left::@kernel {{.*}} args(%arg0 : memref<64x64xf16>, %{{.*}} : !llvm.ptr)
// EQUAL-LABEL: gpu.module @left
// EQUAL: gpu.func @kernel(%{{.*}}: memref<64x64xf16>, %{{.*}}: !llvm.ptr) kernel attributes {tile.chip = "sm_90a"} {
// EQUAL-LABEL: gpu.module @right
// EQUAL: gpu.func @kernel(%{{.*}}: memref<128x64xf16>, %{{.*}}: !llvm.ptr) kernel attributes {tile.chip = "sm_90a"} {
// EQUAL-LABEL: gpu.module @third
// EQUAL: gpu.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: memref<32x64xf16>) kernel attributes {tile.arguments

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<16x64xf16, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  func.func @main(%a: memref<64x64xf16>, %b: memref<128x64xf16>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @right::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<128x64xf16>)
    gpu.launch_func @left::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<64x64xf16>)
    return
  }
  gpu.module @left {
    memref.global "private" @tile : !tile
    gpu.func @kernel(%in: memref<64x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
  }
  gpu.module @right {
    memref.global "private" @tile : !tile
    gpu.func @kernel(%in: memref<128x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<128x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
  }
  gpu.module @third {
    memref.global "private" @tile : !tile
    gpu.func @kernel(%in: memref<32x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<32x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
  }
}

// A symbol is looked up in the module around the launch, and goes into the modules inside that.
//--- nested.mlir

// NESTED-LABEL: module @inner
// NESTED: gpu.launch_func @kernels::@kernel {{.*}} args(%arg0 : memref<128x64xf16>, %{{.*}} : !llvm.ptr)
// NESTED: gpu.func @kernel(%{{.*}}: memref<128x64xf16>, %{{.*}}: !llvm.ptr) kernel attributes {tile.chip = "sm_90a"} {
// NESTED: gpu.func @named_from_outside(%{{.*}}: memref<64x64xf16>, %{{.*}}: !llvm.ptr) kernel attributes {tile.chip = "sm_90a"} {
// NESTED-LABEL: func.func @outside
// NESTED: gpu.launch_func @inner::@kernels::@named_from_outside {{.*}} args(%arg0 : memref<64x64xf16>, %{{.*}} : !llvm.ptr)
// NESTED: gpu.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: memref<32x64xf16>) kernel attributes {tile.arguments

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<16x64xf16, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  module @inner attributes {gpu.container_module} {
    func.func @inside(%b: memref<128x64xf16>) {
      %c1 = arith.constant 1 : index
      gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%b : memref<128x64xf16>)
      return
    }
    gpu.module @kernels {
      memref.global "private" @tile : !tile
      gpu.func @kernel(%in: memref<128x64xf16>) kernel {
        %c0 = arith.constant 0 : index
        %bar = nvgpu.mbarrier.create -> !barrier
        %tile = memref.get_global @tile : !tile
        "tile.copy_async"(%in, %tile, %bar, %c0) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<128x64xf16>, !tile, !barrier, index) -> ()
        gpu.return
      }
      gpu.func @named_from_outside(%in: memref<64x64xf16>) kernel {
        %c0 = arith.constant 0 : index
        %bar = nvgpu.mbarrier.create -> !barrier
        %tile = memref.get_global @tile : !tile
        "tile.copy_async"(%in, %tile, %bar, %c0) {
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
          sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        } : (memref<64x64xf16>, !tile, !barrier, index) -> ()
        gpu.return
      }
    }
  }
  func.func @outside(%a: memref<64x64xf16>) {
    %c1 = arith.constant 1 : index
    scf.for %i = %c1 to %c1 step %c1 {
      gpu.launch_func @inner::@kernels::@named_from_outside blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%a : memref<64x64xf16>)
    }
    return
  }
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @kernel(%in: memref<32x64xf16>) kernel {
      %c0 = arith.constant 0 : index
      %bar = nvgpu.mbarrier.create -> !barrier
      %tile = memref.get_global @tile : !tile
      "tile.copy_async"(%in, %tile, %bar, %c0) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 16, 64>, swizzle = #tile.swizzle<"128B">, variant = "tma",
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
      } : (memref<32x64xf16>, !tile, !barrier, index) -> ()
      gpu.return
    }
  }
}

// A launch says the block size of its own kernel only.
//--- blocks.mlir

// BLOCKS: module @inner
// BLOCKS: gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>}
// BLOCKS: gpu.func @kernel() kernel {

module attributes {gpu.container_module} {
  module @inner attributes {gpu.container_module} {
    func.func @inside() {
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      return
    }
    gpu.module @kernels {
      gpu.func @kernel() kernel {
        gpu.return
      }
    }
  }
  gpu.module @kernels {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
}

// MLIR checks a launch only directly in a function. Those inside loops are checked here.
//--- invalid.mlir

module attributes {gpu.container_module} {
  func.func @no_kernel() {
    %c1 = arith.constant 1 : index
    scf.for %i = %c1 to %c1 step %c1 {
      // expected-error@+1 {{gpu.launch_func launches '@kernels::@nowhere', but the module around it defines no such kernel. Name a kernel as @gpu_module::@kernel}}
      gpu.launch_func @kernels::@nowhere blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      // expected-error@+1 {{gpu.launch_func launches '@nowhere::@kernel', but the module around it defines no such kernel}}
      gpu.launch_func @nowhere::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    }
    return
  }
  gpu.module @kernels {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  module @inner attributes {gpu.container_module} {
    func.func @outer_kernels_are_not_seen() {
      %c1 = arith.constant 1 : index
      scf.for %i = %c1 to %c1 step %c1 {
        // expected-error@+1 {{gpu.launch_func launches '@kernels::@kernel', but the module around it defines no such kernel}}
        gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      }
      return
    }
  }
  gpu.module @kernels {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @wrong_arguments(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    scf.for %i = %c1 to %c1 step %c1 {
      // expected-error@+1 {{gpu.launch_func passes () to '@kernels::@kernel', which takes (memref<4xf32>). Pass what the kernel takes}}
      gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      // expected-error@+1 {{gpu.launch_func passes (memref<8xf32>) to '@kernels::@kernel', which takes (memref<4xf32>)}}
      gpu.launch_func @kernels::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>)
      // expected-error@+1 {{gpu.launch_func launches '@kernels::@helper', which is a function and not a kernel. Mark it 'kernel'}}
      gpu.launch_func @kernels::@helper blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    }
    return
  }
  gpu.module @kernels {
    gpu.func @kernel(%in: memref<4xf32>) kernel {
      gpu.return
    }
    gpu.func @helper() {
      gpu.return
    }
  }
}

// -----

// A kernel that is compiled already needs nothing from this pass.
module attributes {gpu.container_module} {
  func.func @compiled() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @binary::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.binary @binary [#gpu.object<#nvvm.target, "binary">]
}
