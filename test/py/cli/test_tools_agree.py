"""The same input is the same error from every tool, and from ``tma_mlir.compile``."""

from __future__ import annotations

import re

import pytest

import tma_mlir
from tma_mlir.compile.compiler import CompileError

TOOLS = {"tma-opt": ["--tile-to-cubin", "-o", "/dev/null"], "tma-run": ["--device", "sim"], "tma-explain": []}

KERNEL = """gpu.module @m {
  gpu.func @k(%a: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
"""
LAUNCH = """func.func @f() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
             threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    gpu.terminator
  }
  return
}
"""
NO_KERNEL = "the module has no kernel to compile; needed: a gpu.func marked 'kernel', in a gpu.module"
# Text, place, message.
NOTHING_TO_COMPILE = {
    "empty": ("", "", NO_KERNEL),
    "host functions": ("func.func @f() { return }\n", "", NO_KERNEL),
    "empty gpu.module": ("gpu.module @m {\n}\n", "", NO_KERNEL),
    "device function": ("gpu.module @m {\n gpu.func @f() { gpu.return }\n}\n", ":2:2", "'gpu.func' op @f is not a ker"),
    "not outlined": (LAUNCH, ":3:3", "'gpu.launch' op holds its kernel, and only a gpu.func of a gpu.module is c"),
}  # fmt: skip


def first_error(outcome) -> str:
    return next(line for line in outcome.err.splitlines() if "error: " in line)


@pytest.mark.parametrize("name", NOTHING_TO_COMPILE)
def test_nothing_compiled_is_no_success(tool, tmp_path, name):
    text, place, message = NOTHING_TO_COMPILE[name]
    file = tmp_path / "f.mlir"
    file.write_text(text)
    for each, flags in TOOLS.items():
        outcome = tool(each, file, *flags)
        assert (outcome.code, outcome.out) == (1, "")
        assert re.match(rf"{re.escape(f'{file}{place}: error: {message}')}", first_error(outcome))
    with pytest.raises(CompileError) as caught:
        tma_mlir.compile(file, "sm_90a", cache=False)
    assert str(caught.value).startswith(f"{file}{place}: error: {message}")


@pytest.mark.parametrize("each", TOOLS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.mlir", "{tool}: error: cannot open input file 'missing.mlir': No such file or directory\n"),
        (".", "{tool}: error: cannot open input file '.': Is a directory\n"),
        ("garbage.mlir", "garbage.mlir:1:5: error: byte 0x93 is not UTF-8. Save the file as UTF-8\n"),
    ],
)
def test_what_cannot_be_read_is_said_in_the_same_words(tool, tmp_path, monkeypatch, each, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "garbage.mlir").write_bytes(b"abcd\x93NUMPY\0")
    outcome = tool(each, name, *TOOLS[each])
    assert (outcome.code, outcome.out, outcome.err) == (1, "", message.format(tool=each))


@pytest.mark.parametrize("each", TOOLS)
def test_versions_name_every_part(tool, each):
    outcome = tool(each, "--version")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == f"{each} (tma_mlir) {tma_mlir.__version__}"
    assert [line.split()[0] for line in lines[1:]] == ["MLIR", "PTX", "nvJitLink", "CUDA", "Python"]


@pytest.mark.parametrize("each", TOOLS)
def test_an_unknown_flag_is_wrong_use(tool, tmp_path, each):
    file = tmp_path / "f.mlir"
    file.write_text(KERNEL)
    outcome = tool(each, file, "--nope")
    assert outcome.code == 2
    assert outcome.err.startswith(f"{each}: error: ")
    assert "--nope" in outcome.err


def test_a_kernel_without_copies_has_nothing_to_explain(tool, tmp_path):
    file = tmp_path / "f.mlir"
    file.write_text(KERNEL)
    outcome = tool("tma-explain", file)
    assert (outcome.code, outcome.out) == (0, f"{file}: there is no tile.copy_async to explain\n")
    assert tool("tma-explain", file, "--format", "json").out == "[]\n"


DESCRIPTOR = (
    "!nvgpu.tensormap.descriptor<tensor = memref<8x64xf32, #gpu.address_space<workgroup>>, swizzle = none, "
    "l2promo = none, oob = zero, interleave = none>"
)


@pytest.mark.parametrize(
    ("type_", "step"),
    [
        (DESCRIPTOR, "Pass the memref it is of and copy with tile.copy_async: a launch makes its descriptor"),
        ("memref<*xf32>", "Cast it to a ranked memref before the launch (memref.cast)"),
        ("memref<4x8xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>", "as strided<[...], offset: N>, or copy it"),
        ("memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>", "as strided<[...], offset: N>, or copy it"),
        ("tensor<4xf32>", "Use a memref: bufferize the kernel first"),
    ],
)
def test_a_parameter_that_no_launch_passes_is_located_and_says_the_step(tool, tmp_path, type_, step):
    file = tmp_path / "f.mlir"
    file.write_text(KERNEL.replace("%a: memref<4xf32>", f"%a: {type_}"))
    for each, flags in TOOLS.items():
        outcome = tool(each, file, *flags)
        assert outcome.code == 1
        assert first_error(outcome).startswith(f"{file}:2:15: error: kernel parameter 0 is {type_}; needed: ")
        assert step in first_error(outcome)


COPY = """!s = memref<8x64xELEMENT, #gpu.address_space<workgroup>>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @f(%g: memref<64x64xELEMENT>, %s: !s, %b: !bar) {
  %c0 = arith.constant 0 : index
  "tile.copy_async"(%g, %s, %b, %c0) {
    static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>, sizes = array<i64: 8, 64>,
    ATTRIBUTE, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
  } : (memref<64x64xELEMENT>, !s, !bar, index) -> ()
  return
}
"""


@pytest.mark.parametrize(
    ("attribute", "admitted"),
    [
        ('variant = "foo"', '"auto", "tma"'),
        ('scope = "block"', '"thread", "warp", "cta"'),
        ('oob = "one"', '"zero", "nan"'),
        ('mode = "tiled"', '"tile", "gather4", "scatter4", "im2col", "im2col_w", "im2col_w_128"'),
        ('reduce = "sum"', '"add", "min", "max"'),
        ('cache = "evict_never"', '"evict_first"'),
        ("l2_promotion = 32 : i64", "0, 64, 128, 256"),
        ("cta_group = 3 : i64", "1, 2"),
        ("cluster_split = 3 : i64", "2, 4, 8, 16"),
        ('packing = "4B"', '"8B", "16B"'),
        ('mbarrier_cta = "both"', '"'),
        ('swizzle = "129B"', '#tile.swizzle<...> with one of "none", "32B", "64B", "128B"'),
    ],
)
def test_a_wrong_value_of_an_attribute_lists_the_values_admitted(tool, tmp_path, attribute, admitted):
    file = tmp_path / "f.mlir"
    file.write_text(COPY.replace("ELEMENT", "f32").replace("ATTRIBUTE", attribute))
    name, value = attribute.removesuffix(" : i64").split(" = ")
    for each, flags in (("tma-opt", ["--tile-verify"]), ("tma-explain", [])):
        outcome = tool(each, file, *flags)
        assert outcome.code == 1
        error = first_error(outcome)
        assert error.startswith(f"{file}:5:3: error: 'tile.copy_async' op attribute '{name}' must be ")
        assert "one of" in error
        assert admitted in error
        assert f"; found {value}" in error


def test_a_swizzle_that_does_not_exist_lists_those_that_do(tool, tmp_path):
    file = tmp_path / "f.mlir"
    file.write_text(COPY.replace("ELEMENT", "f32").replace("ATTRIBUTE", 'swizzle = #tile.swizzle<"129B">'))
    outcome = tool("tma-opt", file)
    assert outcome.code == 1
    assert '"128B"' in outcome.err
    assert '"32B"' in outcome.err


@pytest.mark.parametrize("element", ["i8", "ui8", "i16", "i32", "i64"])
def test_integers_are_not_filled_with_nan(tool, tmp_path, element):
    file = tmp_path / "f.mlir"
    file.write_text(COPY.replace("ELEMENT", element).replace("ATTRIBUTE", 'oob = "nan"'))
    for each in ("tma-opt", "tma-explain"):
        outcome = tool(each, file)
        assert outcome.code == 1
        assert (
            f":5:3: error: 'tile.copy_async' op 'oob' fills with NaN, which elements of type {element} do not have"
            in (outcome.err)
        )
