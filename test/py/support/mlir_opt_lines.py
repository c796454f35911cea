"""RUN lines as people write them for mlir-opt, and programs for them."""

from __future__ import annotations

PROGRAMS = {
    "adds": """
func.func @twice(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
func.func @unused(%a: i32) {
  %zero = arith.constant 0 : i32
  %0 = arith.addi %a, %zero : i32
  return
}
""",
    "named_module": """
// a comment with a byte: \xe9
module @outer attributes {test.kind = "x"} {
  func.func @f(%n: index) -> index {
    %one = arith.constant 1 : index
    %0 = arith.addi %n, %one : index
    %1 = arith.addi %n, %one : index
    %2 = arith.subi %0, %1 : index
    return %2 : index
  }
  func.func private @g()
}
""",
    "loops": """
#map = affine_map<(d0) -> (d0 * 2)>
func.func @copy(%from: memref<8xf32>, %to: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %from[%i] : memref<8xf32>
    affine.store %x, %to[%i] : memref<8xf32>
  }
  return
}
func.func @sum(%n: index, %x: f32) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f32) {
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  }
  return %r : f32
}
func.func @mapped(%i: index) -> index {
  %0 = affine.apply #map(%i)
  return %0 : index
}
""",
    "parts": """
func.func @first(%a: i32) -> i32 { return %a : i32 }

// -----

#map = affine_map<(d0) -> (d0)>
module @second { func.func private @f(memref<4xf32, #map>) }
// -----
func.func @third() {
  "test.unknown"() : () -> ()
  return
}
  // -----
func.func @fourth() { return } loc("other.mlir":7:8)
""",
    "expected": """
// expected-error@+1 {{custom op 'foo' is unknown}}
foo
// -----
func.func @f() -> i32 {
  // expected-error-re @below {{has {{[0-9]+}} operands}}
  return
}
// -----
// expected-note@+1 {{see existing symbol definition here}}
func.func private @twice()
func.func private @twice() // expected-error {{redefinition of symbol named 'twice'}}
""",
    "unmet": """
// expected-error@+1 {{this does not come}}
module {}
// expected-remark-re@above {{nor {{[a-z]+}} this}}
  // expected-warning@below {{nor that}}
""",
    "unexpected": """
module {
  bar
}
""",
    "no_terminator": """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
}
""",
    "twice_defined": """
func.func private @f()  func.func @g() {
  return
}
func.func private @f()
""",
    "type_error": """
func.func @f(%a: i32) -> f32 {
\t%0 = arith.addf %a, %a : f32
  return %0 : f32
}
""",
    "kernel": """
gpu.module @kernels {
  gpu.func @k(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %x[%i] : memref<64xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<64xf32>
    gpu.return
  }
}
""",
    "constants": """
module attributes {llvm.x = dense<[1, 2, 3, 4, 5, 6, 7]> : tensor<7xi64>,
                   llvm.y = dense_resource<blob> : tensor<2xi32>} {
  func.func @f() -> tensor<3xi32> {
    %0 = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000100000002000000"
    }
  }
#-}
""",
    "locations": """
func.func @f(%a: i32 loc("argument")) -> i32 {
  %0 = arith.addi %a, %a : i32 loc("sum"("x.c":1:2))
  %1 = arith.muli %0, %a : i32 loc(callsite("callee" at "x.c":3:4))
  return %1 : i32 loc(unknown)
} loc(fused["x.c":5:6, "y.c":7:8])
""",
    "unregistered": """
func.func @f() {
  %0 = "other.op"() {a = 1 : i32} : () -> !other.type
  "other.user"(%0) ({
    "other.inside"() : () -> ()
  }) : (!other.type) -> ()
  return
}
""",
    "one_function": "func.func @only(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %a : i32\n}\n",
    "two_functions": "func.func private @a()\nfunc.func private @b()\n",
    "marked": "func.func private @a()\n// CUT\nfunc.func private @b()\n// -----\nfunc.func private @c()\n",
    "nearly": "module @a {}\n// ---\nmodule @b {}\n// -----\nmodule @c {}\n",
    "empty": "",
    "garbage": "this is not MLIR\n",
    "calls": """
func.func private @callee(%a: i32) -> i32 {
  %c = arith.constant 3 : i32
  %0 = arith.muli %a, %c : i32
  return %0 : i32
}
func.func @caller(%a: i32) -> i32 {
  %0 = call @callee(%a) : (i32) -> i32
  return %0 : i32
}
func.func private @unreachable() { return }
""",
    "vectors": """
func.func @v(%m: memref<4x8xf32>, %i: index) -> vector<4x8xf32> {
  %pad = arith.constant 0.0 : f32
  %0 = vector.transfer_read %m[%i, %i], %pad : memref<4x8xf32>, vector<4x8xf32>
  return %0 : vector<4x8xf32>
}
""",
    "llvm": """
llvm.func @f(%a: i64) -> i64 {
  %0 = llvm.add %a, %a : i64
  llvm.return %0 : i64
}
""",
    "new_dialect": """
module {
  "mine.op"() : () -> ()
}
""",
    "wrong_dialect": """
module {
  "mine.other"() : () -> ()
}
""",
    "reproducer": """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  return %a : i32
}
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(cse))",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
""",
}
"""By name; a line ``NAME.mlir`` reads one."""

IRDL = "irdl.dialect @mine { irdl.operation @op {} }\n"
"""The file ``mine.irdl``."""

RUN_LINES = """
adds.mlir
adds.mlir --cse
-cse adds.mlir
adds.mlir --cse=
adds.mlir -o -
adds.mlir -o out.mlir
adds.mlir -o=out.mlir
adds.mlir -mlir-print-op-generic
adds.mlir --mlir-print-op-generic=true
adds.mlir --mlir-print-op-generic=false
adds.mlir --mlir-print-debuginfo
adds.mlir --mlir-print-debuginfo --mlir-print-local-scope
adds.mlir --mlir-pretty-debuginfo --mlir-print-debuginfo
adds.mlir --mlir-print-skip-regions
adds.mlir -pass-pipeline=builtin.module(func.func(cse))
adds.mlir --pass-pipeline builtin.module(cse,canonicalize)
adds.mlir -p builtin.module(cse)
adds.mlir -p=builtin.module(canonicalize{max-iterations=3})
adds.mlir --pass-pipeline=builtin.module()
adds.mlir --pass-pipeline=any(cse)
adds.mlir -pass-pipeline=builtin.module(any(cse))
adds.mlir -verify-each=0 -cse
--cse -- adds.mlir
adds.mlir --color
adds.mlir --verify-roundtrip
adds.mlir --cse --dump-pass-pipeline
adds.mlir --dump-pass-pipeline
adds.mlir --pass-pipeline=builtin.module(func.func(cse,canonicalize),cse) --dump-pass-pipeline
adds.mlir --cse --mlir-print-ir-before-all
adds.mlir --cse --mlir-print-ir-after-all
adds.mlir --cse --canonicalize --mlir-print-ir-after=canonicalize
adds.mlir --cse --canonicalize --mlir-print-ir-before=cse,canonicalize
adds.mlir --cse --canonicalize --mlir-print-ir-before=cse --mlir-print-ir-after=canonicalize
adds.mlir --cse --cse --mlir-print-ir-after-all --mlir-print-ir-after-change
adds.mlir -mlir-disable-threading -p builtin.module(func.func(cse)) --mlir-print-ir-after-all
adds.mlir -mlir-disable-threading -p any(any(cse)) --mlir-print-ir-after-all --mlir-print-ir-module-scope
adds.mlir -mlir-disable-threading -p builtin.module(func.func(cse)) --mlir-print-ir-before-all --mlir-print-op-generic
adds.mlir -mlir-disable-threading -p any(any(cse)) --mlir-print-ir-after-all --mlir-print-ir-tree-dir=tree
adds.mlir --cse --mlir-print-ir-after-all --mlir-print-debuginfo
adds.mlir -cse -mlir-pass-statistics
adds.mlir -cse -mlir-pass-statistics -mlir-pass-statistics-display=list
adds.mlir -cse -canonicalize -mlir-pass-statistics -mlir-pass-statistics-display=pipeline
adds.mlir --emit-bytecode --emit-bytecode-version=3 -o out.bc
adds.mlir --cse --mlir-generate-reproducer=repro.mlir -o out.mlir
- < adds.mlir
-cse < adds.mlir
--mlir-print-debuginfo < adds.mlir
named_module.mlir -symbol-dce
named_module.mlir -mlir-print-ir-module-scope -mlir-disable-threading -mlir-print-ir-after-all -p any(any(cse))
named_module.mlir --no-implicit-module -cse
loops.mlir -lower-affine
loops.mlir -pass-pipeline=builtin.module(func.func(affine-loop-unroll{unroll-factor=2}))
loops.mlir -mlir-print-local-scope
loops.mlir --convert-scf-to-cf --convert-to-llvm
loops.mlir --loop-invariant-code-motion --mlir-print-op-generic
parts.mlir -split-input-file -allow-unregistered-dialect
parts.mlir --split-input-file --allow-unregistered-dialect --mlir-print-debuginfo
parts.mlir --split-input-file --allow-unregistered-dialect -cse --output-split-marker=//CUT
parts.mlir --split-input-file= --allow-unregistered-dialect
-split-input-file --mlir-print-debuginfo < parts.mlir
parts.mlir -split-input-file -o out.mlir
marked.mlir --split-input-file=//CUT
marked.mlir --split-input-file --output-split-marker=
nearly.mlir -split-input-file
expected.mlir -verify-diagnostics -split-input-file
expected.mlir -verify-diagnostics
-verify-diagnostics expected.mlir -split-input-file
-split-input-file -verify-diagnostics < expected.mlir
unmet.mlir -verify-diagnostics
unmet.mlir -verify-diagnostics=only-expected
unexpected.mlir
unexpected.mlir -verify-diagnostics
unexpected.mlir -verify-diagnostics=only-expected
no_terminator.mlir
twice_defined.mlir
twice_defined.mlir --mlir-print-op-on-diagnostic=false
type_error.mlir
type_error.mlir -verify-diagnostics
kernel.mlir -pass-pipeline=builtin.module(gpu.module(convert-gpu-to-nvvm{index-bitwidth=32}))
kernel.mlir --nvvm-attach-target=chip=sm_90
kernel.mlir --nvvm-attach-target=chip=sm_1
kernel.mlir --nvvm-attach-target=chip=sm_1 -verify-diagnostics
kernel.mlir -canonicalize -cse -mlir-print-local-scope
constants.mlir --mlir-elide-elementsattrs-if-larger=4
constants.mlir --mlir-elide-resource-strings-if-larger=3
constants.mlir --mlir-elide-elementsattrs-if-larger 4 -mlir-elide-resource-strings-if-larger 3
locations.mlir -mlir-print-debuginfo
locations.mlir -mlir-print-debuginfo -mlir-print-local-scope
locations.mlir --mlir-use-nameloc-as-prefix
locations.mlir --mlir-print-debuginfo --strip-debuginfo
locations.mlir -mlir-pretty-debuginfo -mlir-print-debuginfo
unregistered.mlir
unregistered.mlir -allow-unregistered-dialect
unregistered.mlir -allow-unregistered-dialect -canonicalize --mlir-print-op-generic
unregistered.mlir -allow-unregistered-dialect=false
one_function.mlir --no-implicit-module
one_function.mlir --no-implicit-module --cse
one_function.mlir --no-implicit-module -p func.func(cse)
one_function.mlir --no-implicit-module --mlir-print-debuginfo
one_function.mlir -no-implicit-module -cse -mlir-print-ir-after-all
empty.mlir
empty.mlir -split-input-file
garbage.mlir
garbage.mlir -verify-diagnostics
calls.mlir -inline -symbol-dce
calls.mlir -inline=default-pipeline=cse
calls.mlir --sccp --canonicalize
calls.mlir -symbol-privatize=exclude=caller
calls.mlir --view-op-graph
calls.mlir --print-op-stats
vectors.mlir -convert-vector-to-scf -canonicalize
vectors.mlir -convert-vector-to-scf=full-unroll=true
llvm.mlir --ensure-debug-info-scope-on-llvm-func --mlir-print-debuginfo
--ensure-debug-info-scope-on-llvm-func --mlir-print-debuginfo < llvm.mlir
new_dialect.mlir --irdl-file=mine.irdl
new_dialect.mlir --irdl-file=mine.irdl -cse -split-input-file
wrong_dialect.mlir --irdl-file=mine.irdl
reproducer.mlir -run-reproducer
reproducer.mlir --run-reproducer --dump-pass-pipeline
""".strip().splitlines()
"""What is the same from both tools: output, messages, files and whether it succeeds."""

REFUSED = """
loops.mlir -affine-loop-unroll
two_functions.mlir --no-implicit-module
adds.mlir --cse --pass-pipeline=builtin.module(cse)
adds.mlir --frobnicate --pass-pipeline=builtin.module(cse)
adds.mlir --pass-pipeline=builtin.module(cse
adds.mlir --pass-pipeline=cse
adds.mlir --pass-pipeline=func.func(cse)
adds.mlir --cse=true
adds.mlir --cse=a=1
adds.mlir --canonicalize=max-iterations=x
adds.mlir kernel.mlir
adds.mlir --verify-each kernel.mlir
adds.mlir --mlir-print-ir-after=frobnicate
adds.mlir --mlir-timing-display=x
adds.mlir --emit-bytecode --emit-bytecode-version=99
adds.mlir -o
adds.mlir -o no/such/folder/out.mlir
adds.mlir --pass-pipeline
missing.mlir
one_function.mlir --no-implicit-module -p builtin.module(cse)
adds.mlir --irdl-file=missing.irdl
""".strip().splitlines()
"""What both refuse, each in its own words."""
