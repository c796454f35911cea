"""Kernel arguments from the command line."""

import numpy as np
import pytest

from tma_mlir.abi.elements import element_type
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from tma_mlir.dtypes import dtype
from tma_mlir.run.arguments import make_arguments
from tma_mlir.run.array_spec import ArgumentError
from tma_mlir.run.execute import compare
from tma_mlir.run.expected import read_expectations
from tma_mlir.run.reference import copy_arguments

SIGNATURE = KernelSignature(
    "k",
    (),
    (
        MemRefArgument(dtype("f16"), (4, 8), (16, 1)),
        MemRefArgument(dtype("i32"), (None, 8), (None, 1)),
        ScalarArgument(dtype("i64")),
    ),
)
REST = {1: "zeros@2x8", 2: "7"}


def test_generated_arrays_have_the_memref_s_strides():
    array, other, number = make_arguments(SIGNATURE, {0: "iota", 1: "random:3@5x8", 2: "0x10"})
    assert isinstance(array, np.ndarray)
    assert isinstance(other, np.ndarray)
    assert array.strides == (32, 2)
    assert array[1, 0] == 8
    assert other.shape == (5, 8)
    assert number == 16


def test_small_numbers_have_exact_sums():
    array = make_arguments(SIGNATURE, {0: "small:1", **REST})[0]
    assert isinstance(array, np.ndarray)
    assert {-4, 0, 4} <= set(array.astype(int).ravel().tolist()) <= set(range(-4, 5))


def test_random_is_the_same_for_the_same_seed():
    first = make_arguments(SIGNATURE, {0: "random:1", **REST})[0]
    again = make_arguments(SIGNATURE, {0: "random:1", **REST})[0]
    other = make_arguments(SIGNATURE, {0: "random:2", **REST})[0]
    assert not compare([first], [again])
    assert compare([first], [other])


def test_files_are_read_and_checked(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((4, 8), np.float16))
    assert make_arguments(SIGNATURE, {0: str(path), **REST})[0].sum() == 32  # type: ignore[union-attr]
    np.save(path, np.ones((4, 9), np.float16))
    with pytest.raises(ArgumentError, match=r"has shape \[4, 9\], argument 0 is 4x8"):
        make_arguments(SIGNATURE, {0: str(path), **REST})
    np.save(path, np.ones((4, 8), np.float32))
    with pytest.raises(ArgumentError, match="holds float32, argument 0 is float16"):
        make_arguments(SIGNATURE, {0: str(path), **REST})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({0: "ones", **REST}, "'ones' is not a kind of array"),
        ({0: "random:x", **REST}, "'x' is not a seed"),
        ({0: "missing.npy", **REST}, "No such file"),
        ({1: "zeros", 2: "1"}, "give its shape, for example --arg 1=random:1@64x8"),
        ({1: "zeros@2x9", 2: "1"}, "argument 1 is [?]x8"),
        ({1: "zeros@2x8"}, "argument 2 is a number of type i64: give it with --arg 2=VALUE"),
        ({1: "zeros@2x8", 2: "pi"}, "argument 2 is a number of type i64"),
        ({3: "1", **REST}, "takes 3 arguments"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(given, message):
    with pytest.raises(ArgumentError, match=message):
        make_arguments(SIGNATURE, given)


OTHERS = KernelSignature(
    "k",
    (),
    (
        PointerArgument(),
        ValueArgument("!llvm.struct<(i8, vector<2xf32>, array<2 x i64>)>"),
        MemRefArgument(element_type("complex<f32>"), (4,), (1,)),
        MemRefArgument(element_type("vector<3xf32>"), (4,), (1,)),
    ),
)


def test_a_pointer_gets_memory_and_a_struct_its_numbers(tmp_path):
    memory, value, *_ = make_arguments(OTHERS, {0: "iota@2x4xi16", 1: "0x10,1.5,2,-3,4", 2: "zeros", 3: "zeros"})
    assert isinstance(memory, np.ndarray)
    assert (memory.dtype, memory.tolist()) == (np.int16, [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert value == (16, (1.5, 2.0), (-3, 4))
    np.save(tmp_path / "a.npy", np.array([1, 2, 3], np.uint8))
    memory = make_arguments(OTHERS, {0: str(tmp_path / "a.npy"), 1: "1,1,1,1,1"})[0]
    assert isinstance(memory, np.ndarray)
    assert (memory.dtype, memory.tolist()) == (np.uint8, [1, 2, 3])
    assert make_arguments(OTHERS, {0: "0", 1: "1,1,1,1,1"})[0] == 0


@pytest.mark.parametrize("kind", ["zeros", "iota", "random:3", "small:3"])
def test_arrays_of_other_elements_are_made_and_compared(kind):
    arrays = make_arguments(OTHERS, {0: "0", 1: "1,1,1,1,1", 2: kind, 3: kind})[2:]
    assert [each.itemsize for each in arrays] == [8, 16]  # type: ignore[union-attr]
    others = copy_arguments(arrays)
    assert not compare(arrays, others)
    others[1].reshape(-1).view(np.uint8)[20] ^= 1  # type: ignore[union-attr]
    (mismatch,) = compare(arrays, others)
    assert (mismatch.argument, mismatch.index) == (1, (1,))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"argument 0 is a pointer: say what it points to, as in --arg 0=zeros@1024xf32, or --arg 0=FILE\.npy"),
        ({0: "zeros"}, r"--arg 0=zeros: argument 0 is a pointer: write --arg 0=zeros@1024xf32"),
        ({0: "zeros@4"}, "argument 0 is a pointer: write"),
        ({0: "zeros@4xf99"}, "argument 0 is a pointer: write"),
        ({0: "zeros@-4xf32"}, "argument 0 is a pointer: write"),
        ({0: "ones@4xf32"}, "'ones' is not a kind of array"),
        ({0: "missing.npy"}, "No such file"),
        ({0: "0"}, r"argument 1 is !llvm\.struct<.*>, 5 numbers \(i8, f32, f32, i64, \.\.\.\): give them in order, as "
         r"in --arg 1=1,2,3,4,\.\.\."),
        ({0: "0", 1: "1,2,3,4"}, r"--arg 1=1,2,3,4: argument 1 is .*, 5 numbers"),
        ({0: "0", 1: "1,2,3,4,5.5"}, r"--arg 1=1,2,3,4,5\.5: argument 1 is .*, 5 numbers"),
    ],
)  # fmt: skip
def test_pointers_and_values_say_how_they_are_given(given, message):
    with pytest.raises(ArgumentError, match=message):
        make_arguments(OTHERS, given)


def test_comparison_is_by_bytes_and_says_where():
    nan = np.full((2, 2), np.nan, np.float32)
    assert not compare([nan], copy_arguments([nan]))
    other = nan.copy()
    other.view(np.uint32)[1, 0] ^= 1
    (mismatch,) = compare([other], [nan])
    assert (mismatch.argument, mismatch.count, mismatch.index) == (0, 1, (1, 0))


SIGNED_AND_UNSIGNED = {"i8": (-(2**7), 2**8 - 1), "i16": (-(2**15), 2**16 - 1), "i32": (-(2**31), 2**32 - 1),
                       "i64": (-(2**63), 2**64 - 1)}  # fmt: skip
RANGES = {**SIGNED_AND_UNSIGNED, "i1": (0, 1), "ui8": (0, 255), "si8": (-128, 127), "ui32": (0, 2**32 - 1)}


@pytest.mark.parametrize("name", RANGES)
def test_an_integer_takes_its_range_and_no_more(name):
    signature = KernelSignature("k", (), (ScalarArgument(element_type(name)),))
    for good in RANGES[name]:
        assert make_arguments(signature, {0: str(good)}) == [good]
        assert make_arguments(signature, {0: hex(good)}) == [good]
    low, high = RANGES[name]
    for bad in (low - 1, high + 1):
        with pytest.raises(ArgumentError, match=rf"--arg 0={bad}: {bad} does not fit {name} \({low} \.\. {high}\)"):
            make_arguments(signature, {0: str(bad)})
    for bad in ("1.5", "x", "inf"):
        with pytest.raises(ArgumentError, match=f"--arg 0={bad}: argument 0 is a number of type {name}"):
            make_arguments(signature, {0: bad})


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("f16", "65504", "65520"), ("bf16", "3e38", "3.4e38"), ("f32", "3.4e38", "1e39"), ("f64", "1e308", "1e400")],
)
def test_a_float_takes_its_range_and_infinity_by_name(name, good, bad):
    signature = KernelSignature("k", (), (ScalarArgument(dtype(name)),))
    for text in (good, f"-{good}", "inf", "-Infinity", "nan"):
        make_arguments(signature, {0: text})
    for text in (bad, f"-{bad}"):
        with pytest.raises(ArgumentError, match=rf"--arg 0={text}: .* does not fit {name}"):
            make_arguments(signature, {0: text})


@pytest.mark.parametrize(
    "content",
    [
        b"[]", b"5", b"{'descr': '<f1', 'fortran_order': False, 'shape': 'x'}", b"(" * 60000,
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
    ],
)  # fmt: skip
def test_headers_of_other_content_are_not_a_file(tmp_path, content):
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00" + len(content).to_bytes(4, "little") + content + bytes(64))
    with pytest.raises(ArgumentError, match=r"is not a \.npy file that can be read"):
        make_arguments(SIGNATURE, {0: str(path), **REST})


@pytest.mark.parametrize(
    ("text", "message"),
    [("zeros@99999999999x8", "and this machine has"), ("zeros@9223372036854775807x8", "there is no array of shape"),
     ("iota@99999999999999999999x8", "there is no array of shape")],
)  # fmt: skip
def test_arrays_that_no_memory_holds_are_refused(text, message):
    with pytest.raises(ArgumentError, match=message):
        make_arguments(SIGNATURE, {0: "zeros", 1: text, 2: "7"})


def test_a_part_of_a_file_is_not_dropped(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(8, np.float32))
    with pytest.raises(ArgumentError, match=r"a pointer, which points to all of a file\. Save the part by itself"):
        make_arguments(KernelSignature("k", (), (PointerArgument(),)), {0: f"{path}[0:2]"})
    signature = KernelSignature("k", (), (MemRefArgument(dtype("f32"), (8,), (1,)),))
    values = make_arguments(signature, {})
    with pytest.raises(ArgumentError, match=r"too many indices.*\(the file has shape \[8\]\)"):
        read_expectations({0: f"{path}[0,0,0]"}, signature, values)
