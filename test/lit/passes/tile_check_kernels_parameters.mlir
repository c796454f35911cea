// Parameters that PTX cannot take, and those next to them that it can. LLVM 22 aborts on i65, f80 and empty structs.
//
// RUN: tma-opt %s --split-input-file --verify-diagnostics --tile-check-kernels

gpu.module @passed {
  gpu.func @kernel(
      %pointer: !llvm.ptr, %global: !llvm.ptr<1>, %bool: i1, %wide: i128, %wider: i256, %signed: si32, %number: ui8,
      %index: index, %float: f64, %fp8: f8E4M3FN, %vector: vector<4xf32>, %matrix: vector<2x3xbf16>,
      %pointers: vector<2x!llvm.ptr>, %complex: complex<f32>, %array: !llvm.array<3 x i16>,
      %struct: !llvm.struct<(i8, struct<packed (f32, ptr)>, array<0 x i32>)>, %named: !llvm.struct<"pair", (i32, i32)>,
      %m0: memref<4xindex>, %m1: memref<?xcomplex<f32>>, %m2: memref<4xvector<3xf32>>, %m3: memref<4xsi32>,
      %m4: memref<4xi128>, %m5: memref<4xf32, #gpu.address_space<global>>, %m6: memref<4xf32, 1>) kernel {
    gpu.return
  }
}

// -----

gpu.module @integers {
  gpu.func @kernel(
      // expected-error@+1 {{kernel parameter 0 is i24; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. Use i32 and truncate it in the kernel}}
      %a: i24,
      // expected-error@+1 {{kernel parameter 1 is i65; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. Use i128}}
      %b: i65,
      // expected-error@+1 {{kernel parameter 2 is i4; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. Use i8}}
      %c: i4,
      // expected-error@+1 {{kernel parameter 3 is i512; needed: a memref, a pointer, a number, or a vector, complex number, array or struct of numbers. Use an array of i64}}
      %d: i512) kernel {
    gpu.return
  }
}

// -----

gpu.module @floats {
  gpu.func @kernel(
      // expected-error@+1 {{kernel parameter 0 is f80; needed: a memref, a pointer, a number, or a vector, complex number, array or struct of numbers. Use f64}}
      %a: f80,
      // expected-error@+1 {{kernel parameter 1 is tf32; needed: a type that values have. Use f32}}
      %b: tf32,
      // expected-error@+1 {{kernel parameter 2 is f4E2M1FN; needed: a memref, a pointer, a number}}
      %c: f4E2M1FN) kernel {
    gpu.return
  }
}

// -----

gpu.module @aggregates {
  gpu.func @kernel(
      // expected-error@+1 {{kernel parameter 0 is vector<8xi1>, which has a vector of i1; needed: elements of whole bytes. Use i8 in it}}
      %a: vector<8xi1>,
      // expected-error@+1 {{kernel parameter 1 is vector<[4]xf32>; needed: a memref, a pointer, a number, or a vector, complex number, array or struct of numbers. Use a vector of fixed size}}
      %b: vector<[4]xf32>,
      // expected-error@+1 {{kernel parameter 2 is !llvm.struct<(i8, struct<(i24)>)>, which has i24; needed: an integer of}}
      %c: !llvm.struct<(i8, struct<(i24)>)>,
      // expected-error@+1 {{kernel parameter 3 is !llvm.struct<()>; needed: at least one byte. Drop the parameter}}
      %d: !llvm.struct<()>,
      // expected-error@+1 {{kernel parameter 4 is !llvm.struct<"hidden", opaque>; needed: a memref, a pointer, a number, or a vector, complex number, array or struct of numbers. Use !llvm.ptr to it}}
      %e: !llvm.struct<"hidden", opaque>,
      // expected-error@+1 {{kernel parameter 5 is tuple<i32>; needed: a memref, a pointer, a number, or a vector, complex number, array or struct of numbers. Use what it is made of}}
      %f: tuple<i32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @bytes {
  gpu.func @kernel(
      %a: !llvm.array<8191 x f32>,
      // expected-error@+1 {{kernel parameter 1 is i8, which has the byte 32765 of all passed by value; needed: at most 32764 B together. Pass a memref that holds it}}
      %b: i8) kernel {
    gpu.return
  }
}

// -----

gpu.module @pointers {
  gpu.func @kernel(
      // expected-error@+1 {{kernel parameter 0 is !llvm.ptr<3>, which has a pointer to address space 3; needed: one that the host has: address space 0 or 1 (global memory). Use !llvm.ptr or !llvm.ptr<1>}}
      %a: !llvm.ptr<3>,
      // expected-error@+1 {{kernel parameter 1 is memref<4xf32, 3>, which has memory that the host has not; needed: address space 0 or 1 (global memory). Use a workgroup attribution}}
      %b: memref<4xf32, 3>,
      // expected-error@+1 {{kernel parameter 2 is memref<*xf32>; needed: a rank. Cast it to a ranked memref before the launch}}
      %c: memref<*xf32>,
      // expected-error@+1 {{; needed: a strided layout. Write a layout that has strides as strided<[...], offset: N>}}
      %d: memref<16xf32, affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @elements {
  gpu.func @kernel(
      // expected-error@+1 {{kernel parameter 0 is memref<4xi2>, which has i2; needed: an integer of 1, 8, 16, 32, 64, 128 or 256 bits. Use i8}}
      %a: memref<4xi2>,
      // expected-error@+1 {{kernel parameter 1 is memref<4xf80>, which has f80; needed: elements that are numbers, or vectors or complex numbers of them. Use f64}}
      %b: memref<4xf80>,
      // expected-error@+1 {{kernel parameter 2 is memref<4xmemref<4xf32>>, which has memref<4xf32>; needed: elements that are numbers, or vectors or complex numbers of them. Use one memref of all the elements}}
      %c: memref<4xmemref<4xf32>>) kernel {
    gpu.return
  }
}
