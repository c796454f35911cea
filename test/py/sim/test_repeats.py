"""A bulk operation that several threads issue although one should."""

from __future__ import annotations

import numpy as np
import pytest

import tma_mlir.testing
from support import copy_kernels
from tma_mlir.sim.errors import SimulationError

KERNEL = """
!tile = memref<16x32x{element}, #gpu.address_space<workgroup>>
module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    memref.global "private" @tile : !tile
    gpu.func @k(%g: memref<{rows}x32x{element}>, %i: memref<16x32x{element}>) kernel
        attributes {{known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %n = arith.constant 512 : index
      %nt = arith.constant 64 : index
      %t = gpu.thread_id x
      %tile = memref.get_global @tile : !tile
      scf.for %l = %t to %n step %nt {{
        %x = arith.remui %l, %c32 : index
        %q = arith.divui %l, %c32 : index
        %v = memref.load %i[%q, %x] : memref<16x32x{element}>
        memref.store %v, %tile[%q, %x] : !tile
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      gpu.barrier
      {condition}
      scf.if %who {{
        "tile.copy_async"(%tile, %g{offset}) {{
          static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: {start}, 0>,
          sizes = array<i64: 16, 32>, {variant}operandSegmentSizes = array<i32: 1, 1, 0, {dynamic}, 0, 0, 0, 0, 0>
        }} : (!tile, memref<{rows}x32x{element}>{types}) -> ()
        "tile.commit_group"() : () -> ()
        "tile.wait_group"() {{pending = 0 : i64}} : () -> ()
      }}
      gpu.return
    }}
  }}
}}
"""
WARP = "%who = arith.cmpi ult, %t, %c32 : index"
EIGHT = "%c8 = arith.constant 8 : index\n      %who = arith.cmpi ult, %t, %c8 : index"
EACH_WARP = "%lane = arith.remui %t, %c32 : index\n      %who = arith.cmpi eq, %lane, %c0 : index"
ONE = "%who = arith.cmpi eq, %t, %c32 : index"
WHOLE_BLOCK = "%who = arith.cmpi ult, %t, %nt : index"


def execute(condition: str, element: str = "f32", reduction: str = "", dynamic: bool = False, schedules: int = 1):
    text = KERNEL.format(
        element=element,
        rows=64,
        condition=condition,
        offset=", %c16" if dynamic else "",
        types=", index" if dynamic else "",
        dynamic=int(dynamic),
        start=-(1 << 63) if dynamic else 16,
        variant=f'reduce = "{reduction}", ' if reduction else "",
    )
    dtype = {"f32": np.float32, "f16": np.float16, "i32": np.int32}[element]
    x = np.arange(512).reshape(16, 32).astype(dtype)
    out = np.zeros((64, 32), dtype)
    result = tma_mlir.testing.simulate(text, args=[out, x], schedules=schedules)
    np.testing.assert_array_equal(out[16:32], x)
    return result


def place(condition: str) -> str:
    """Where the copy is."""
    line = KERNEL.replace("{condition}", condition).split('"tile.copy_async"')[0].count("\n") + 1
    return f"-:{line}:9"


@pytest.mark.parametrize(
    ("condition", "who"),
    [(WARP, "32 lanes"), (EIGHT, "8 lanes"), (WHOLE_BLOCK, "32 lanes"), (EACH_WARP, "warps 0 and 1")],
    ids=["warp", "eight lanes", "block", "each warp"],
)
@pytest.mark.parametrize(("element", "dynamic"), [("f32", False), ("f16", True), ("i32", False)])
def test_a_store_by_many_threads_is_a_warning(condition, who, element, dynamic):
    (finding,) = execute(condition, element, dynamic=dynamic).findings
    assert finding.kind == "repeated store"
    assert who in finding.message
    assert finding.location == place(condition)


@pytest.mark.parametrize("condition", [WARP, EIGHT, EACH_WARP], ids=["warp", "eight lanes", "each warp"])
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_a_reduction_by_many_threads_is_an_error(condition, element):
    with pytest.raises(SimulationError) as error:
        execute(condition, element, "add")
    assert error.value.kind == "repeated reduction"
    assert "times" in error.value.message
    assert error.value.location == place(condition)


@pytest.mark.parametrize("reduction", ["", "add", "max"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_thread_is_right(reduction, dynamic):
    assert execute(ONE, "i32", reduction, dynamic, schedules=5).findings == ()


@pytest.mark.parametrize("columns", [33, 35])
def test_a_store_that_threads_do_is_not_missed(columns):
    # The pitch is not a multiple of 16 bytes: threads copy, and the wait for bulk groups finds none.
    text = KERNEL.format(
        element="f32", rows=64, condition=ONE, offset="", types="", dynamic=0, start=16, variant=""
    ).replace("memref<64x32xf32>", f"memref<64x{columns}xf32>")
    x, out = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((64, columns), np.float32)
    result = tma_mlir.testing.simulate(text, args=[out, x], schedules=2)
    np.testing.assert_array_equal(out[16:32, :32], x)
    assert "nothing stored" not in [finding.kind for finding in result.findings]


def test_a_store_whose_predicate_is_off_is_not_missed():
    off = f"""
      %zero = arith.constant 0 : i32
      %first = memref.load %i[%c0, %c0] : memref<16x32xi32>
      %on = arith.cmpi ne, %first, %zero : i32
      {ONE}"""
    text = KERNEL.format(
        element="i32", rows=64, condition=off, offset=", %on", types=", i1", dynamic=0, start=16, variant=""
    ).replace("1, 1, 0, 0, 0, 0, 0, 0, 0>", "1, 1, 0, 0, 0, 0, 1, 0, 0>")
    x, out = np.arange(512, dtype=np.int32).reshape(16, 32), np.zeros((64, 32), np.int32)
    assert tma_mlir.testing.simulate(text, args=[out, x]).findings == ()
    assert not out.any()


def test_stores_that_the_compiler_rightly_drops_are_not_missed():
    off = KERNEL.format(
        element="f32", rows=64, condition=f"%off = arith.constant false\n      {ONE}", offset=", %off", types=", i1",
        dynamic=0, start=16, variant="",
    ).replace("1, 1, 0, 0, 0, 0, 0, 0, 0>", "1, 1, 0, 0, 0, 0, 1, 0, 0>")  # fmt: skip
    x, out = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((64, 32), np.float32)
    assert tma_mlir.testing.simulate(off, args=[out, x]).findings == ()
    assert not out.any()
    # All that threads would store is outside of the tensor.
    outside = copy_kernels.store("memref<3x33xf32>", [1, 32], element="f32", offsets=[3, 0])
    row, out = np.ones(32, np.float32), np.zeros((3, 33), np.float32)
    assert tma_mlir.testing.simulate(outside, args=[row, out]).findings == ()
    assert not out.any()
