// Parameters beside memrefs and numbers: passed by value as LLVM lays them out, given to tma-run on the command line.
//
// RUN: tma-opt %s --tile-to-cubin -o /dev/null
// RUN: tma-run %s --device sim --arg 0=iota@8xf32 --arg 1=1,2,3,4 --arg 2=5,0.5 --arg 3=1,-1 --arg 4=zeros --out 4=%t.npy \
// RUN:   --emit ptx --out-dir %t.d | FileCheck %s
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.d/kernel.ptx
// RUN: %python -c "import numpy; print(numpy.load('%t.npy').tolist())" | FileCheck %s --check-prefix=OUT
// RUN: not tma-run %s --device sim 2>&1 | FileCheck %s --check-prefix=POINTER
// RUN: not tma-run %s --device sim --arg 0=0 --arg 1=1,2,3 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not tma-run %s --device sim --arg 0=0 --arg 1=1,2,3,4 2>&1 | FileCheck %s --check-prefix=STRUCT

// CHECK: ran: @kernel on the simulator (sm_90a)
// CHECK: changed: argument 4 ({{[^)]*}})
// PTX: .param .u64 .ptr .align 1 kernel_param_0,
// PTX-NEXT: .param .align 16 .b8 kernel_param_1[16],
// PTX-NEXT: .param .align 4 .b8 kernel_param_2[8],
// PTX-NEXT: .param .align 4 .b8 kernel_param_3[8],
// (0, 1, 2, 3) of the pointer's memory + (1, 2, 3, 4) + 5 * 0.5 + (1 + -1)
// OUT: [3.5, 5.5, 7.5, 9.5]
// POINTER: error: argument 0 is a pointer: say what it points to, as in --arg 0=zeros@1024xf32, or --arg 0=FILE.npy
// VECTOR: error: --arg 1=1,2,3: argument 1 is vector<4xf32>, 4 numbers (f32, f32, f32, f32); write them in order, as in 1,2,3,4
// STRUCT: error: argument 2 is !llvm.struct<(i8, f32)>, 2 numbers (i8, f32): give them in order, as in --arg 2=1,2

gpu.module @m {
  gpu.func @kernel(%p: !llvm.ptr, %v: vector<4xf32>, %s: !llvm.struct<(i8, f32)>, %c: complex<f32>, %out: memref<4xf32>)
      kernel attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %read = llvm.load %p : !llvm.ptr -> vector<4xf32>
    %sum = arith.addf %read, %v : vector<4xf32>
    %a = llvm.extractvalue %s[0] : !llvm.struct<(i8, f32)>
    %b = llvm.extractvalue %s[1] : !llvm.struct<(i8, f32)>
    %f = arith.sitofp %a : i8 to f32
    %product = arith.mulf %f, %b : f32
    %re = complex.re %c : complex<f32>
    %im = complex.im %c : complex<f32>
    %parts = arith.addf %re, %im : f32
    %more = arith.addf %product, %parts : f32
    %all = vector.broadcast %more : f32 to vector<4xf32>
    %total = arith.addf %sum, %all : vector<4xf32>
    vector.store %total, %out[%c0] : memref<4xf32>, vector<4xf32>
    gpu.return
  }
}
