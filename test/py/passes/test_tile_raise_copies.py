"""Raised kernels move the bytes that the ordinary copies meant, on the simulator with its race checks on."""

from __future__ import annotations

import numpy as np
import pytest

from tma_mlir.compile.compiler import compile_text, parse
from tma_mlir.diagnostics import collecting
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline
from tma_mlir.run.execute import run_simulator

ROUND_TRIP = """
!tile = memref<16x64xf32, #gpu.address_space<workgroup>>
!part = memref<16x64xf32, strided<[128, 1], offset: ?>>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    memref.global "private" @tile : !tile
    gpu.func @kernel(%in: memref<64x128xf32>, %out: memref<64x128xf32>) kernel
        attributes {{known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 2, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %column = arith.muli %block, %c64 : index
      %tile = memref.get_global @tile : !tile
      {body}
      gpu.return
    }}
  }}
}}
"""

COPIES = """
        %from = memref.subview %in[%row, %column] [16, 64] [1, 1] : memref<64x128xf32> to !part
        %to = memref.subview %out[%row, %column] [16, 64] [1, 1] : memref<64x128xf32> to !part
        memref.copy %from, %tile : !part to !tile
        linalg.copy ins(%tile : !tile) outs(%to : !part)
"""

BODIES = {
    "once": ("%row = arith.constant 16 : index" + COPIES, slice(16, 32)),
    "loop": (f"scf.for %row = %c0 to %c64 step %c16 {{{COPIES}}}", slice(0, 64)),
    "loop from elsewhere": (f"scf.for %row = %c16 to %c64 step %c16 {{{COPIES}}}", slice(16, 64)),
    "nested loops": (
        "scf.for %half = %c0 to %c64 step %c32 { scf.for %part = %c0 to %c32 step %c16 {"
        f"%row = arith.addi %half, %part : index {COPIES}}} }}",
        slice(0, 64),
    ),
    "branch in a loop": (
        f"scf.for %row = %c0 to %c64 step %c16 {{ %go = arith.cmpi ne, %row, %c16 : index\nscf.if %go {{{COPIES}}} }}",
        np.r_[0:16, 32:64],
    ),
    "vectors": (
        """scf.for %row = %c0 to %c64 step %c16 {
        %v = vector.transfer_read %in[%row, %column], %zero {in_bounds = [true, true]}
          : memref<64x128xf32>, vector<16x64xf32>
        vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<16x64xf32>, !tile
        %w = vector.transfer_read %tile[%c0, %c0], %zero {in_bounds = [true, true]} : !tile, vector<16x64xf32>
        vector.transfer_write %w, %out[%row, %column] {in_bounds = [true, true]}
          : vector<16x64xf32>, memref<64x128xf32> }""",
        slice(0, 64),
    ),
}


def raised(text: str) -> tuple[str, list[str]]:
    """The module after the pass, and what the pass remarked."""
    context = make_context()
    with context, collecting(context, remarks=True) as said:
        root = parse(text)
        run_pipeline(root, "builtin.module(tile-raise-copies)")
        return str(root), [each.message for each in said.seen]


def simulate(text: str, *arrays: np.ndarray, seed: int) -> None:
    compiled = compile_text(text, keep=("lowered",), assemble_cubin=False)
    run_simulator(compiled.texts["lowered"], compiled.signatures["kernel"], arrays, seed=seed)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", BODIES)
def test_bytes_move_as_written(name, seed):
    body, rows = BODIES[name]
    text, remarks = raised(ROUND_TRIP.format(body=body))
    assert sum("becomes tile.copy_async" in each for each in remarks) == 2
    given = np.random.default_rng(seed).random((64, 128), np.float32)
    found = np.zeros_like(given)
    simulate(text, given, found, seed=seed)
    wanted = np.zeros_like(given)
    wanted[rows] = given[rows]
    assert (found == wanted).all()


GROUP = """
!tile = memref<16x64xf16, #gpu.address_space<workgroup>>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile
    gpu.func @kernel(%in: memref<128x256xf16>, %out: memref<8x16x64xf16>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %tile = memref.get_global @tile : !tile
      %thread = gpu.thread_id x
      %r = arith.divui %thread, %c8 : index
      %q = arith.remui %thread, %c8 : index
      %c = arith.muli %q, %c8 : index
      %column = arith.addi %c, %c64 : index
      %r8 = arith.addi %r, %c8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %start = arith.muli %i, %c16 : index
        %row = arith.addi %start, %r : index
        %row8 = arith.addi %row, %c8 : index
        %0 = nvgpu.device_async_copy %in[%row, %column], %tile[%r, %c], 8 : memref<128x256xf16> to !tile
        %1 = nvgpu.device_async_copy %in[%row8, %column], %tile[%r8, %c], 8 : memref<128x256xf16> to !tile
        %group = nvgpu.device_async_create_group %0, %1
        nvgpu.device_async_wait %group
        gpu.barrier
        scf.for %k = %c0 to %c16 step %c1 {
          %x = memref.load %tile[%k, %thread] : !tile
          memref.store %x, %out[%i, %k, %thread] : memref<8x16x64xf16>
        }
        gpu.barrier
      }
      gpu.return
    }
  }
}
"""


def test_a_group_of_async_copies_gives_the_same_bytes_raised_or_not():
    given = np.random.default_rng(3).integers(0, 1000, (128, 256)).astype(np.float16)
    wanted = given[:, 64:128].reshape(8, 16, 64)
    text, remarks = raised(GROUP)
    # The loop that writes the tile out is a copy too.
    assert sorted(remarks) == [
        "'nvgpu.device_async_create_group' op becomes tile.copy_async",
        "'scf.for' op becomes tile.copy_async",
    ]
    for each in (GROUP, text):
        found = np.zeros((8, 16, 64), np.float16)
        simulate(each, given, found, seed=1)
        assert (found == wanted).all()


def test_raising_twice_changes_nothing_more():
    text, _ = raised(GROUP)
    again, remarks = raised(text)
    assert again == text
    assert remarks == []
