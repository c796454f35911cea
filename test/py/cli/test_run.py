"""``tma-run``: what it takes, what it compares with, and how it ends."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

DOUBLE = """
gpu.module @m {
  gpu.func @double(%in: memref<?x8xf32, strided<[?, 1]>>, %out: memref<4x8xf32>)
      kernel attributes {known_grid_size = array<i32: 1, 1, 1>} {
    %y = gpu.thread_id y
    %x = gpu.thread_id x
    %v = memref.load %in[%y, %x] : memref<?x8xf32, strided<[?, 1]>>
    %w = arith.addf %v, %v : f32
    memref.store %w, %out[%y, %x] : memref<4x8xf32>
    gpu.return
  }
}
"""
COPY = """
gpu.module @m {
  gpu.func @copy(%in: memref<4x8xTYPE>, %out: memref<4x8xTYPE>)
      kernel attributes {known_grid_size = array<i32: 1, 1, 1>, known_block_size = array<i32: 8, 4, 1>} {
    %y = gpu.thread_id y
    %x = gpu.thread_id x
    %v = memref.load %in[%y, %x] : memref<4x8xTYPE>
    memref.store %v, %out[%y, %x] : memref<4x8xTYPE>
    gpu.return
  }
}
"""
IN = np.arange(32, dtype=np.float32).reshape(4, 8) / 4 - 3
"""Multiples of a quarter, some negative: doubled without rounding."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A kernel that doubles its argument 0, and files for it."""
    made = tmp_path_factory.mktemp("run")
    (made / "double.mlir").write_text(DOUBLE)
    near = IN * 2
    near[1, 3] += 0.5
    whole = np.full((9, 30), 77, np.float32)
    whole[2:6, 5:13] = IN
    every_second = np.full((9, 8), 77, np.float32)
    every_second[1::2] = IN
    tall = np.full((40, 40), 77, np.float32)
    tall[:4, ::2][:, :8] = IN
    arrays = {
        "in": IN, "out": IN * 2, "near": near, "wide": (IN * 2).astype(np.float64), "short": near[:3],
        "fortran": np.asfortranarray(IN), "transposed": np.ascontiguousarray(IN.T).T, "whole": whole,
        "every_second": every_second, "tall": tall, "big_endian": IN.astype(">f4"), "strided": whole[2:6, 5:13],
        "backwards": np.ascontiguousarray(IN[::-1])[::-1],
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(made / f"{name}.npy", array)
    np.save(made / "object.npy", np.array([None]), allow_pickle=True)
    np.savez(made / "several.npz", a=IN)
    (made / "garbage.npy").write_bytes(b"garbage")
    (made / "cut.npy").write_bytes((made / "in.npy").read_bytes()[:-5])
    (made / "empty.npy").write_bytes(b"")
    return made


@pytest.fixture
def double(tma_run, folder, monkeypatch):
    """Runs the kernel in a folder with the files; argument 0 is ``in.npy`` unless another is given."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        flags = itertools.pairwise(arguments)
        given = any(flag == "--arg" and value.startswith("0=") for flag, value in flags)
        return tma_run("double.mlir", "--block", "8x4", *([] if given else ["--arg", "0=in.npy"]), *arguments)

    return call


def test_a_result_that_is_expected(double):
    outcome = double("--expect", "1=out.npy", "--out", "1=result")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("resources: a thread has ")
    assert lines[1:] == [
        "executed: no bulk copy",
        "verified: @double on the simulator (sm_90a): argument 1 equals out.npy; nothing else was checked",
        "changed: argument 1 (f32 4x8)",
    ]
    np.testing.assert_array_equal(np.load("result"), IN * 2)


def test_nothing_compared_is_not_called_verified(double):
    outcome = double()
    assert outcome.code == 0
    text = "ran: @double on the simulator (sm_90a): nothing was compared, since it has no tile.copy_async and no"
    assert text in outcome.out
    assert "verified" not in outcome.out


def test_another_result_ends_with_3_and_says_where(double):
    outcome = double("--expect", "1=near.npy", "--expect", "0=out.npy", "--out", "1=kept")
    assert outcome.code == 3
    assert "verified" not in outcome.out
    # in[1, 3] is 11/4 - 3 = -1/4, and in[0, 0] is -3.
    assert outcome.err == (
        "tma-run: error: ran @double on the simulator (sm_90a); argument 0 does not equal out.npy:\n"
        "  argument 0: 31 of 32 elements differ, first at [0, 0]: found -3.0, expected -6.0\n"
        "tma-run: error: ran @double on the simulator (sm_90a); argument 1 does not equal near.npy:\n"
        "  argument 1: 1 of 32 elements differ, first at [1, 3]: found -0.5, expected 0.0\n"
    )
    np.testing.assert_array_equal(np.load("kept"), IN * 2)


@pytest.mark.parametrize(
    ("tolerance", "words"), [(":atol=0.5", " within atol 0.5"), (":rtol=1:atol=.5", " within rtol 1, atol 0.5")]
)
def test_a_tolerance_is_said(double, tolerance, words):
    outcome = double("--expect", f"1=near.npy{tolerance}")
    assert outcome.code == 0
    assert f"argument 1 equals near.npy{words}; nothing else was checked" in outcome.out


@pytest.mark.parametrize("tolerance", [":atol=0.49", ":rtol=1000000"])
def test_a_tolerance_is_that_of_numpy(double, tolerance):
    """``|-0.5 - 0| <= atol + rtol * |0|``."""
    assert double("--expect", f"1=near.npy{tolerance}").code == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1=short.npy", "--expect 1=short.npy: has shape [3, 8], argument 1 has [4, 8]"),
        ("1=wide.npy", "--expect 1=wide.npy: holds float64, argument 1 is float32. Convert it with .astype(numpy.fl"),
        ("1=missing.npy", "--expect 1=missing.npy: cannot open 'missing.npy': No such file or directory"),
        ("1=.", "--expect 1=.: cannot open '.': Is a directory"),
        ("1=several.npz", "'several.npz' is not a .npy file that can be read"),
        ("1=garbage.npy", "'garbage.npy' is not a .npy file that can be read"),
        ("1=cut.npy", "'cut.npy' is not a .npy file that can be read"),
        ("1=empty.npy", "'empty.npy' is not a .npy file that can be read"),
        ("1=object.npy", "'object.npy' is not a .npy file that can be read"),
        ("2=out.npy", "--expect 2: kernel @double takes 2 arguments, numbered from 0"),
        ("1=whole.npy[0:4,0,0]", "too many indices"),
        ("1=whole.npy[99]", "index 99 is out of bounds"),
        ("1=near.npy:rtol=x", "rtol is 'x', needed: a number of at least 0, as rtol=1e-3"),
        ("1=near.npy:atol=-1", "atol is '-1', needed"),
        ("1=near.npy:atol=nan", "atol is 'nan', needed"),
        ("1=near.npy:tol=1", "there is no option 'tol' here; known: rtol, atol"),
        ("1=near.npy:pitch=64", "there is no option 'pitch' here; known: rtol, atol"),
    ],
)
def test_what_cannot_be_expected_is_wrong_input(double, text, message):
    outcome = double("--expect", text)
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err
    assert outcome.err.startswith("tma-run: error: --expect ")


@pytest.mark.parametrize(
    "given",
    [
        "in.npy:pitch=48", "in.npy:pitch=32", "fortran.npy", "transposed.npy", "strided.npy", "backwards.npy",
        "big_endian.npy", "whole.npy[2:6,5:13]", "whole.npy[2:6,5:13]:pitch=128", "every_second.npy[1::2,:]",
        "every_second.npy[1::2]",
    ],
)  # fmt: skip
def test_views_pitches_and_orders_of_a_file_mean_the_same_array(double, given):
    outcome = double("--arg", f"0={given}", "--expect", "1=out.npy", "--expect", "0=in.npy")
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0=in.npy:pitch=16", "pitch=16, and a row has 32 B. Make it 32 or more"),
        ("0=in.npy:pitch=33", "pitch=33 is not a multiple of the element size 4 B"),
        ("0=in.npy:pitch=-64", "pitch is '-64', needed: bytes from row to row"),
        ("0=in.npy:pitch=", "pitch is '', needed"),
        ("1=zeros:pitch=64", "pitch=64, but rows of argument 1 are 32 B apart"),
        ("0=whole.npy[::-1,0:8]", "A tensor cannot be walked backwards"),
        ("0=tall.npy[0:4,0:16:2]", "dimension 1 has stride 2 elements, needed: 1"),
        ("0=whole.npy[2:6]", "has shape [4, 30], argument 0 is ?x8"),
        ("0=whole.npy[2:6,5:13,0]", "too many indices"),
        ("0=whole.npy[a:6,5:13]", "'a:6' is not a slice; write [8:40,0:64]"),
        ("0=wide.npy", "holds float64, argument 0 is float32"),
        ("7=zeros", "--arg 7: kernel @double takes 2 arguments, numbered from 0"),
    ],
)
def test_what_does_not_fit_the_argument_is_wrong_input(double, given, message):
    outcome = double("--arg", given)
    assert outcome.code == 1
    assert message in outcome.err


FLOATS = {
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, np.uint8),
    "f8E5M2": (ml_dtypes.float8_e5m2, np.uint8),
}


@pytest.mark.parametrize("element", FLOATS)
def test_files_of_floats_that_numpy_does_not_name(tma_run, tmp_path, monkeypatch, element):
    monkeypatch.chdir(tmp_path)
    dtype, bits = FLOATS[element]
    array = (np.arange(32).reshape(4, 8) % 7 - 3).astype(dtype)
    other = array.copy()
    other[2, 5] = 6
    np.save("in.npy", array)
    np.save("other.npy", other)
    np.save("bits.npy", array.view(bits))
    np.save("fortran.npy", np.asfortranarray(array))
    (tmp_path / "k.mlir").write_text(COPY.replace("TYPE", element))
    for given, wanted in (("in", "bits"), ("fortran", "in"), ("bits", "fortran")):
        outcome = tma_run("k.mlir", "--arg", f"0={given}.npy", "--expect", f"1={wanted}.npy", "--out", "1=out.npy")
        assert (outcome.code, outcome.err) == (0, "")
        assert (tmp_path / "out.npy").read_bytes()[-32 * array.itemsize :] == array.tobytes()
    # 21 % 7 - 3 = -3
    outcome = tma_run("k.mlir", "--arg", "0=out.npy", "--expect", "1=other.npy")
    assert outcome.code == 3
    assert "1 of 32 elements differ, first at [2, 5]: found -3, expected 6" in outcome.err
    assert tma_run("k.mlir", "--arg", "0=in.npy", "--expect", "1=other.npy:atol=9").code == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "@double does not say its block: give it with --block, or add known_block_size to the gpu.func"),
        (["--block", "0"], "block is (0, 1, 1), needed: at least 1 each"),
        (["--block", "8x4", "--grid", "2"], "grid (2, 1, 1), but kernel 'double' was compiled for (1, 1, 1). Leave the "
         "option out, or pass (1, 1, 1)"),
        (["--block", "8x4", "--cluster", "2"], "grid (1, 1, 1) is not a multiple of the cluster (2, 1, 1)"),
        (["--block", "2000"], "2000"),
        (["--block", "8x4", "--kernel", "other"], "--kernel other: the module has no such kernel; it has double"),
        (["--block", "8x4", "--out", "1=/no/such/x"], "--out 1=/no/such/x: the folder /no/such does not exist"),
        (["--block", "8x4", "--out", "1=."], "--out 1=.: this is a folder; needed: a file"),
        (["--block", "8x4", "--out", "7=x"], "--out 7: kernel @double takes 2 arguments, numbered from 0"),
    ],
)  # fmt: skip
def test_extents_names_and_outputs_that_do_not_fit_are_wrong_input(tma_run, folder, monkeypatch, flags, message):
    monkeypatch.chdir(folder)
    outcome = tma_run("double.mlir", "--arg", "0=in.npy", *flags)
    assert outcome.code == 1
    assert message in outcome.err


@pytest.mark.parametrize("grid", ["1", "1x1", "1,1,1"])
def test_extents_that_agree_with_the_kernel(double, grid):
    assert double("--grid", grid, "--expect", "1=out.npy").code == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--block", "8x4x1x1"], "argument --block: '8x4x1x1' is not one to three numbers, as 47, 47x32 or 47,32,1"),
        (["--grid", "-1"], "--grid"),
        (["--arg", "x=1"], "argument --arg: 'x=1': write 0=VALUE, with the argument's position from 0"),
        (["--expect", "1"], "argument --expect: '1': write 0=VALUE"),
        (["--arg", "1=zeros", "--arg", "1=iota"], "--arg 1=iota: argument 1 is given twice"),
        (["--emit", "plan,sass"], "argument --emit: 'sass' is not a stage; there are plan, nvgpu, lowered, ptx, cubin"),
        (["--emit", "cubin"], "a cubin is binary and is not written to the screen. Name a folder with --out-dir"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu' (choose from"),
        (["--schedules", "0"], "argument --schedules: 0 is not a positive number"),
        (["--chip", "sm_89"], "argument --chip: unknown chip 'sm_89'. TMA exists from sm_90 on; known chips: sm_90, "),
        (["--exp", "1=out.npy"], "unrecognized arguments: --exp"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_it_may_be(double, flags, message):
    outcome = double(*flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("tma-run: error: ")
    assert message in outcome.err


def test_the_plan_on_the_screen_is_a_module_and_the_report_stands_elsewhere(double):
    outcome = double("--emit", "plan", "--expect", "1=out.npy")
    assert outcome.code == 0
    assert re.match(r"module \{\n[^:]*gpu.func @double.*\}\n\Z", outcome.out, re.DOTALL)
    assert "verified: " in outcome.err


@pytest.mark.parametrize(
    ("element", "text", "message"),
    [
        ("i8", "300", "300 does not fit i8 (-128 .. 255)"),
        ("f32", "1e39", "1e+39 does not fit f32 (largest: 3.4028234663852886e+38)"),
    ],
)
def test_a_number_out_of_range_is_wrong_input(tma_run, tmp_path, element, text, message):
    file = tmp_path / "k.mlir"
    file.write_text(
        f"gpu.module @m {{ gpu.func @k(%i: {element}) kernel attributes {{known_block_size = array<i32: 1, 1, 1>, "
        "known_grid_size = array<i32: 1, 1, 1>} { gpu.return } }"
    )
    outcome = tma_run(file, "--arg", f"0={text}")
    assert (outcome.code, outcome.err) == (1, f"tma-run: error: --arg 0={text}: {message}\n")
    assert tma_run(file, "--arg", "0=100").code == 0


EXAMPLE = (Path(__file__).parents[3] / "examples" / "load_f32.mlir").read_text()
NEVER = EXAMPLE.replace("%leader = arith.cmpi eq, %thread, %c0", "%leader = arith.cmpi eq, %thread, %never").replace(
    "%c0 = arith.constant 0 : index", "%c0 = arith.constant 0 : index\n      %never = arith.constant 64 : index"
)
WAIT = "nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier"


def test_a_copy_that_was_not_executed_is_not_called_verified(tma_run, tmp_path):
    file = tmp_path / "never.mlir"
    file.write_text(NEVER.replace(WAIT, ""))
    outcome = tma_run(str(file), "--check", "none")
    assert outcome.code == 0, outcome.err
    assert "nothing was compared, since none of its 1 copy was executed" in outcome.out
    assert "verified" not in outcome.out
