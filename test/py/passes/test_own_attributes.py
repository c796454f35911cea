"""Attributes of this package that somebody edited: one located error, in the words of the check."""

import pytest

from tma_mlir.compile.compiler import CompileError, compile_text

KERNEL = """gpu.module @m {{
  gpu.func @k(%d: !llvm.ptr, %a: memref<8x64xf16>) kernel attributes {{{attributes}}} {{
    gpu.return
  }}
}}"""
MAP = (
    '#tile.tensor_map<{argument = 0 : i64, tensor_map = {box = [64, 8], data_type = "FLOAT16", dims = [64, 8], '
    "element_strides = [1, 1], strides_bytes = [128]}}>"
)
TYPES = "tile.arguments = [memref<8x64xf16>]"


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ("tile.arguments = 3 : i64", "'tile.arguments' that is wrong: needed: an array of types, found 3 : i64"),
        ("tile.arguments = [f32, 1 : i64]", "'tile.arguments' that is wrong: entry 1: needed: a type, found 1 : i64"),
        ("tile.descriptors = []", "'tile.descriptors' that is wrong: there is no 'tile.arguments' beside it"),
        (f"{TYPES}, tile.descriptors = 3 : i64", "needed: an array of #tile.tensor_map, found 3 : i64"),
        (f"{TYPES}, tile.descriptors = [unit]", "entry 0: needed: #tile.tensor_map, found unit"),
        (
            f"{TYPES}, tile.descriptors = [{MAP.replace('[64, 8]', '[]', 1)}]",
            "'tile.descriptors' that is wrong: entry 0",
        ),
        (f"{TYPES}, tile.descriptors = [{MAP.replace('argument = 0', 'argument = 7')}]", "argument 7 is not a memref"),
        (f"{TYPES}, tile.descriptors = [{MAP.replace('argument = 0', 'nothing = 0')}]", "unknown entry 'nothing'"),
        (f"{TYPES}, tile.descriptors = [], tile.bare_pointers = 1 : i64", "needed: true or false, found 1 : i64"),
        (f"{TYPES}, tile.descriptors = [], tile.alignments = array<i64: 3>", "needed: powers of two, found 3"),
        (f"{TYPES}, tile.descriptors = [], tile.alignments = array<i64: 2, 2>", "needed: 1 numbers"),
        (
            f"{TYPES}, tile.descriptors = [], tile.dynamic_shared_bytes = -1 : i64",
            "needed: a number of bytes",
        ),
        (f"{TYPES}, tile.descriptors = [], tile.may_store_nothing = 1 : i64", "needed: no value, found 1 : i64"),
    ],
)
def test_what_is_wrong_is_said_at_the_kernel(attributes, says):
    with pytest.raises(CompileError) as error:
        compile_text(KERNEL.format(attributes=attributes), assemble_cubin=False)
    text = str(error.value)
    assert text.startswith("-:2:3: error: 'gpu.func' op has an attribute 'tile.")
    assert says in text
    assert text.endswith("Run the passes that write it again")
