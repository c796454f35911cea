"""Ordinary copies that stay ordinary: compiled to loops that move the same bytes as NumPy, without races."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tma_mlir.bindings import ir
from tma_mlir.compile.compiler import compile_text, parse
from tma_mlir.diagnostics import collecting
from tma_mlir.dialect import make_context
from tma_mlir.passes.pipeline import run_pipeline
from tma_mlir.run.execute import run_simulator

SHARED = "#gpu.address_space<workgroup>"
TYPES = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i1": np.bool_,
    "i64": np.int64,
}


def kernel(body: str, arguments: str, threads: str = "64, 1, 1", declarations: str = "") -> str:
    return f"""
module attributes {{gpu.container_module}} {{
  gpu.module @m {{
    {declarations}
    gpu.func @k({arguments}) kernel attributes {{known_block_size = array<i32: {threads}>,
                                                 known_grid_size = array<i32: 1, 1, 1>}} {{
      {body}
      gpu.return
    }}
  }}
}}
"""


def simulate(text: str, *arguments, seed: int = 0) -> None:
    compiled = compile_text(text, keep=("lowered",))
    run_simulator(compiled.texts["lowered"], compiled.signatures["k"], list(arguments), seed=seed)


def memref(shape, element: str, strides=None, space: str = "") -> str:
    layout = f", strided<[{', '.join(map(str, strides))}]>" if strides is not None else ""
    return f"memref<{''.join(f'{extent}x' for extent in shape)}{element}{layout}{space and ', ' + space}>"


def part_of_a_tile(shape: tuple[int, ...], element: str) -> str:
    """Global to shared and back, the tile one element wider than the tensor where it has a last dimension."""
    wide = (*shape[:-1], shape[-1] + 1) if shape else ()
    strides = [int(np.prod(wide[d + 1 :])) for d in range(len(wide))]
    tensor, tile = memref(shape, element), memref(wide, element, space=SHARED)
    part = memref(shape, element, strides, SHARED) if shape else tile
    zeros, sizes, ones = (", ".join(map(str, each)) for each in ([0] * len(shape), shape, [1] * len(shape)))
    view = f"memref.subview %tile[{zeros}] [{sizes}] [{ones}] : {tile} to {part}"
    return kernel(
        f"""
      %tile = memref.get_global @tile : {tile}
      {"%part = " + view if shape else ""}
      memref.copy %in, {"%part" if shape else "%tile"} : {tensor} to {part}
      linalg.copy ins({"%part" if shape else "%tile"} : {part}) outs(%out : {tensor})""",
        f"%in: {tensor}, %out: {tensor}",
        "8, 4, 2",
        f'memref.global "private" @tile : {tile}',
    )


@pytest.mark.parametrize(
    ("shape", "element"),
    [((), "f32"), ((37,), "bf16"), ((9, 16), "f8E4M3FN"), ((3, 5, 7), "i1"), ((2, 3, 4, 5), "i64"),
     ((2, 1, 3, 2, 9), "f32")],
)  # fmt: skip
def test_every_rank_and_type_goes_to_shared_memory_and_back(shape, element):
    given = np.random.default_rng(1).integers(0, 2 if element == "i1" else 9, shape).astype(TYPES[element])
    found = np.zeros_like(given)
    simulate(part_of_a_tile(shape, element), given, found, seed=3)
    assert (found == given).all()


VIEW = "memref<?x?xf16, strided<[40, 1], offset: ?>>"


def test_extents_known_at_run_time_from_global_to_global():
    text = kernel(
        f"""
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %from = memref.subview %in[%c1, %c2] [%rows, %columns] [1, 1] : memref<8x40xf16> to {VIEW}
      %to = memref.subview %out[%c2, %c1] [%rows, %columns] [1, 1] : memref<8x40xf16> to {VIEW}
      memref.copy %from, %to : {VIEW} to {VIEW}""",
        "%in: memref<8x40xf16>, %out: memref<8x40xf16>, %rows: index, %columns: index",
    )
    given = np.random.default_rng(1).integers(0, 99, (8, 40)).astype(np.float16)
    found = np.zeros_like(given)
    simulate(text, given, found, 5, 33)
    wanted = np.zeros_like(given)
    wanted[2:7, 1:34] = given[1:6, 2:35]
    np.testing.assert_array_equal(found, wanted)


def test_a_private_copy_is_each_threads_own():
    row = "memref<1x8xi32, strided<[8, 1], offset: ?>>"
    text = kernel(
        f"""
      %mine = memref.alloca() : memref<1x8xi32>
      %thread = gpu.thread_id x
      %from = memref.subview %in[%thread, 0] [1, 8] [1, 1] : memref<32x8xi32> to {row}
      %to = memref.subview %out[%thread, 0] [1, 8] [1, 1] : memref<32x8xi32> to {row}
      memref.copy %from, %mine : {row} to memref<1x8xi32>
      memref.copy %mine, %to : memref<1x8xi32> to {row}""",
        "%in: memref<32x8xi32>, %out: memref<32x8xi32>",
        "32, 1, 1",
    )
    given = np.arange(256, dtype=np.int32).reshape(32, 8)
    found = np.zeros_like(given)
    simulate(text, given, found)
    np.testing.assert_array_equal(found, given)


ONE_THREAD = """
      %tile = memref.get_global @tile : memref<8x9xf32, #gpu.address_space<workgroup>>
      %c0 = arith.constant 0 : index
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %to = memref.subview %tile[0, 0] [8, 8] [1, 1] : memref<8x9xf32, #gpu.address_space<workgroup>>
        to memref<8x8xf32, strided<[9, 1]>, #gpu.address_space<workgroup>>
      scf.if %leader {
        memref.copy %in, %to : memref<8x8xf32> to memref<8x8xf32, strided<[9, 1]>, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      linalg.copy ins(%to : memref<8x8xf32, strided<[9, 1]>, #gpu.address_space<workgroup>>)
        outs(%out : memref<8x8xf16>)
"""


def remarks(text: str) -> list[str]:
    with make_context() as context, collecting(context, remarks=True) as said:
        root = parse(text)
        run_pipeline(root, "builtin.module(tile-lower-copies)")
        return [each.message for each in said.seen]


def test_one_thread_copies_and_a_copy_converts():
    text = kernel(
        ONE_THREAD,
        "%in: memref<8x8xf32>, %out: memref<8x8xf16>",
        declarations='memref.global "private" @tile : memref<8x9xf32, #gpu.address_space<workgroup>>',
    )
    given = np.random.default_rng(1).random((8, 8), np.float32)
    found = np.zeros((8, 8), np.float16)
    simulate(text, given, found)
    np.testing.assert_array_equal(found, given.astype(np.float16))
    (remark,) = remarks(text)
    assert "each thread copies everything: it is under a condition that may differ between threads" in remark


UNRANKED = """%from = memref.cast %in : memref<8x8xf32> to memref<*xf32>
      memref.copy %from, %out : memref<*xf32> to memref<8x8xf32>"""
PACKED = "memref.copy %in, %out : memref<8x8xi4> to memref<8x8xi4>"


@pytest.mark.parametrize(
    ("body", "element", "message"), [(UNRANKED, "f32", "has an unranked memref"), (PACKED, "i4", "elements of 4 bits")]
)
def test_what_threads_cannot_copy_is_an_error_at_the_copy(body, element, message):
    text = kernel(body, f"%in: memref<8x8x{element}>, %out: memref<8x8x{element}>")
    with make_context() as context, collecting(context) as said:
        root = parse(text)
        with pytest.raises(ir.MLIRError):
            run_pipeline(root, "builtin.module(tile-lower-copies)")
    assert "'memref.copy' op" in said.seen[0].message
    assert message in said.seen[0].message


TRANSFERS = {
    "rank 2 to shared": """
      %v = vector.transfer_read %in[%c0, %c0], %z {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
      vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true, true]} : vector<8x8xf32>, !tile
      gpu.barrier
      %w = vector.transfer_read %tile[%c0, %c0], %z {in_bounds = [true, true]} : !tile, vector<8x8xf32>
      vector.transfer_write %w, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x8xf32>, memref<8x8xf32>""",
    "out of bounds": """
      %v = vector.transfer_read %in[%c0, %c0], %z : memref<8x8xf32>, vector<16xf32>
      vector.transfer_write %v, %tile[%c0, %c0] : vector<16xf32>, !tile
      gpu.barrier
      %w = vector.transfer_read %tile[%c0, %c0], %z : !tile, vector<16xf32>
      vector.transfer_write %w, %out[%c0, %c0] : vector<16xf32>, memref<8x8xf32>""",
    "masked": """
      %m = arith.constant dense<[true, false, true, true]> : vector<4xi1>
      %v = vector.transfer_read %in[%c0, %c0], %z, %m {in_bounds = [true]} : memref<8x8xf32>, vector<4xf32>
      vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true]} : vector<4xf32>, !tile
      gpu.barrier
      %w = vector.transfer_read %tile[%c0, %c0], %z {in_bounds = [true]} : !tile, vector<4xf32>
      vector.transfer_write %w, %out[%c0, %c0], %m {in_bounds = [true]} : vector<4xf32>, memref<8x8xf32>""",
    "transposed": """
      %v = vector.transfer_read %in[%c0, %c0], %z {in_bounds = [true],
        permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<8x8xf32>, vector<8xf32>
      vector.transfer_write %v, %tile[%c0, %c0] {in_bounds = [true],
        permutation_map = affine_map<(d0, d1) -> (d0)>} : vector<8xf32>, !tile
      gpu.barrier
      %w = vector.transfer_read %tile[%c0, %c0], %z {in_bounds = [true],
        permutation_map = affine_map<(d0, d1) -> (d0)>} : !tile, vector<8xf32>
      vector.transfer_write %w, %out[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, memref<8x8xf32>""",
    "generic": """
      linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]} ins(%in : memref<8x8xf32>) outs(%tile : !tile) {
      ^bb0(%x: f32, %y: f32):
        linalg.yield %x : f32
      }
      gpu.barrier
      linalg.transpose ins(%tile : !tile) outs(%out : memref<8x8xf32>) permutation = [1, 0]""",
}
WANTED = {
    "rank 2 to shared": lambda x: x,
    "out of bounds": lambda x: np.where(np.arange(64).reshape(8, 8) < 8, x, 0),
    "masked": lambda x: np.where(np.isin(np.arange(64).reshape(8, 8), [0, 2, 3]), x, 0),
    "transposed": lambda x: np.vstack([x[:, 0], np.zeros((7, 8), np.float32)]),
    "generic": lambda x: x.T,
}


@pytest.mark.parametrize("name", TRANSFERS)
def test_transfers_and_structured_copies_compile_and_move_their_bytes(name):
    text = kernel(
        "%c0 = arith.constant 0 : index\n%z = arith.constant 0.0 : f32\n%tile = memref.get_global @tile : !tile"
        + TRANSFERS[name],
        "%in: memref<8x8xf32>, %out: memref<8x8xf32>",
        declarations='memref.global "private" @tile : !tile',
    )
    given = np.random.default_rng(1).random((8, 8), np.float32)
    found = np.zeros_like(given)
    simulate("!tile = memref<8x8xf32, #gpu.address_space<workgroup>>" + text, given, found)
    np.testing.assert_array_equal(found, WANTED[name](given))
