"""Loops in which threads copy pieces: raised where the pieces are a box, with NumPy's bytes; else a reason."""

from __future__ import annotations

import numpy as np
import pytest

from tma_mlir.compile.compiler import compile_text, parse
from tma_mlir.diagnostics import collecting
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline
from tma_mlir.run.execute import run_simulator

TILE = "memref<32x64xf32, #gpu.address_space<workgroup>>"
TENSOR = "memref<128x256xf32>"
ROW, COLUMN = 32, 64
"""Where the box starts: row 32 * block, column 64."""


def kernel(body: str, block: str = "64, 1, 1", attributes: str = "known_block_size = array<i32: {}>, ") -> str:
    return f"""
!tile = {TILE}
!tensor = {TENSOR}
module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    memref.global "private" @tile : !tile
    memref.global "private" @other : !tile
    gpu.func @k(%in: !tensor, %out: !tensor) kernel attributes
        {{{attributes.format(block)}known_grid_size = array<i32: 2, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c512 = arith.constant 512 : index
      %c2048 = arith.constant 2048 : index
      %zero = arith.constant 0.0 : f32
      %x = gpu.thread_id x
      %y = gpu.thread_id y
      %block = gpu.block_id x
      %row = arith.muli %block, %c32 : index
      %threads = gpu.block_dim x
      %tile = memref.get_global @tile : !tile
      %other = memref.get_global @other : !tile
      {body}
      gpu.return
    }}
  }}
}}
"""


PLACE = """
        %r = arith.divui %i, %c16 : index
        %q = arith.remui %i, %c16 : index
        %c = arith.muli %q, %c4 : index
        %gr = arith.addi %row, %r : index
        %gc = arith.addi %c, %c64 : index"""
LOAD_TRANSFER = """
        %v = vector.transfer_read %in[%gr, %gc], %zero {in_bounds = [true]} : !tensor, vector<4xf32>
        vector.transfer_write %v, %tile[%r, %c] {in_bounds = [true]} : vector<4xf32>, !tile"""
LOAD_VECTOR = """
        %v = vector.load %in[%gr, %gc] : !tensor, vector<4xf32>
        vector.store %v, %tile[%r, %c] : !tile, vector<4xf32>"""
LOAD_ASYNC = "\n%token = nvgpu.device_async_copy %in[%gr, %gc], %tile[%r, %c], 4 : !tensor to !tile"
WAIT = """
      %group = nvgpu.device_async_create_group
      nvgpu.device_async_wait %group"""
STRIDED = "scf.for %i = %x to %c512 step %c64 {" + PLACE
STORE = """
      gpu.barrier
      scf.for %n = %x to %c2048 step %threads {
        %sr = affine.apply affine_map<(d0) -> (d0 floordiv 64)>(%n)
        %sc = affine.apply affine_map<(d0) -> (d0 mod 64)>(%n)
        %to = arith.addi %row, %sr : index
        %s = memref.load %tile[%sr, %sc] : !tile
        memref.store %s, %out[%to, %sc] : !tensor
      }"""
RAISED = {
    "transfers in a strided loop": (STRIDED + LOAD_TRANSFER + "}", "64, 1, 1", 2),
    "vector loads in a strided loop": (STRIDED + LOAD_VECTOR + "}", "64, 1, 1", 2),
    "cp.async, thread number added in the loop": (
        "scf.for %trip = %c0 to %c512 step %c64 {\n%i = arith.addi %trip, %x : index" + PLACE + LOAD_ASYNC + "}" + WAIT,
        "64, 1, 1",
        2,
    ),
    "a block of two dimensions, a row to a trip": (
        """scf.for %r = %y to %c32 step %c4 {
        %c = arith.muli %x, %c4 : index
        %gr = arith.addi %row, %r : index
        %gc = arith.addi %c, %c64 : index"""
        + LOAD_VECTOR
        + "}",
        "16, 4, 1",
        2,
    ),
    "the last trip under a condition": (
        "scf.for %t = %c0 to %c2048 step %threads {\n%i = arith.addi %t, %x : index\n"
        "%go = arith.cmpi ult, %i, %c512 : index\nscf.if %go {" + PLACE + LOAD_VECTOR + "} }",
        "96, 1, 1",
        2,
    ),
    "some threads only": (
        "%few = arith.cmpi slt, %x, %c16 : index\nscf.if %few { scf.for %i = %x to %c512 step %c16 {"
        + PLACE
        + LOAD_VECTOR
        + "} }",
        "64, 1, 1",
        2,
    ),
    "two tiles in a loop": (
        STRIDED
        + LOAD_VECTOR
        + """
        %w = vector.load %in[%r, %c] : !tensor, vector<4xf32>
        vector.store %w, %other[%r, %c] : !tile, vector<4xf32> }""",
        "64, 1, 1",
        3,
    ),
}


def raised(text: str) -> tuple[str, list[str]]:
    with make_context() as context, collecting(context, remarks=True) as said:
        root = parse(text)
        run_pipeline(root, "builtin.module(tile-raise-copies)")
        return str(root), [each.message for each in said.seen]


def simulated(text: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel wrote, and what it should have."""
    compiled = compile_text(text, keep=("lowered",))
    given = np.random.default_rng(seed).random((128, 256), np.float32)
    found, wanted = np.zeros_like(given), np.zeros_like(given)
    run_simulator(compiled.texts["lowered"], compiled.signatures["k"], [given, found], seed=seed)
    wanted[:64, :64] = given[:64, 64:128]
    return found, wanted


@pytest.mark.parametrize("name", RAISED)
def test_pieces_that_form_a_box_become_one_copy(name):
    body, block, copies = RAISED[name]
    text = kernel(body + STORE, block)
    after, remarks = raised(text)
    assert len(remarks) == copies
    assert all("becomes tile.copy_async" in each for each in remarks)
    assert after.count('"tile.copy_async"') == copies
    assert after.count("sizes = array<i64: 32, 64>") == copies
    assert "scf.for" not in after
    for each in (text, after):
        found, wanted = simulated(each, 5)
        np.testing.assert_array_equal(found, wanted)


KEPT = {
    "a hole": (STRIDED + LOAD_VECTOR + "}", "48, 1, 1", "do not form a box"),
    "half of every row": (
        STRIDED.replace("%q, %c4", "%q, %c2") + LOAD_VECTOR + "}", "64, 1, 1", "do not form a box"
    ),
    "a transpose": (
        STRIDED + "\n%v = memref.load %in[%gr, %gc] : !tensor\nmemref.store %v, %tile[%q, %r] : !tile }",
        "64, 1, 1",
        "do not form a box",
    ),
    "both directions": (
        STRIDED + LOAD_VECTOR + "\n%w = vector.load %other[%r, %c] : !tile, vector<4xf32>\n"
        "vector.store %w, %out[%gr, %gc] : !tensor, vector<4xf32> }",
        "64, 1, 1",
        "the loop copies in both directions",
    ),
    "a barrier inside": (
        "scf.for %k = %c0 to %c2 step %c1 {\n%i = arith.addi %x, %k : index" + PLACE + LOAD_VECTOR + "\ngpu.barrier }",
        "64, 1, 1",
        "an index is not affine",
    ),
    "a bound that differs between blocks": (
        "scf.for %i = %x to %row step %c64 {" + PLACE + LOAD_VECTOR + "}",
        "64, 1, 1",
        "in a loop whose trips are not known for each thread",
    ),
    "a condition on data": (
        "%d = memref.load %in[%c0, %x] : !tensor\n%go = arith.cmpf ogt, %d, %zero : f32\n"
        "scf.if %go {\n%i = arith.addi %x, %c0 : index" + PLACE + LOAD_VECTOR + "}",
        "64, 1, 1",
        "under a condition that is not known for each thread",
    ),
    "cp.async without a group": (
        STRIDED + LOAD_ASYNC + "}", "64, 1, 1", "no group and wait behind it"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_what_is_not_seen_to_be_a_box_stays_and_says_why(name):
    body, block, reason = KEPT[name]
    text = kernel(body, block)
    after, remarks = raised(text)
    assert "tile.copy_async" not in after
    assert remarks
    assert any(reason in each for each in remarks)


def test_without_the_block_size_the_pieces_are_not_known():
    _, remarks = raised(kernel(STRIDED + LOAD_VECTOR + "}", attributes=""))
    assert "without known_block_size it is not known which threads copy which piece" in remarks[0]


IN_LAUNCH = """
memref.global "private" @tile : memref<32x16xf32, #gpu.address_space<workgroup>>
func.func @main(%a: memref<32x16xf32>, %o: memref<32x16xf32>) {{
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {{
    %s = memref.get_global @tile : memref<32x16xf32, #gpu.address_space<workgroup>>
    {copy}
    gpu.terminator
  }}
  return
}}
"""
SHARED = "memref<32x16xf32, #gpu.address_space<workgroup>>"


@pytest.mark.parametrize(
    "copy",
    [
        f"linalg.copy ins(%a : memref<32x16xf32>) outs(%s : {SHARED})",
        f"memref.copy %s, %o : {SHARED} to memref<32x16xf32>",
        "%v = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} "
        f": memref<32x16xf32>, vector<32x16xf32>\n"
        f"vector.transfer_write %v, %s[%c0, %c0] {{in_bounds = [true, true]}} : vector<32x16xf32>, {SHARED}",
    ],
)
def test_a_copy_in_a_launch_is_raised_once_it_is_outlined(copy):
    text = IN_LAUNCH.format(copy=copy)
    _, (remark,) = raised(text)
    assert "it is not in a kernel of its own (gpu.func); run gpu-kernel-outlining first" in remark
    with make_context() as context, collecting(context, remarks=True):
        root = parse(text)
        run_pipeline(root, "builtin.module(gpu-kernel-outlining,tile-raise-copies)")
        assert '"tile.copy_async"' in str(root)
