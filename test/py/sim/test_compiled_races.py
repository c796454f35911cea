"""Races, and what looks like them, in kernels that the compiler makes: at the edges of tiles, and around stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tma_mlir.testing
from support import copy_kernels
from tma_mlir.compile.compiler import compile_file, compile_text
from tma_mlir.sim.errors import SimulationError

PROXY_FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}"


def loaded_and_compared(tensor_type: str, tensor: np.ndarray, sizes: tuple[int, ...], element: str, **options) -> None:
    """A tile at the edge of ``tensor`` through whatever way is planned, in several schedules: equal to NumPy's."""
    text = copy_kernels.load(tensor_type, sizes, element=element, **options)
    expected = np.zeros(sizes, tensor.dtype)
    inside = tuple(slice(0, min(n, m)) for n, m in zip(sizes, tensor.shape, strict=True))
    expected[inside] = tensor[inside]
    out = np.empty(expected.size, tensor.dtype)
    compiled = compile_text(text, keep=("lowered",), assemble_cubin=False)
    tma_mlir.testing.simulate(compiled, args=[tensor, out], schedules=3)
    np.testing.assert_array_equal(out.reshape(sizes), expected)


@pytest.mark.parametrize(
    ("shape", "sizes", "element", "dtype"),
    [
        ((4, 9), (4, 12), "f32", np.float32),
        ((3, 10), (5, 14), "f32", np.float32),
        ((3, 7), (4, 8), "i8", np.int8),
        ((2, 3, 5), (2, 4, 6), "f16", np.float16),
        ((2, 2, 9), (2, 3, 10), "i32", np.int32),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_zeros_beside_copies_at_an_edge(shape, sizes, element, dtype, dynamic):
    """Threads zero what lies outside, beside bytes that cp.async fills in the same 16: other bytes are no race."""
    tensor = np.arange(1, np.prod(shape) + 1).astype(dtype).reshape(shape)
    if dynamic and len(shape) == 2:
        padded = np.zeros((shape[0], 16), dtype)
        padded[:, : shape[1]] = tensor
        tensor = padded[:, : shape[1]]
    extents = ["?"] * len(shape) if dynamic else list(shape)
    loaded_and_compared(copy_kernels.global_type(extents, element), tensor, sizes, element)


def stored_then_loaded(element: str, columns: int, wait: str) -> str:
    """Thread 0 stores a tile to ``%g``, waits, loads it back and stores it to ``%o``."""
    shape = f"16x{columns}x{element}"
    tile = f"memref<{shape}, #gpu.address_space<workgroup>>"
    zeros = "static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>"
    return f"""
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    memref.global "private" @tile : {tile}
    memref.global "private" @back : {tile}
    gpu.func @k(%g: memref<{shape}>, %i: memref<{shape}>) kernel
        attributes {{known_block_size = array<i32: {columns}, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %false = arith.constant false
      %t = gpu.thread_id x
      %first = arith.cmpi eq, %t, %c0 : index
      %tile = memref.get_global @tile : {tile}
      %back = memref.get_global @back : {tile}
      %bar = nvgpu.mbarrier.create -> !bar
      scf.if %first {{
        nvgpu.mbarrier.init %bar[%c0], %c1 : !bar
      }}
      scf.for %r = %c0 to %c16 step %c1 {{
        %v = memref.load %i[%r, %t] : memref<{shape}>
        memref.store %v, %tile[%r, %t] : {tile}
      }}
      {PROXY_FENCE}
      gpu.barrier
      scf.if %first {{
        "tile.copy_async"(%tile, %g) {{{zeros},
          sizes = array<i64: 16, {columns}>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
        }} : ({tile}, memref<{shape}>) -> ()
        "tile.commit_group"() : () -> ()
        "tile.wait_group"() {{pending = 0 : i64{wait}}} : () -> ()
        "tile.copy_async"(%g, %back, %bar, %c0) {{{zeros},
          sizes = array<i64: 16, {columns}>, expect_tx, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>
        }} : (memref<{shape}>, {tile}, !bar, index) -> ()
      }}
      "tile.wait"(%bar, %c0, %false) : (!bar, index, i1) -> ()
      gpu.return
    }}
  }}
}}
"""


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f16", np.float16), ("i8", np.int8)])
def test_a_stored_tile_is_loaded_again(element, dtype):
    """``wait_group`` with ``read`` waits for the tile alone: what it wrote need not be visible yet."""
    columns = 64
    for wait, clean in ((", read", False), ("", True)):
        text = stored_then_loaded(element, columns, wait)
        compiled = compile_text(text, keep=("lowered",), assemble_cubin=False)
        arrays = [np.zeros((16, columns), dtype), np.ones((16, columns), dtype)]
        if clean:
            tma_mlir.testing.simulate(compiled, args=arrays, schedules=3)
            continue
        with pytest.raises(SimulationError) as error:
            tma_mlir.testing.simulate(compiled, args=arrays)
        assert error.value.kind == "store not complete"
        lines = text.splitlines()
        found = [lines[int(place.split(":")[1]) - 1] for place in error.value.locations]
        assert "(%g, %back" in found[0]
        assert "(%tile, %g)" in found[1]


CASES = Path(__file__).resolve().parents[4] / "shared/cases"


@pytest.mark.parametrize(
    ("name", "shapes", "kind"),
    [
        ("22_read_wait_then_load", [(16, 64)] * 3, "store not complete"),
        ("30_cp_async_edge", [(4, 9), (4, 12)], ""),
        ("31_halo_34", [(200, 300)], ""),
    ],
)
def test_cases(name, shapes, kind):
    path = CASES / f"{name}.mlir"
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    compiled = compile_file(path, keep=("lowered",), assemble_cubin=False)
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    if not kind:
        tma_mlir.testing.simulate(compiled, args=arrays)
        return
    with pytest.raises(SimulationError) as error:
        tma_mlir.testing.simulate(compiled, args=arrays)
    assert error.value.kind == kind
