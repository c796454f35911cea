"""``kernel.simulate``: what ``kernel[grid, block](...)`` does, without a GPU."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tma_mlir
from tma_mlir.compile.compiler import CompileError
from tma_mlir.runtime.errors import ArgumentTypeError
from tma_mlir.sim.errors import SimulationError

EXAMPLES = Path(__file__).parents[3] / "examples"

TOP = Path(__file__).resolve().parents[3]

COPY = """
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {{
  memref.global "private" @tile : memref<8x64x{type}, #gpu.address_space<workgroup>>
  gpu.func @copy(%in: {memref}, %out: {memref}) kernel {attributes} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %false = arith.constant false
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %row = arith.muli %b, %c8 : index
    %leader = arith.cmpi eq, %t, %c0 : index
    %tile = memref.get_global @tile : memref<8x64x{type}, #gpu.address_space<workgroup>>
    %bar = nvgpu.mbarrier.create -> !bar
    scf.if %leader {{
      nvgpu.mbarrier.init %bar[%c0], %c1 : !bar
    }}
    gpu.barrier
    scf.if %leader {{
      "tile.copy_async"(%in, %tile, %row, %bar, %c0) {{
        static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 8, 64>, expect_tx, in_bounds, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
      }} : ({memref}, memref<8x64x{type}, #gpu.address_space<workgroup>>, index, !bar, index) -> ()
    }}
    {wait}
    scf.if %leader {{
      "tile.copy_async"(%tile, %out, %row) {{
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: -9223372036854775808, 0>,
        sizes = array<i64: 8, 64>, in_bounds, operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>
      }} : (memref<8x64x{type}, #gpu.address_space<workgroup>>, {memref}, index) -> ()
      "tile.commit_group"() : () -> ()
      "tile.wait_group"() {{pending = 0 : i64}} : () -> ()
    }}
    gpu.return
  }}
}}
"""
WAIT = '"tile.wait"(%bar, %c0, %false) : (!bar, index, i1) -> ()'


def kernel(type_: str, memref: str = "memref<?x64x{}>", attributes: str = "", wait: str = WAIT):
    attributes = f"attributes {{{attributes}}}" if attributes else ""
    text = COPY.format(type=type_, memref=memref.format(type_), attributes=attributes, wait=wait)
    return tma_mlir.compile(text, "sm_90a", cache=False)


@pytest.fixture(scope="module")
def dynamic():
    """8 rows of 64 f32 a block."""
    return kernel("f32")


@pytest.mark.parametrize(
    ("type_", "numpy", "grid"), [("f16", np.float16, 2), ("i32", np.int32, (3,)), ("bf16", ml_dtypes.bfloat16, (1, 1))]
)
def test_arrays_are_changed_in_place(type_, numpy, grid):
    rows = 8 * (grid if isinstance(grid, int) else grid[0])
    x = np.arange(rows * 64).reshape(rows, 64).astype(numpy)
    y = np.zeros_like(x)
    result = kernel(type_).simulate(grid, 32, x, y, schedules=3)
    np.testing.assert_array_equal(y, x)
    assert result.findings == ()
    assert result.steps > 0
    size = 8 * 64 * x.itemsize
    assert (result.transfers, result.transfer_bytes) == (rows // 4, rows // 4 * size)
    assert [(each.count, each.bytes) for each in result.issued] == [(rows // 8, rows // 8 * size)] * 2
    assert [each.what.split()[1] for each in result.issued] == ["load", "store"]


def test_a_view_and_a_read_only_array(dynamic):
    parent = np.zeros((8, 64), np.float32)
    x = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
    x.flags.writeable = False
    dynamic.simulate(1, 32, x[8:], parent)
    np.testing.assert_array_equal(parent, x[8:])
    with pytest.raises(ArgumentTypeError, match="negative strides"):
        dynamic.simulate(1, 32, x[::-1], parent)
    with pytest.raises(ArgumentTypeError, match=r"dimension 1 has stride 8 elements, needed: 1"):
        dynamic.simulate(1, 32, np.zeros((64, 8), np.float32).T, parent)


def test_a_read_only_array_is_never_changed(dynamic):
    x, y = np.ones((8, 64), np.float32), np.zeros((8, 64), np.float32)
    y.flags.writeable = False
    dynamic.simulate(1, 32, x, y)
    assert not y.any()


@pytest.mark.parametrize(
    ("grid", "block", "arrays", "error", "message"),
    [
        (None, 32, None, TypeError, "does not say its grid: pass grid="),
        (1, None, None, TypeError, "does not say its block"),
        ((1, 2, 3, 4), 32, None, TypeError, "one to three integers"),
        (1, 0, None, ValueError, "at least 1 each"),
        (1, 2048, None, ValueError, r"block is \(2048, 1, 1\), needed: at most"),
        (1, 32, [np.zeros((8, 64), np.float32)], ArgumentTypeError, "1 arguments given, needed: 2"),
        (1, 32, [np.zeros((8, 64), np.int32)] * 2, ArgumentTypeError, "elements are int32, needed: f32"),
        (1, 32, [np.zeros((8, 32), np.float32)] * 2, ArgumentTypeError, "dimension 1 has 32 elements, needed: 64"),
        (1, 32, [3, np.zeros((8, 64), np.float32)], ArgumentTypeError, "int is given, needed: an array"),
    ],
)
def test_launches_are_checked_as_on_a_gpu(dynamic, grid, block, arrays, error, message):
    with pytest.raises(error, match=message):
        dynamic.simulate(grid, block, *(arrays or [np.zeros((8, 64), np.float32)] * 2))


def test_what_the_module_says_is_kept():
    fixed = kernel("f32", attributes="known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>")
    x, y = np.ones((8, 64), np.float32), np.zeros((8, 64), np.float32)
    fixed.simulate(None, None, x, y)
    assert y.all()
    with pytest.raises(ValueError, match=r"grid \(2, 1, 1\), but kernel 'copy' was compiled for \(1, 1, 1\)"):
        fixed.simulate(2, None, x, y)
    with pytest.raises(ValueError, match=r"not a multiple of the cluster \(2, 1, 1\)"):
        fixed.simulate(None, None, x, y, cluster=2)


def test_nothing_to_do_is_done(dynamic):
    empty = np.zeros((0, 64), np.float32)
    assert dynamic.simulate(1, 32, empty, empty).steps == 0
    x, y = np.ones((8, 64), np.float32), np.zeros((8, 64), np.float32)
    assert dynamic.simulate(0, 32, x, y).steps == 0
    assert not y.any()


def test_races_are_found_unless_checks_are_off():
    racy = kernel("f16", wait="gpu.barrier")
    x, y = np.ones((8, 64), np.float16), np.zeros((8, 64), np.float16)
    with pytest.raises(SimulationError):
        racy.simulate(1, 32, x, y)
    racy.simulate(1, 32, x, y, check=False)


def test_clusters_profile_and_timeline(dynamic, tmp_path):
    x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    result = dynamic.simulate(2, 32, x, y, cluster=2, profile=True, trace=tmp_path / "trace.json")
    assert y.all()
    assert result.profile is not None
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_a_kernel_out_of_the_cache_can_be_simulated_and_a_loaded_one_cannot(tmp_path, monkeypatch):
    monkeypatch.setenv("TMA_MLIR_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        made = tma_mlir.compile(TOP / "examples" / "copy_8x256.mlir", "sm_90a")
    x, out = np.arange(2048, dtype=np.float16).reshape(8, 256), np.zeros((8, 256), np.float16)
    made.simulate(None, None, x, out)
    assert sorted(out.ravel().tolist()) == x.ravel().tolist()
    made.save(tmp_path / "kernel")
    assert not hasattr(tma_mlir.Kernel.load(tmp_path / "kernel"), "simulate")


def test_each_of_several_kernels_is_simulated_by_itself():
    body = """gpu.func @{name}(%out: memref<32xi32>) kernel {{
      %x = gpu.thread_id x
      %v = arith.constant {value} : i32
      memref.store %v, %out[%x] : memref<32xi32>
      gpu.return
    }}"""
    text = "\n".join(body.format(name=f"fill{value}", value=value) for value in (3, 5))
    kernels = tma_mlir.compile_all(f"gpu.module @m {{ {text} }}", "sm_90a", cache=False)
    for name, value in (("fill5", 5), ("fill3", 3)):
        out = np.zeros(32, np.int32)
        kernels[name].simulate(1, 32, out)
        assert (out == value).all()


def test_a_grid_that_would_take_days_is_refused():
    text = (
        "gpu.module @m { gpu.func @k(%a: memref<4xi32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} "
        "{ gpu.return } }"
    )
    kernel = tma_mlir.compile(text, "sm_90a")
    with pytest.raises(SimulationError, match=r"a grid of 2147483647 blocks.*at most 16777216 are simulated"):
        kernel.simulate(2**31 - 1, None, np.zeros(4, np.int32))


@pytest.mark.parametrize(
    ("option", "value"), [("schedules", 0), ("schedules", -5), ("schedules", 1.5), ("max_steps", 0)]
)
def test_counts_are_positive_integers(option, value):
    kernel = tma_mlir.compile(EXAMPLES / "load_f32.mlir", "sm_90a")
    arrays = np.zeros((40, 100), np.float32), np.zeros((32, 64), np.float32)
    with pytest.raises(ValueError, match=f"{option} is .*needed: an integer, 1 or more"):
        kernel.simulate(1, 64, *arrays, **{option: value})


@pytest.mark.parametrize(
    ("layout", "found"), [("[2048], [-1]", "-2047..0"), ("[2048], [2]", "0..4094"), ("[32, 64], [72, 1]", "0..2295")]
)
def test_a_layout_stays_in_its_tile(layout, found):
    text = (EXAMPLES / "load_f32.mlir").read_text()
    text = text.replace("expect_tx,", f"expect_tx, destination_layout = #tile.layout<{layout}>,")
    said = f"leaves the tile: its elements are {found}, the memref has 0..2047"
    with pytest.raises(CompileError, match=said):
        tma_mlir.compile(text, "sm_90a")
