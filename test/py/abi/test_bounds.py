"""Numbers next to every bound of launches and parameters. Sources: CUDA C++ Programming Guide (compute capabilities),
PTX ISA (parameters), the C rules of layout that LLVM follows, IEEE 754."""

import ml_dtypes
import numpy as np
import pytest

from support.tensor_maps import tiled
from tma_mlir.abi import extents, scalars, values
from tma_mlir.abi.conditions import check_failures, violations
from tma_mlir.abi.passing import by_value, element_refusal, refusal
from tma_mlir.abi.signature import PointerArgument, ScalarArgument, ValueArgument
from tma_mlir.abi.types import parse_type
from tma_mlir.dtypes import DTYPES
from tma_mlir.layout import Expr, Symbol
from tma_mlir.plan import Condition, Im2col, Status, TensorMap
from tma_mlir.plan.findings import Finding

GRID_X = (1 << 31) - 1


@pytest.mark.parametrize(
    ("what", "given", "expected"),
    [
        ("grid", GRID_X, (GRID_X, 1, 1)),
        ("grid", (1, 65535, 65535), (1, 65535, 65535)),
        ("grid", 0, (0, 1, 1)),
        ("grid", (3,), (3, 1, 1)),
        ("block", 1024, (1024, 1, 1)),
        ("block", (1, 1024), (1, 1024, 1)),
        ("block", (16, 1, 64), (16, 1, 64)),
        ("cluster", 16, (16, 1, 1)),
        ("cluster", (1, 16, 1), (1, 16, 1)),
        ("cluster", (1, 1, 16), (1, 1, 16)),
        ("cluster", (2, 2, 4), (2, 2, 4)),
    ],
)
def test_extents_that_launch(what, given, expected):
    assert extents.promised(what, given, None, "k") == expected
    assert extents.promised(what, None, expected, "k") == expected
    assert extents.promised(what, given, expected, "k") == expected


@pytest.mark.parametrize(
    ("what", "given", "message"),
    [
        ("grid", GRID_X + 1, "at most"),
        ("grid", (1, 65536), "at most"),
        ("grid", (1, 1, 65536), "at most"),
        ("grid", -1, "at least 0 each"),
        ("block", 0, "at least 1 each"),
        ("block", 1025, "at most"),
        ("block", (1, 1025), "at most"),
        ("block", (1, 1, 65), "at most"),
        ("block", (513, 2), "1026 threads, needed: at most 1024"),
        ("block", (1, 17, 64), "1088 threads"),
        ("cluster", 17, "at most"),
        ("cluster", (1, 17), "at most"),
        ("cluster", (1, 1, 17), "at most"),
        ("cluster", (3, 6), "18 blocks, needed: at most 16"),
        ("cluster", 0, "at least 1 each"),
    ],
)
def test_extents_that_do_not(what, given, message):
    with pytest.raises(ValueError, match=message):
        extents.promised(what, given, None, "k")


@pytest.mark.parametrize("given", [(), (1, 1, 1, 1), 1.5, (1, "2"), "1"])
def test_extents_that_are_none(given):
    with pytest.raises(TypeError, match="one to three integers"):
        extents.promised("grid", given, None, "k")


def test_extents_against_what_was_compiled():
    with pytest.raises(TypeError, match="'k' does not say its block"):
        extents.promised("block", None, None, "k")
    with pytest.raises(ValueError, match="compiled for"):
        extents.promised("block", 64, (128, 1, 1), "k")


def test_a_grid_is_made_of_clusters():
    assert extents.promised_cluster(2, None, (4, 1, 1), "k") == (2, 1, 1)
    assert extents.promised_cluster(None, None, (4, 1, 1), "k") is None
    assert extents.promised_cluster(None, (1, 2, 1), (1, 4, 1), "k") == (1, 2, 1)
    for cluster, grid in [((2, 1, 1), (3, 2, 2)), ((1, 2, 1), (2, 3, 2)), ((1, 1, 2), (2, 2, 3))]:
        with pytest.raises(ValueError, match="not a multiple of the cluster"):
            extents.promised_cluster(None, cluster, grid, "k")


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("i1", 0, 1),
        ("i8", -128, 255),
        ("i16", -32768, 65535),
        ("i32", -(1 << 31), (1 << 32) - 1),
        ("i64", -(1 << 63), (1 << 64) - 1),
        ("si8", -128, 127),
        ("ui8", 0, 255),
        ("si32", -(1 << 31), (1 << 31) - 1),
        ("ui16", 0, 65535),
    ],
)
def test_ranges_of_integers(dtype, low, high):
    of = next(values.leaves(parse_type(dtype)))
    assert scalars.to_int(low, of) == low
    assert scalars.to_bytes(high, of) == high.to_bytes(of.bytes, "little")
    for outside in (low - 1, high + 1):
        with pytest.raises(TypeError, match="does not fit"):
            scalars.to_bytes(outside, of)


@pytest.mark.parametrize("value", [1.0, "1", None, np.zeros(1, np.int32), np.timedelta64(1), np.array(1), 1j])
def test_what_is_not_an_integer(value):
    with pytest.raises(TypeError, match="not an integer of type i32"):
        scalars.to_bytes(value, DTYPES["i32"])


@pytest.mark.parametrize("value", ["1", None, np.zeros(1), 1j, np.complex64(1), np.datetime64(1, "s"), np.str_("1")])
def test_what_is_not_a_float(value):
    with pytest.raises(TypeError, match="not a number of type f32"):
        scalars.to_bytes(value, DTYPES["f32"])


def test_floats_round_and_overflow():
    assert scalars.to_bytes(65504.0, DTYPES["f16"]) == np.float16(65504).tobytes()
    assert scalars.to_bytes(0.1, DTYPES["f16"]) == np.float16(0.1).tobytes()
    assert scalars.to_bytes(float("inf"), DTYPES["f16"]) == np.float16(np.inf).tobytes()
    assert np.isnan(np.frombuffer(scalars.to_bytes(float("nan"), DTYPES["f16"]), np.float16)[0])
    assert scalars.to_bytes(True, DTYPES["f32"]) == np.float32(1).tobytes()
    assert scalars.to_bytes(448.0, DTYPES["f8E4M3FN"]) == np.asarray(448).astype(ml_dtypes.float8_e4m3fn).tobytes()
    for value, dtype in [(70000.0, "f16"), (-1e39, "f32"), (10**400, "f64"), (1000.0, "f8E4M3FN")]:
        with pytest.raises(TypeError, match="does not fit"):
            scalars.to_bytes(value, DTYPES[dtype])


@pytest.mark.parametrize(("length", "whole"), [(198, True), (199, False)])
def test_values_are_shown_in_part(length, whole):
    """Two quotes, and 200 letters at most."""
    text = scalars.shown("x" * length)
    assert len(text) == (length + 2 if whole else 203)
    assert text.endswith("'" if whole else "...")


@pytest.mark.parametrize(
    ("text", "size", "align"),
    [
        ("i1", 1, 1),
        ("i7", 1, 1),
        ("i8", 1, 1),
        ("i9", 2, 2),
        ("i64", 8, 8),
        ("i65", 16, 16),
        ("i128", 16, 16),
        ("index", 8, 8),
        ("bf16", 2, 2),
        ("f64", 8, 8),
        ("!llvm.ptr", 8, 8),
        ("!llvm.ptr<3>", 8, 8),
        ("vector<3xf32>", 12, 16),
        ("vector<4xf32>", 16, 16),
        ("vector<1xi8>", 1, 1),
        ("vector<5xi16>", 10, 16),
        ("complex<f32>", 8, 4),
        ("!llvm.array<3 x i16>", 6, 2),
        ("!llvm.array<2 x vector<3xf32>>", 32, 16),
        ("!llvm.struct<(i8, i32)>", 8, 4),
        ("!llvm.struct<(i32, i8)>", 8, 4),
        ("!llvm.struct<packed (i8, i32)>", 5, 1),
        ("!llvm.struct<(i8, array<3 x i16>, i8)>", 10, 2),
        ("!llvm.struct<()>", 0, 1),
    ],
)
def test_sizes_of_parameters(text, size, align):
    """As C lays them out: LLVM's data layout of nvptx64 aligns vectors to the next power of two."""
    found = parse_type(text)
    assert (found.size, found.align) == (size, align)


@pytest.mark.parametrize("text", ["", "f32 f32", "i", "vector<", "vector<4xf32> x", "!llvm.struct<(i8", "i257", "frog"])
def test_text_that_is_not_a_type(text):
    with pytest.raises(ValueError):  # noqa: PT011  (whoever calls says what is wrong)
        parse_type(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("index", ScalarArgument),
        ("i32", ScalarArgument),
        ("bf16", ScalarArgument),
        ("!llvm.ptr", PointerArgument),
        ("!llvm.ptr<1>", PointerArgument),
        ("vector<4xf32>", ValueArgument),
    ],
)
def test_how_parameters_are_passed(text, kind):
    assert type(by_value(text)) is kind
    assert refusal(text) is None


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("i24", "i24", "Use i32 and truncate"),
        ("i3", "i3", "Use i8 and truncate"),
        ("i65", "i65", "Use i128 and truncate"),
        ("i200", "i200", "Use i256 and truncate"),
        ("vector<4xi1>", "a vector of i1", "Use i8"),
        ("tf32", "tf32", "Use f32"),
        ("!llvm.ptr<3>", "a pointer to address space 3", "Use !llvm.ptr or !llvm.ptr<1>"),
        ("!llvm.ptr<2>", "a pointer to address space 2", "Use !llvm.ptr or !llvm.ptr<1>"),
        ("!llvm.struct<()>", "!llvm.struct<()>", "Drop the parameter"),
        ("!llvm.struct<(i32, i24)>", "i24", "Use i32"),
        ("!llvm.array<2 x ptr<5>>", "a pointer to address space 5", "Use !llvm.ptr"),
        ("f128", "f128", "Use f64"),
        ("i300", "i300", "Use an array of i64"),
        ("tensor<4xf32>", "tensor<4xf32>", "bufferize"),
        ("vector<[4]xf32>", "vector<[4]xf32>", "fixed size"),
    ],
)
def test_parameters_that_are_refused(text, what, remedy):
    found = refusal(text)
    assert found is not None
    assert found.what == what
    assert remedy in found.remedy


def test_elements_of_memrefs():
    assert element_refusal("f32") is None
    assert element_refusal("vector<4xf32>") is None
    tf32, tensor = element_refusal("tf32"), element_refusal("tensor<4xf32>")
    assert tf32 is not None
    assert tf32.needed == "a type that values have"
    assert tensor is not None
    assert tensor.needed.startswith("elements that are numbers")


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ([1, 2, 3], "vector<3xi16>", np.array([1, 2, 3, 0], np.int16).tobytes()),
        (np.arange(4, dtype=np.float32), "vector<4xf32>", np.arange(4, dtype=np.float32).tobytes()),
        ((1, 2), "!llvm.struct<(i8, i32)>", b"\1\0\0\0\2\0\0\0"),
        ([[1, 2], [3, 4]], "!llvm.array<2 x array<2 x i8>>", b"\1\2\3\4"),
        (np.array((5, 6), dtype=[("a", "i1"), ("b", "i4")]), "!llvm.struct<(i8, i32)>", b"\5\0\0\0\6\0\0\0"),
        (1 + 2j, "complex<f32>", np.complex64(1 + 2j).tobytes()),
        (7, "!llvm.ptr", (7).to_bytes(8, "little")),
        (
            [[1, 2, 3], [4, 5, 6]],
            "!llvm.array<2 x vector<3xi16>>",
            np.array([1, 2, 3, 0, 4, 5, 6, 0], np.int16).tobytes(),
        ),
    ],
)
def test_values_to_bytes_and_back(value, text, expected):
    type_ = parse_type(text)
    assert values.to_bytes(value, type_) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [([1, 2], "vector<3xi16>"), (3, "vector<3xi16>"), ([1], "!llvm.struct<(i8, i32)>"), (np.array(3), "vector<1xi8>")],
)
def test_sequences_of_another_length(value, text):
    with pytest.raises(TypeError, match="needed: a sequence of"):
        values.to_bytes(value, parse_type(text))


def test_leaves_and_nests():
    type_ = parse_type("!llvm.struct<(i8, array<2 x vector<2xf32>>, ptr)>")
    assert [each.name for each in values.leaves(type_)] == ["i8", "f32", "f32", "f32", "f32", values.ADDRESS.name]
    assert values.nested(iter(range(6)), type_) == (0, ((1, 2), (3, 4)), 5)


def check(low=None, high=None, divisor=1):
    finding = Finding("rule", Status.UNKNOWN, "found", "needed", "remedy")
    return Condition(Expr.of(Symbol("n")), finding, divisor, low, high)


@pytest.mark.parametrize(
    ("condition", "n", "fails"),
    [
        (check(low=3), 3, False),
        (check(low=3), 2, True),
        (check(high=3), 3, False),
        (check(high=3), 4, True),
        (check(divisor=8), 16, False),
        (check(divisor=8), 12, True),
        (check(divisor=8, low=8), 0, True),
        (check(), -5, False),
    ],
)
def test_conditions_at_launch(condition, n, fails):
    failures = check_failures([condition], {"n": n})
    assert bool(failures) == fails
    assert all(f"n is {n} here" in each for each in failures)


@pytest.mark.parametrize(
    ("tensor_map", "address", "expected"),
    [
        (tiled(), 4096, []),
        (tiled(), 0, ["address 0"]),
        (tiled(), 4104, ["global address alignment"]),
        (tiled(dims=(64, 0)), 4096, ["are empty"]),
        (tiled(dims=(0, 8)), 0, ["address 0", "are empty"]),
        (tiled(strides_bytes=(264,), box=(33, 8)), 4096, ["global stride alignment", "inner box bytes"]),
        (tiled(dims=(64, 0), box=(33, 8)), 4096, ["are empty", "inner box bytes"]),
        (tiled(dims=((1 << 32) + 1, 8)), 4096, ["global dimension"]),
        (tiled(oob_fill=1, data_type="INT32", box=(256, 256)), 4096, ["oob fill type", "box size"]),
        (tiled(dims=(64,), strides_bytes=(), box=(33,), element_strides=(1,)), 4096, ["inner box bytes"]),
    ],
)
def test_every_broken_rule_is_said_at_once(tensor_map, address, expected):
    found = violations(tensor_map, address)
    assert [any(part in each for each in found) for part in expected] == [True] * len(expected)
    assert len(found) == len(expected)


def test_im2col_maps_keep_their_dims():
    corners = Im2col((0,), (0,))
    made = TensorMap("FLOAT16", (64, 8, 8), (128, 1032), (32, 64), (1, 1, 1), im2col=corners)
    assert len(violations(made, 4096)) == 1
