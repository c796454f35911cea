"""Inputs that MLIR 22 or LLVM 22 does not survive, each with the one error it has to give: place and words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fatal:
    """``says`` is the whole error: ``line:column: message``."""

    text: str
    says: str
    chip: str = "sm_90a"


def kernel(body: str, arguments: str = "", attributes: str = "", module: str = "") -> str:
    """A kernel on line 3; its body begins on line 4."""
    head = f"gpu.module @m {{\n{module}\n  gpu.func @k({arguments}) kernel {attributes} "
    return f"{head}{{\n{body}\n    gpu.return\n  }}\n}}\n"


def function(body: str, arguments: str = "%p: !llvm.ptr", module: str = "") -> str:
    """A function of the LLVM dialect in the place of a kernel, likewise."""
    return (
        f"gpu.module @m {{\n{module}\n  llvm.func @k({arguments}) attributes {{gpu.kernel, nvvm.kernel}} {{\n{body}\n"
        "    llvm.return\n  }\n}\n"
    )


def sized(attribute: str) -> str:
    return kernel("", attributes=f"attributes {{{attribute}}}")


def launch(sizes: str) -> str:
    return (
        "module attributes {gpu.container_module} {\n  gpu.module @m { gpu.func @k() kernel { gpu.return } }\n"
        "  func.func @h() {\n    %c1 = arith.constant 1 : index\n    %c0 = arith.constant 0 : index\n"
        f"    %big = arith.constant 2147483648 : index\n    gpu.launch_func @m::@k {sizes}\n    return\n  }}\n}}\n"
    )


BLOCK = "needed: 1 to 1024 x 1024 x 64, 1024 in all. Launch a block of another size"
GRID = "needed: 1 to 2147483647 x 65535 x 65535. Launch a grid of another size"
CLUSTER = "needed: 1 to 16 x 16 x 16, 16 in all. Launch a cluster of another size"
POWER = "needed: a power of two, at most 2^32 bytes"
STATIC = "needed: sizes, strides and offset that are known when it is compiled. Write numbers for '?'"
BITS = "MLIR takes bits, and a memref has a byte for each i1. Use memref.load and memref.store, or a memref of i8"
WORKGROUP = "#gpu.address_space<workgroup>"
SUM = "!nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>"
DEEP = "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * 10000 + "}" * 10000 + " return }"

FATAL = {
    "nesting": Fatal(DEEP, "501:11: brackets are nested more than 500 deep. Nest less, or outline parts"),
    "array of index": Fatal(
        "module attributes {a = array<index: 1>} {}",
        "1:24: elements of an array<...> are integers or floats, not index. Write array<i64: ...>",
    ),
    "mma shape": Fatal(
        kernel(
            "    %0 = nvgpu.mma.sync (%a, %b, %b) {mmaShape = [8, 4]} : (vector<2x1xf32>, vector<1x1xf32>, "
            "vector<1x1xf32>) -> vector<1x1xf32>",
            "%a: vector<2x1xf32>, %b: vector<1x1xf32>",
        ),
        "4:10: mmaShape has 2 numbers; needed: 3, rows, columns and depth of the product. Write mmaShape = [m, n, k]",
    ),
    "mma.store into rank 0": Fatal(
        f"!sum = {SUM}\n!out = memref<f32>\nfunc.func @f(%s: !sum, %a: !out) {{\n"
        "  nvgpu.warpgroup.mma.store %s, %a : !sum to !out\n  return\n}",
        "4:3: 'nvgpu.warpgroup.mma.store' op stores into a memref of rank 0 or 1; needed: rank 2, the rows and columns "
        "of the accumulator",
    ),
    "generic mma.store into rank 1": Fatal(
        f'func.func @f(%s: {SUM}, %a: memref<8xf32>) {{\n  "nvgpu.warpgroup.mma.store"(%s, %a) : ({SUM}, memref<8xf32>)'
        " -> ()\n  return\n}",
        "2:3: 'nvgpu.warpgroup.mma.store' op stores into a memref of rank 0 or 1; needed: rank 2, the rows and columns "
        "of the accumulator",
    ),
    "accumulator of rank 1": Fatal(
        "func.func @f() {\n  %z = nvgpu.warpgroup.mma.init.accumulator -> "
        "!nvgpu.warpgroup.accumulator<fragmented = vector<64xf32>>\n  return\n}",
        "2:77: an accumulator of rank 1; needed: rank 2, rows and columns. Write fragmented = vector<64xNxf32>",
    ),
    "descriptor of rank 0": Fatal(
        f"func.func private @f(!nvgpu.tensormap.descriptor<tensor = memref<f16, {WORKGROUP}>, swizzle = none, "
        "l2promo = none, oob = zero, interleave = none>)",
        "1:29: a descriptor of a tensor of rank 0; needed: rank 1 to 5. Give it a dimension of 1",
    ),
    "addr_space without a value": Fatal(
        "llvm.mlir.global private @t() {addr_space} : !llvm.array<16 x i32>\n"
        "llvm.func @k() { %0 = llvm.mlir.addressof @t : !llvm.ptr<3> llvm.return }",
        "1:32: addr_space of 'llvm.mlir.global' is an integer. Write addr_space = 3 : i32",
    ),
    "size over 64 bits": Fatal(
        kernel("", "%o: memref<4294967296x4294967296xi32>"),
        "3:26: a type of 18446744073709551616 elements; it has to fit 63 bits. Use a smaller shape",
    ),
    "elements over 64 bits": Fatal(
        "module attributes {b = dense<1> : tensor<9223372036854775807x4xi8>} {}",
        "1:42: a type of 36893488147419103228 elements; it has to fit 63 bits. Use a smaller shape",
    ),
    "block -1": Fatal(
        sized("known_block_size = array<i32: -1, 1, 1>"),
        f"3:3: 'gpu.func' op has known_block_size = -1 x 1 x 1; {BLOCK}",
    ),
    "block of 2048": Fatal(
        sized("known_block_size = array<i32: 2048, 1, 1>"),
        f"3:3: 'gpu.func' op has known_block_size = 2048 x 1 x 1; {BLOCK}",
    ),
    "block of 64 x 64": Fatal(
        sized("nvvm.reqntid = array<i32: 64, 64>"), f"3:3: 'gpu.func' op has nvvm.reqntid = 64 x 64; {BLOCK}"
    ),
    "block 0": Fatal(sized("nvvm.maxntid = array<i32: 0>"), f"3:3: 'gpu.func' op has nvvm.maxntid = 0; {BLOCK}"),
    "grid -64": Fatal(
        sized("known_grid_size = array<i32: -64, 1, 1>"),
        f"3:3: 'gpu.func' op has known_grid_size = -64 x 1 x 1; {GRID}",
    ),
    "cluster 0": Fatal(
        sized("known_cluster_size = array<i32: 0, 1, 1>"),
        f"3:3: 'gpu.func' op has known_cluster_size = 0 x 1 x 1; {CLUSTER}",
    ),
    "cluster of 32": Fatal(
        sized("nvvm.cluster_dim = array<i32: 8, 4, 1>"),
        f"3:3: 'gpu.func' op has nvvm.cluster_dim = 8 x 4 x 1; {CLUSTER}",
    ),
    "registers": Fatal(
        sized("nvvm.maxnreg = 100000 : i32"),
        "3:3: 'gpu.func' op has nvvm.maxnreg = 100000; needed: 1 to 255. Correct it, or leave it away",
    ),
    "launch of 2^31 blocks": Fatal(
        launch("blocks in (%big, %c1, %c1) threads in (%c1, %c1, %c1)"),
        f"7:5: 'gpu.launch_func' op has a grid of 2147483648 x 1 x 1; {GRID}",
    ),
    "launch of no threads": Fatal(
        launch("blocks in (%c1, %c1, %c1) threads in (%c1, %c0, %c1)"),
        f"7:5: 'gpu.launch_func' op has a block of 1 x 0 x 1; {BLOCK}",
    ),
    "launch of a cluster of 2^31": Fatal(
        launch("clusters in (%c1, %big, %c1) blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)"),
        f"7:5: 'gpu.launch_func' op has a cluster of 1 x 2147483648 x 1; {CLUSTER}",
    ),
    "workgroup memory of unknown stride": Fatal(
        "gpu.module @m {\n\n"
        f"  gpu.func @k() workgroup(%a: memref<4x4xf16, strided<[?, 1]>, {WORKGROUP}>) kernel {{ gpu.return }}\n}}",
        f"3:3: 'gpu.func' op reserves memory of type memref<4x4xf16, strided<[?, 1]>, {WORKGROUP}>; {STATIC}",
    ),
    "private memory of unknown size": Fatal(
        "gpu.module @m {\n\n"
        "  gpu.func @k() private(%a: memref<?xf16, #gpu.address_space<private>>) kernel { gpu.return }\n}",
        f"3:3: 'gpu.func' op reserves memory of type memref<?xf16, #gpu.address_space<private>>; {STATIC}",
    ),
    "atomic on i1": Fatal(
        kernel(
            "    %v = memref.atomic_rmw ori %t, %a[%i] : (i1, memref<8xi1>) -> i1",
            "%a: memref<8xi1>, %i: index, %t: i1",
        ),
        f"4:10: 'memref.atomic_rmw' op accesses memref<8xi1>; {BITS}",
    ),
    "huge vector": Fatal(
        kernel("    %w = arith.constant dense<1.0> : vector<65536xf32>"),
        "4:10: 'arith.constant' op has type vector<65536xf32>: 65536 elements in a row; at most 4096 are compiled in "
        "reasonable time. Loop over parts",
    ),
    "f80": Fatal(
        function("", "%p: !llvm.array<2 x f80>"),
        "3:3: 'llvm.func' op takes or returns f80; NVIDIA GPUs have none. Use f64",
    ),
    "i128 to float": Fatal(
        kernel("    %w = arith.sitofp %v : i128 to f32", "%v: i128"),
        "4:10: 'arith.sitofp' op converts i128; NVIDIA GPUs convert at most 64 bits. Convert parts",
    ),
    "alignment of a load": Fatal(
        function("    %1 = llvm.load %p {alignment = 3 : i64} : !llvm.ptr -> i32"),
        f"4:10: 'llvm.load' op has alignment = 3; {POWER}",
    ),
    "alignment of a global": Fatal(
        function("", module="llvm.mlir.global internal @g() {alignment = 8589934592 : i64} : i32"),
        f"2:1: 'llvm.mlir.global' op has alignment = 8589934592; {POWER}",
    ),
    "alignment of an argument": Fatal(
        function("", "%p: !llvm.ptr {llvm.align = 3 : i64}"),
        f"3:3: 'llvm.func' op has llvm.align of argument 0 = 3; {POWER}",
    ),
    "constant index of 2^28": Fatal(
        function("    %0 = llvm.getelementptr %p[268435456] : (!llvm.ptr) -> !llvm.ptr, i8"),
        "4:10: 'llvm.getelementptr' op has the constant index 268435456; MLIR keeps those below 2^28. Pass it as a "
        "value: llvm.mlir.constant(... : i64)",
    ),
    "operand of inline asm": Fatal(
        function('    llvm.inline_asm has_side_effects "foo $9;", "r" %p : (!llvm.ptr) -> ()'),
        "4:5: 'llvm.inline_asm' op names operand $9, and its constraints 'r' have 1. Add a constraint, or write "
        "$$ for a dollar sign",
    ),
    "constraint of inline asm": Fatal(
        function('    llvm.inline_asm has_side_effects "foo;", "z" %p : (!llvm.ptr) -> ()'),
        "4:5: 'llvm.inline_asm' op has the constraint 'z', which NVPTX does not have; needed: one of b, h, r, l, q, f, "
        "d, n or the number of an operand",
    ),
    "zero byte in a name": Fatal(
        sized("").replace("@k", '@"a\\00b"'),
        "3:3: 'gpu.func' op has a name with a zero byte; LLVM's names have none. Rename it",
    ),
    "space in a name": Fatal(
        sized("").replace("@k", '@"a b"'),
        "3:3: 'gpu.func' op has the name 'a b'; PTX names are made of letters, digits, '_', '$' and '.', not ' '. "
        "Rename it",
    ),
    "hyphen in the name of a global": Fatal(
        kernel("", module='llvm.mlir.global external @"x-1"() {addr_space = 1 : i32} : i32'),
        "2:1: 'llvm.mlir.global' op has the name 'x-1'; PTX names are made of letters, digits, '_', '$' and '.', not "
        "'-'. Rename it",
    ),
    "scalable vector": Fatal(
        kernel("%v = arith.constant dense<0.0> : vector<[4]xf32>"),
        "4:6: 'arith.constant' op has type vector<[4]xf32>: [4] scalable elements; NVIDIA GPUs have vectors of fixed "
        "size. Take the brackets away",
    ),
    "name of 100,000 bytes": Fatal(
        sized("").replace("@k", "@" + "k" * 100000),
        "3:3: 'gpu.func' op has a name of 100000 bytes; assemblers take at most 4096. Shorten it",
    ),
    "feature of a target": Fatal(
        sized("").replace("@m", '@m [#nvvm.target<features = "ptx86">]'),
        "1:1: 'gpu.module' op has a target with the feature 'ptx86'; features begin with + or -. Write +ptx86",
    ),
    "setmaxregister": Fatal(
        kernel(
            "    nvvm.setmaxregister increase 40", attributes="attributes {known_block_size = array<i32: 32, 1, 1>}"
        ),
        "4:5: 'nvvm.setmaxregister' op needs setmaxnreg, which sm_90 lacks. Target one of sm_90a, sm_100a, sm_100f, "
        "sm_103a, sm_103f, sm_110a, sm_110f, sm_120a, sm_120f, sm_121a, sm_121f",
        chip="sm_90",
    ),
    "redux of f32": Fatal(
        kernel("    %w = nvvm.redux.sync fmin %v, %m : f32 -> f32", "%v: f32, %m: i32"),
        "4:10: 'nvvm.redux.sync' op needs redux.sync of f32, which sm_90a lacks. Target one of sm_100a, sm_100f, "
        "sm_103a, sm_103f",
    ),
}  # fmt: skip

FATAL |= {
    "size with a dimension of nothing": Fatal(
        kernel("", "%o: memref<4611686018427387904x0x64xi32>"),
        "3:26: a type of 295147905179352825856 elements; it has to fit 63 bits. Use a smaller shape",
    ),
    "position of extractvalue": Fatal(
        function("    %0 = llvm.extractvalue %s[4611686018427387904] : !llvm.struct<(i8)>", "%s: !llvm.struct<(i8)>"),
        "4:10: a position in llvm.extractvalue that no aggregate has. Correct it",
    ),
}
