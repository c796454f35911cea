"""Kernels with parameters of every kind, from source to result, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tma_mlir.compile.compiler import compile_text
from tma_mlir.sim.errors import SimulationError
from tma_mlir.testing import simulate


def run(parameters, body, *arguments, threads=1):
    text = f"""
gpu.module @m {{
  gpu.func @k({parameters}) kernel attributes {{known_block_size = array<i32: {threads}, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
{body}
    gpu.return
  }}
}}
"""
    compiled = compile_text(text, keep=("lowered",))
    simulate(compiled, grid=1, args=arguments)


@pytest.mark.parametrize("space", ["", "<1>"])
def test_a_pointer_is_the_address_of_an_array_s_first_element(space):
    memory = np.arange(64, dtype=np.float32)
    out = np.zeros(32, np.float32)
    run(
        f"%p: !llvm.ptr{space}, %out: memref<32xf32>",
        f"""
    %i = arith.index_cast %t : index to i64
    %e = llvm.getelementptr %p[%i] : (!llvm.ptr{space}, i64) -> !llvm.ptr{space}, f32
    %v = llvm.load %e : !llvm.ptr{space} -> f32
    %w = arith.addf %v, %v : f32
    llvm.store %w, %e : f32, !llvm.ptr{space}
    memref.store %v, %out[%t] : memref<32xf32>""",
        memory[16:],
        out,
        threads=32,
    )
    np.testing.assert_array_equal(out, np.arange(16, 48))
    expected = np.arange(64, dtype=np.float32)
    expected[16:48] *= 2
    np.testing.assert_array_equal(memory, expected)


def test_a_null_pointer_is_zero_and_other_addresses_are_not_the_simulator_s():
    out = np.ones(1, np.int64)
    body = """
    %n = llvm.ptrtoint %p : !llvm.ptr to i64
    memref.store %n, %out[%c0] : memref<1xi64>"""
    run("%p: !llvm.ptr, %out: memref<1xi64>", body, 0, out)
    assert out[0] == 0
    with pytest.raises(SimulationError, match="argument 0 is an address, of which the simulator has its own: give the"):
        run("%p: !llvm.ptr, %out: memref<1xi64>", body, 0x7000, out)


def test_an_access_past_what_a_pointer_points_to_is_found():
    body = """
    %e = llvm.getelementptr %p[4] : (!llvm.ptr) -> !llvm.ptr, i32
    %v = llvm.load %e : !llvm.ptr -> i32
    memref.store %v, %out[%c0] : memref<1xi32>"""
    with pytest.raises(SimulationError, match="load of 4 B at argument 0"):
        run("%p: !llvm.ptr, %out: memref<1xi32>", body, np.zeros(4, np.int32), np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("element", "kind", "count"), [("f32", np.float32, 4), ("f16", np.float16, 8), ("i16", np.int16, 3)]
)
def test_a_vector_arrives_element_by_element(element, kind, count):
    given = np.arange(1, count + 1).astype(kind)
    out = np.zeros((4, count), kind)
    run(
        f"%v: vector<{count}x{element}>, %out: memref<4x{count}x{element}>",
        f"    vector.store %v, %out[%t, %c0] : memref<4x{count}x{element}>, vector<{count}x{element}>",
        given.tolist(),
        out,
        threads=4,
    )
    np.testing.assert_array_equal(out, np.broadcast_to(given, (4, count)))


def test_a_vector_of_two_dimensions_arrives_row_by_row():
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.zeros((2, 3), np.float32)
    run(
        "%v: vector<2x3xf32>, %out: memref<2x3xf32>",
        """
    %a = vector.extract %v[0] : vector<3xf32> from vector<2x3xf32>
    %b = vector.extract %v[1] : vector<3xf32> from vector<2x3xf32>
    vector.store %a, %out[%c0, %c0] : memref<2x3xf32>, vector<3xf32>
    vector.store %b, %out[%c1, %c0] : memref<2x3xf32>, vector<3xf32>""",
        given,
        out,
    )
    np.testing.assert_array_equal(out, given)


def test_a_complex_number_has_its_two_parts():
    out = np.zeros(2, np.float32)
    run(
        "%c: complex<f32>, %out: memref<2xf32>",
        """
    %re = complex.re %c : complex<f32>
    %im = complex.im %c : complex<f32>
    memref.store %re, %out[%c0] : memref<2xf32>
    memref.store %im, %out[%c1] : memref<2xf32>""",
        3 - 4j,
        out,
    )
    assert out.tolist() == [3, -4]


STRUCT = "!llvm.struct<(i8, struct<(i16, f64)>, array<2 x i32>)>"
STRUCT_TYPE = np.dtype(
    [("a", "<i4"), ("b", [("c", "<i4"), ("d", "<f8")]), ("e", "<i4", (2,))]
)  # other offsets than the kernel's: fields go by position


@pytest.mark.parametrize(
    "value", [(-7, (300, 0.5), [1 << 30, -2]), np.array((-7, (300, 0.5), [1 << 30, -2]), STRUCT_TYPE)[()]]
)
def test_a_struct_arrives_field_by_field(value):
    out = np.zeros(5, np.float64)
    parts = [("i8", "[0]"), ("i16", "[1, 0]"), ("f64", "[1, 1]"), ("i32", "[2, 0]"), ("i32", "[2, 1]")]
    body = ""
    for index, (kind, place) in enumerate(parts):
        body += f"    %i{index} = arith.constant {index} : index\n"
        body += f"    %p{index} = llvm.extractvalue %s{place} : {STRUCT}\n"
        if kind != "f64":
            body += f"    %v{index} = arith.sitofp %p{index} : {kind} to f64\n"
        body += f"    memref.store %{'p' if kind == 'f64' else 'v'}{index}, %out[%i{index}] : memref<5xf64>\n"
    run(f"%s: {STRUCT}, %out: memref<5xf64>", body, value, out)
    assert out.tolist() == [-7, 300, 0.5, 1 << 30, -2]


def test_a_wide_integer_is_taken_and_its_use_is_said_to_be_unsupported():
    out = np.zeros(1, np.int32)
    run(
        "%wide: i128, %n: i32, %out: memref<1xi32>",
        "    memref.store %n, %out[%c0] : memref<1xi32>",
        1 << 100,
        7,
        out,
    )
    assert out[0] == 7
    body = """
    %low = arith.trunci %wide : i128 to i32
    memref.store %low, %out[%c0] : memref<1xi32>"""
    with pytest.raises(SimulationError, match=r"unsupported operation: llvm\.trunc on i128"):
        run("%wide: i128, %out: memref<1xi32>", body, 1 << 100, out)


def test_parameters_of_all_kinds_stand_beside_a_memref_of_dynamic_shape():
    memory, rows = np.arange(4, dtype=np.int32), np.zeros((3, 4), np.int32)
    run(
        "%v: vector<4xi32>, %m: memref<?x4xi32>, %p: !llvm.ptr, %s: !llvm.struct<(i32, i64)>",
        """
    %e = llvm.load %p : !llvm.ptr -> vector<4xi32>
    %sum = arith.addi %e, %v : vector<4xi32>
    %f = llvm.extractvalue %s[0] : !llvm.struct<(i32, i64)>
    %all = vector.broadcast %f : i32 to vector<4xi32>
    %total = arith.addi %sum, %all : vector<4xi32>
    %n = memref.dim %m, %c0 : memref<?x4xi32>
    %last = arith.subi %n, %c1 : index
    vector.store %total, %m[%last, %c0] : memref<?x4xi32>, vector<4xi32>""",
        [10, 20, 30, 40],
        rows,
        memory,
        (100, 0),
    )
    assert rows.tolist() == [[0] * 4, [0] * 4, [110, 121, 132, 143]]


@pytest.mark.parametrize(
    ("type_", "kind", "load"),
    [
        ("index", np.int64, "%n = arith.index_cast %v : index to i64\n    %w = arith.sitofp %n : i64 to f64"),
        ("complex<f32>", np.complex64, "%n = complex.im %v : complex<f32>\n    %w = arith.extf %n : f32 to f64"),
        ("vector<3xf32>", [("elements", np.float32, 3), ("padding", "V4")],
         "%n = vector.extract %v[1] : f32 from vector<3xf32>\n    %w = arith.extf %n : f32 to f64"),
    ],
)  # fmt: skip
def test_memrefs_of_such_elements_are_read_where_numpy_has_them(type_, kind, load):
    memory = np.zeros(4, kind)
    if type_ == "index":
        memory[:], expected = [1, -2, 3, -4], [1, -2, 3, -4]
    elif type_ == "vector<3xf32>":
        memory["elements"] = np.arange(12).reshape(4, 3)  # type: ignore[call-overload]
        expected = [1, 4, 7, 10]
    else:
        memory[:], expected = np.arange(4) * (1 + 2j), [0, 2, 4, 6]
    out = np.zeros(4, np.float64)
    run(
        f"%m: memref<4x{type_}>, %out: memref<4xf64>",
        f"""
    %v = memref.load %m[%t] : memref<4x{type_}>
    {load}
    memref.store %w, %out[%t] : memref<4xf64>""",
        memory,
        out,
        threads=4,
    )
    assert out.tolist() == expected
