"""Whatever tma-opt is given, it exits with 0 or 1 and says why: no traceback, no abort."""

from __future__ import annotations

import re

import pytest

FUNCTION = "func.func @f() { return }\n"
LOOP = "func.func @f(%a: index) { scf.for %i = %a to %a step %a { } return }"
RETURN = 'func.func @f() -> i1 { "func.return"() : () -> ()'
KERNEL = "gpu.module @m { gpu.func @k() kernel { gpu.return } }"
COPY = '"tile.copy_async"'
DESCRIPTOR = "!nvgpu.tensormap.descriptor<tensor = memref<?xf16>, swizzle=none,l2promo=none,oob=zero,interleave=none>"

# (name, input, part of the message)
BAD_TEXT = [
    ("garbage", "garbage", "custom op 'garbage' is unknown"),
    ("unclosed module", "module {", "expected operation name in quotes"),
    ("stray brace", "module {}\n}", "expected operation name in quotes"),
    ("not UTF-8", b"module {\n \xff}", "<stdin>:2:2: error: byte 0xff is not UTF-8"),
    ("UTF-16", "module {}".encode("utf-16"), "this is UTF-16; MLIR reads UTF-8"),
    ("letter outside ASCII", 'module @"é" { é }', "<stdin>:1:16: error: unexpected character"),
    ("CRLF", "module {\r\n foo\r\n}", "<stdin>:2:2: error"),
    ("undefined value", "func.func @f() -> index { return %1 : index }", "undeclared SSA value"),
    ("undefined block", "func.func @f() { cf.br ^bb1 }", "undefined block"),
    ("dominance", "func.func @f() -> i1 { return %1 : i1 ^b: %1 = arith.constant 0 : i1 return %1 : i1 }", "dominate"),
    ("redefined symbol", FUNCTION + FUNCTION, "redefinition of symbol named 'f'"),
    ("symbol not UTF-8", r'func.func private @"\FF"() func.func private @"\FF"()', "not UTF-8"),
    ("unregistered dialect", '"foo.bar"() : () -> ()', "unregistered dialect"),
    ("unregistered operation", '"func.bar"() : () -> ()', "unregistered operation 'func.bar'"),
    ("negative extent", "func.func private @f(memref<-1xf16>)", "error"),
    ("overflowing extent", "func.func private @f(memref<99999999999999999999xf16>)", "error"),
    ("wide integer", "module attributes {llvm.a = 1 : i99999999} {}", "integer bitwidth is limited"),
    ("bad hex data", 'module attributes {llvm.a = dense<"0x123"> : tensor<99999999xf32>} {}', "error"),
    ("bad resource", 'module {} {-# dialect_resources: { builtin: { a: "0x" } } #-}', "error"),
    ("error far away", RETURN + ' loc("-":99999:1) }', "<stdin>:99999:1: error"),
    ("error at column 0", RETURN + ' loc("-":1:0) }', "<stdin>:1:0: error"),
    ("error at unknown", RETURN + " loc(unknown) }", "<stdin>: error: 'func.return' op has 0 operands"),
    ("error in another file", RETURN + ' loc(callsite("a" at "b.mlir":3:4)) }', "b.mlir:3:4: error"),
    ("deep regions", "module{" * 20000, "nested more than 500 deep"),
    ("deep closed regions", "module{" * 8000 + "}" * 8000, "nested more than 500 deep"),
    ("deep attribute", "module attributes {a=" + "[" * 50000 + "]" * 50000 + "} {}", "nested more than 500 deep"),
    ("deep type", "func.func private @f(" + "tuple<" * 30000 + "i1" + ">" * 30000 + ")", "nested more than 500 deep"),
    ("array of index", 'module attributes {l.a = "array<index: 1>", l.b = array<index: 1>} {}', ":1:51: error: el"),
    ("bytecode cut short", b"ML\xefR", "end of the bytecode"),
    ("bytecode garbage", b"ML\xefR" + bytes(range(256)), "bytecode version"),
    ("custom syntax", "\n  tile.copy_async %a", "<stdin>:2:3: error: tile.copy_async has no custom syntax"),
    ("custom syntax of no op", "tile.bogus", "custom op 'tile.bogus' is unknown"),
    ("no such tile op", '"tile.nope"() : () -> ()', "unregistered operation 'tile.nope'"),
    ("no such attribute", "module attributes {tile.a = #tile.nope<1>} {}", "error"),
    ("no such type", "func.func private @f(!tile.nope)", "error"),
    ("layout without parameters", "module attributes {tile.a = #tile.layout} {}", "error"),
    ("layout with none", "module attributes {tile.a = #tile.layout<>} {}", "error"),
    ("layout of a string", 'module attributes {tile.a = #tile.layout<"a", [1]>} {}', "error"),
    ("unknown swizzle", 'module attributes {tile.a = #tile.swizzle<"256B">} {}', '"256B"'),
    ("properties", f"{COPY}() <{{a = 1}}> : () -> ()", "error"),
    ("no segments", f"{COPY}() : () -> ()", "'operandSegmentSizes' attribute is expected"),
    ("short segments", f"{COPY}() {{operandSegmentSizes = array<i32: 1>}} : () -> ()", "error"),
    ("negative segments", f"{COPY}() {{operandSegmentSizes = array<i32: -1, 1>}} : () -> ()", "error"),
    ("segments of i64", f"{COPY}() {{operandSegmentSizes = array<i64: 1>}} : () -> ()", "error"),
    ("segments of text", f'{COPY}() {{operandSegmentSizes = "x"}} : () -> ()', "error"),
    ("no operands", f"{COPY}() {{operandSegmentSizes = array<i32: 0,0,0,0,0,0,0,0,0>}} : () -> ()", "error"),
    ("region", f"{COPY}() ({{}}) {{operandSegmentSizes = array<i32: 0>}} : () -> ()", "error"),
    ("successor", f"func.func @f() {{ {COPY}()[^b] : () -> () ^b: return }}", "error"),
    ("result", f"%0 = {COPY}() : () -> i1", "error"),
]

# (name, arguments, input, part of the message)
BAD_USE = [
    ("two files", ["a", "b"], "", "unexpected: b"),
    ("unknown flag", ["--frobnicate"], FUNCTION, "unknown flag or pass '--frobnicate'"),
    ("misspelt pass", ["--canonicalise"], FUNCTION, "did you mean 'canonicalize'?"),
    ("misspelt flag", ["--split-inputfile"], FUNCTION, "did you mean 'split-input-file'?"),
    ("only dashes", ["---"], FUNCTION, "unknown flag"),
    ("nameless flag", ["--=x"], FUNCTION, "unknown flag"),
    ("pipeline and flag", ["--pass-pipeline=builtin.module()", "--cse"], FUNCTION, "cannot be combined"),
    ("verify-each", ["--verify-each=maybe"], FUNCTION, "takes true or false"),
    ("verify-diagnostics", ["--verify-diagnostics=maybe"], FUNCTION, "is one of all, only-expected; not 'maybe'"),
    ("print after nothing", ["--mlir-print-ir-after=frobnicate"], FUNCTION, "there is no pass 'frobnicate'"),
    ("empty pipeline", ["--pass-pipeline="], FUNCTION, "<pipeline>:1:1: error: expected a pass pipeline wrapped"),
    ("no anchor", ["--pass-pipeline=cse"], FUNCTION, "expected a pass pipeline wrapped"),
    ("unclosed pipeline", ["--pass-pipeline=builtin.module(cse"], FUNCTION, "is never closed"),
    ("unknown pass", ["--pass-pipeline=builtin.module(frobnicate)"], FUNCTION, "<pipeline>:1:16: error: there is no"),
    ("unknown option", ["--canonicalize=a=1"], FUNCTION, "'canonicalize' has no option 'a'"),
    ("illegal value", ["--canonicalize=max-iterations=x"], FUNCTION, "'x' value invalid"),
    ("overflowing value", ["--canonicalize=max-iterations=99999999999999999999"], FUNCTION, "value invalid"),
    ("unclosed quotation", ["--canonicalize=disable-patterns='"], FUNCTION, "quotation is never closed"),
    ("option of ours", ["--tile-verify=a=1"], FUNCTION, "'tile-verify' has no option 'a'"),
    ("anchor not the input", ["--pass-pipeline=func.func(cse)"], FUNCTION, "runs on 'func.func'"),
    ("no such dialect", ["--pass-pipeline=builtin.module(foo.bar(cse))"], FUNCTION, "no operation 'foo.bar'"),
    ("no such anchor", ["--pass-pipeline=builtin.module(gpu.modul(cse))"], FUNCTION, "no operation 'gpu.modul'"),
    ("wrong anchor", ["--pass-pipeline=builtin.module(convert-gpu-to-nvvm)"], KERNEL, "write gpu.module("),
    ("optimisation level", ["--nvvm-attach-target=O=77"], KERNEL, "option 'O' is one of 0, 1, 2, 3"),
    ("binary format", ["--gpu-module-to-binary=format=x"], KERNEL, "option 'format' is one of"),
]
"""What the command line says cannot be: exit code 2."""

BAD_FILES = [
    ("missing file", ["/no/such.mlir"], "", "cannot open input file '/no/such.mlir': No such file or directory"),
    ("folder", ["/"], "", "Is a directory"),
    ("NUL in the name", ["a\0b"], "", "cannot open input file"),
    ("name too long", ["a" * 5000], "", "cannot open input file"),
    ("folder as output", ["-o", "/"], FUNCTION, "cannot write '/'"),
    ("no folder for output", ["-o", "/no/such/file"], FUNCTION, "cannot write '/no/such/file'"),
    ("split bytecode", ["--split-input-file"], b"ML\xefR", "bytecode cannot be split"),
    ("not isolated", ["--pass-pipeline=builtin.module(func.func(scf.for(cse)))"], LOOP, "IsolatedFromAbove"),
    ("not isolated, ours", ["--pass-pipeline=builtin.module(func.func(scf.for(tile-verify)))"], LOOP, "IsolatedFrom"),
    ("old chip", ["--nvvm-attach-target=chip=sm_1"], KERNEL, "Minimum NVVM target SM version"),
    ("no target", ["--gpu-module-to-binary"], KERNEL, "no target attributes"),
    (
        "dynamic descriptor",
        ["--pass-pipeline=builtin.module(gpu.module(convert-gpu-to-nvvm))"],
        f"gpu.module @m {{ gpu.func @k(%d: {DESCRIPTOR}) kernel {{ gpu.return }} }}",
        "error",
    ),
    ("bad regular expression", ["--verify-diagnostics"], "// expected-error-re {{a{{(}}}}\n", "invalid regular expr"),
    ("line before the first", ["--verify-diagnostics"], "// expected-error@-5 {{x}}\n", "was not produced"),
    ("nothing below", ["--verify-diagnostics"], "// expected-error@below {{x}}", "was not produced"),
]


def check(outcome, part: str, code: int = 1) -> None:
    assert outcome.code == code, outcome
    assert "Traceback" not in outcome.err
    assert "internal error" not in outcome.err
    assert re.search(r"(^|: )error: ", outcome.err, re.MULTILINE)
    assert part in outcome.err


@pytest.mark.parametrize(("text", "part"), [case[1:] for case in BAD_TEXT], ids=[case[0] for case in BAD_TEXT])
def test_bad_text_gets_an_error(tma_opt, text, part):
    check(tma_opt(stdin=text), part)


@pytest.mark.parametrize(
    ("arguments", "text", "part"), [case[1:] for case in BAD_USE], ids=[case[0] for case in BAD_USE]
)
def test_bad_use_gets_an_error(tma_opt, arguments, text, part):
    check(tma_opt(*arguments, stdin=text), part, code=2)


@pytest.mark.parametrize(
    ("arguments", "text", "part"), [case[1:] for case in BAD_FILES], ids=[case[0] for case in BAD_FILES]
)
def test_what_the_input_does_wrong_gets_an_error(tma_opt, arguments, text, part):
    check(tma_opt(*arguments, stdin=text), part)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], ""),
        ([], "module {\0}"),
        ([], 'module @"é" {} // ü'),
        (["--mlir-print-debuginfo"], 'module { func.func @f() { return loc("a\\"b":1:2) } }'),
        (["--allow-unregistered-dialect", "--canonicalize"], '"foo.bar"() ({ ^bb0: }) : () -> ()'),
        (["--pass-pipeline=builtin.module(any(any(tile-verify)))"], LOOP),
        (["--pass-pipeline=any(cse)"], LOOP),
        (["--canonicalize=disable-patterns=,,,"], LOOP),
        (["--canonicalize", "--cse"], "module{" * 400 + "}" * 400),
        (["-canonicalize=max-iterations=3 top-down=false", "-cse"], LOOP),
        (["--verify-diagnostics", "--split-input-file"], "// expected-error@+1 {{unknown}}\nfoo\n// -----\nmodule {}"),
    ],
)
def test_odd_but_legal_is_accepted(tma_opt, arguments, text):
    outcome = tma_opt(*arguments, stdin=text)
    assert (outcome.code, outcome.err) == (0, "")
