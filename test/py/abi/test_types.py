"""Layouts of types by value: beside what the compiler declares in PTX, and as bytes laid out by hand."""

import re
import struct

import ml_dtypes
import numpy as np
import pytest

from tma_mlir.abi import values
from tma_mlir.abi.elements import element_type
from tma_mlir.abi.parameters import parameter_sizes
from tma_mlir.abi.types import parse_type
from tma_mlir.compile.compiler import compile_text

TYPES = (
    "vector<4xf32>", "vector<3xf32>", "vector<3xi8>", "vector<5xi8>", "vector<1xf32>", "vector<3xf16>", "vector<3xi64>",
    "vector<64xf32>", "vector<2x2xf32>", "vector<3x3xf32>", "vector<f32>", "vector<4xindex>", "vector<4xf8E4M3FN>",
    "vector<2x!llvm.ptr>", "vector<3x!llvm.ptr>", "vector<2xi128>", "vector<4xsi16>", "complex<f32>", "complex<f16>",
    "complex<i32>", "i128", "i256", "si32", "!llvm.array<4 x i32>", "!llvm.array<2 x vector<3xf32>>",
    "!llvm.struct<(i32, f32)>", "!llvm.struct<(i8, i64)>", "!llvm.struct<packed (i8, i64)>", "!llvm.struct<(ptr, i32)>",
    "!llvm.struct<(struct<(i8, i16)>, array<3 x f32>)>", "!llvm.struct<(vector<3xf32>, f32)>",
    "!llvm.struct<packed (vector<3xf32>, i8)>", "!llvm.struct<packed (i8, struct<(i8, i32)>)>",
    "!llvm.struct<(vector<3xi8>, i8)>", "!llvm.struct<(i32, vector<64xf32>)>", "!llvm.struct<(i8, i128)>",
    "!llvm.struct<(i8, i256)>", "!llvm.struct<(array<0 x i32>, i32)>", "!llvm.struct<(i1, i1, i16)>",
    '!llvm.struct<"named", (i8, f64)>',
)  # fmt: skip
PARAMETER = re.compile(r"\.param (?:\.align (\d+) )?\.[bu](\d+)(?: \.ptr[ .\w]*)? k_param_\d+(?:\[(\d+)\])?")


def test_sizes_and_alignments_are_those_that_ptx_declares():
    parameters = ", ".join(f"%p{index}: {type_}" for index, type_ in enumerate(TYPES))
    compiled = compile_text(f"gpu.module @m {{ gpu.func @k({parameters}) kernel {{ gpu.return }} }}")
    header = compiled.ptx.partition(".entry k(")[2].partition(")")[0]
    declared = []
    for align, bits, count in PARAMETER.findall(header):
        size = int(bits) // 8 * int(count or 1)
        declared.append((size, int(align or size)))
    layouts = map(parse_type, TYPES)
    found = [(layout.stride, min(layout.align, 128)) for layout in layouts]  # PTX aligns to 128 at most
    assert dict(zip(TYPES, found, strict=True)) == dict(zip(TYPES, declared, strict=True))
    assert parameter_sizes(compiled.signatures["k"]) == [size for size, _ in declared]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("vector<3xf32>", [1, 2.5, -0.0], struct.pack("<3fxxxx", 1, 2.5, -0.0)),
        ("vector<4xi8>", np.array([1, -1, 127, -128], np.int8), b"\x01\xff\x7f\x80"),
        ("vector<2x2xf16>", np.array([[1, 2], [3, 4]], np.float32), struct.pack("<4e", 1, 2, 3, 4)),
        ("vector<2xbf16>", (1, 2), np.array([1, 2], ml_dtypes.bfloat16).tobytes()),
        ("complex<f32>", 1 - 2j, struct.pack("<2f", 1, -2)),
        ("complex<f64>", np.complex64(3 + 4j), struct.pack("<2d", 3, 4)),
        ("complex<i32>", (-1, 2), struct.pack("<2i", -1, 2)),
        ("i128", -2, (-2).to_bytes(16, "little", signed=True)),
        ("i128", (1 << 128) - 1, b"\xff" * 16),
        ("si32", -5, struct.pack("<i", -5)),
        ("!llvm.array<2 x vector<3xf32>>", [[1, 2, 3], [4, 5, 6]], struct.pack("<3f4x3f4x", 1, 2, 3, 4, 5, 6)),
        ("!llvm.struct<(i8, i64)>", (-1, 1 << 40), struct.pack("<b7xq", -1, 1 << 40)),
        ("!llvm.struct<packed (i8, i64)>", (-1, 1 << 40), struct.pack("<bq", -1, 1 << 40)),
        ("!llvm.struct<(i1, i16, array<2 x f32>)>", [True, 7, [0.5, 1]], struct.pack("<?xHff", True, 7, 0.5, 1)),
        ("!llvm.struct<(ptr, i32)>", (1 << 47, 3), struct.pack("<Qi4x", 1 << 47, 3)),
        ("!llvm.struct<(vector<3xi8>, i8)>", ([1, 2, 3], 4), b"\x01\x02\x03\0\x04\0\0\0"),
        ("!llvm.struct<(i32, f32)>", np.array((7, 2.0), [("a", "<i4"), ("b", "<f4")])[()], struct.pack("<if", 7, 2)),
        ("!llvm.struct<(i32, f32)>", np.array((7, 2.0), [("a", "<i8"), ("b", "<f8")]), struct.pack("<if", 7, 2)),
    ],
)
def test_values_become_the_bytes_of_their_layout(text, value, expected):
    assert values.to_bytes(value, parse_type(text)) == expected


@pytest.mark.parametrize(
    ("text", "value", "message"),
    [
        ("vector<4xf32>", [1, 2, 3], r"\[1, 2, 3\] is given, needed: a sequence of 4 elements"),
        ("vector<4xf32>", 1.0, "1.0 is given, needed: a sequence of 4 elements"),
        ("vector<4xf32>", "1234", "'1234' is given, needed: a sequence of 4 elements"),
        ("!llvm.struct<(i32, f32)>", (1, 2, 3), "needed: a sequence of 2 fields"),
        ("vector<2xi8>", [1, 256], "256 does not fit i8"),
        ("vector<2xui8>", [1, -1], "-1 does not fit ui8"),
        ("si32", 1 << 31, "2147483648 does not fit si32"),
        ("i128", 1 << 128, "does not fit i128"),
        ("i128", 1.0, "1.0 is not an integer of type i128"),
        ("vector<2xf32>", [1, "2"], "'2' is not a number of type f32"),
        ("complex<i32>", 1j, "0.0 is not an integer of type i32"),
        ("!llvm.struct<(ptr, i32)>", (-1, 3), "-1 does not fit ui64"),
    ],
)
def test_values_that_do_not_fit_are_refused(text, value, message):
    with pytest.raises(TypeError, match=message):
        values.to_bytes(value, parse_type(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [("index", np.int64), ("si32", np.int32), ("ui16", np.uint16), ("complex<f32>", np.complex64),
     ("complex<f64>", np.complex128), ("i128", "V16"), ("!llvm.ptr", np.uint64),
     ("vector<4xf32>", [("elements", np.float32, 4)]), ("bf16", ml_dtypes.bfloat16)],
)  # fmt: skip
def test_elements_are_numpy_s_where_it_has_them(text, kind):
    assert element_type(text).numpy == np.dtype(kind)


def test_elements_of_vectors_are_as_far_apart_as_the_compiler_puts_them():
    assert element_type("vector<3xf32>").bytes == element_type("vector<3xf32>").numpy.itemsize == 16
