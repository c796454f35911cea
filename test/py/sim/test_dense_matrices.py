"""Matrices of any width: TMA moves what it can, threads the rest, and every byte is NumPy's.

Static and dynamic widths and pitches, tiles inside, at the edge and across it; the launch never fails for a width.
"""

import functools

import numpy as np
import pytest

from support.copy_kernels import global_type, load, store
from tma_mlir.abi.tensor_maps import evaluated
from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.dtypes import dtype
from tma_mlir.plan import Variant
from tma_mlir.run.execute import run_simulator
from tma_mlir.sim.errors import SimulationError
from tma_mlir.sim.simulate import load_program, simulate

ROWS, TILE_ROWS, TILE_COLUMNS = 11, 4, 32


def compiled(make, tensor, element, attributes=""):
    """A kernel that copies a tile at (%row, %column), multiples of 4 and 16, from 0 on."""
    side = "source" if make is load else "destination"
    promise = f"assume = {{{side}_offsets = [{{min = 0}}, {{divisor = 16, min = 0}}]}}"
    text = make(
        tensor, [TILE_ROWS, TILE_COLUMNS], element=element, offsets=["%row", "%column"],
        arguments="%row: index, %column: index", attributes=", ".join(filter(None, (promise, attributes))),
    )  # fmt: skip
    made = compile_text(text, "sm_90a", keep=("lowered",), assemble_cubin=False)
    return made.texts["lowered"], made.signatures["k"], made.plans[0].plan


def transfers(lowered, signature, arguments):
    """Runs it; how many bulk copies there were."""
    return simulate(None, signature, arguments, program=program(lowered)).transfers


program = functools.lru_cache(maxsize=4)(lambda lowered: load_program(lowered, "k"))
"""Decoded once, for all widths."""


def window(matrix, row, column):
    """The tile at that place; zero outside."""
    tile = np.zeros((TILE_ROWS, TILE_COLUMNS), matrix.dtype)
    part = matrix[row : row + TILE_ROWS, column : column + TILE_COLUMNS]
    tile[: part.shape[0], : part.shape[1]] = part
    return tile


def check_load(lowered, signature, matrix, row, column):
    out = np.full(TILE_ROWS * TILE_COLUMNS, 99, matrix.dtype)
    count = transfers(lowered, signature, [matrix, out, row, column])
    assert (out.reshape(TILE_ROWS, TILE_COLUMNS) == window(matrix, row, column)).all()
    return count


def check_store(lowered, signature, matrix, row, column):
    """``matrix`` is a view: what lies around it must stay."""
    memory = matrix if matrix.base is None else matrix.base
    before = memory.copy()
    tile = np.arange(1, TILE_ROWS * TILE_COLUMNS + 1).astype(matrix.dtype)
    wanted = matrix.copy()
    part = wanted[row : row + TILE_ROWS, column : column + TILE_COLUMNS]
    part[:] = tile.reshape(TILE_ROWS, TILE_COLUMNS)[: part.shape[0], : part.shape[1]]
    count = transfers(lowered, signature, [tile, matrix, row, column])
    assert (matrix == wanted).all()
    matrix[:] = 0
    around = before.reshape(memory.shape)
    kept = memory.copy()
    if matrix.base is not None:
        around[: matrix.shape[0], : matrix.shape[1]] = 0
        assert (kept == around).all()
    return count


@pytest.mark.parametrize("element", ["f32", "f16", "i8"])
@pytest.mark.parametrize("make", [load, store])
def test_dynamic_matrices_of_every_width(make, element):
    """One kernel for all: where the pitch is not a multiple of 16 bytes threads copy, else TMA does."""
    size = dtype(element).bytes
    lowered, signature, plan = compiled(make, global_type(["?", "?"], element), element)
    assert plan.variant is Variant.TMA
    check = check_load if make is load else check_store
    for width in range(1, 71):
        matrix = np.arange(ROWS * width).reshape(ROWS, width).astype(dtype(element).numpy)
        for row, column in ((0, 0), (8, 32)) if width > 32 else ((4, 0),):
            used_tma = check(lowered, signature, matrix.copy(), row, column) > 0
            assert used_tma == (width * size % 16 == 0), width


@pytest.mark.parametrize(("element", "pitch"), [("f32", 72), ("f16", 80), ("i8", 96)])
@pytest.mark.parametrize("make", [load, store])
@pytest.mark.parametrize("extents", ["static", "dynamic"])
def test_padded_matrices_use_tma_for_all_tiles_that_it_can_store(make, element, pitch, extents):
    """With a padded pitch only stores that pass the end of a row of odd width are left to threads."""
    size = dtype(element).bytes
    widths = (3, 31, 33, 50, 64, 67) if extents == "static" else range(1, 71, 3)
    kernels = {}
    for width in widths:
        shape = [ROWS, width] if extents == "static" else ["?", "?"]
        strides = f"[{pitch}, 1]" if extents == "static" else "[?, 1]"
        if tuple(shape) not in kernels:
            kernels[tuple(shape)] = compiled(make, global_type(shape, element, strides), element)
        lowered, signature, _ = kernels[tuple(shape)]
        memory = np.arange(ROWS * pitch).reshape(ROWS, pitch).astype(dtype(element).numpy)
        check = check_load if make is load else check_store
        for column in (0, 32):
            if column >= width:
                continue
            count = check(lowered, signature, memory.copy()[:, :width], 8, column)
            passes = column + TILE_COLUMNS > width
            assert (count > 0) == (make is load or not passes or width * size % 16 == 0), (width, column)


def test_a_matrix_whose_elements_are_apart_is_copied_by_threads():
    lowered, signature, _ = compiled(load, global_type(["?", "?"], "f32", "[?, ?]"), "f32")
    memory = np.arange(ROWS * 128, dtype=np.float32).reshape(ROWS, 128)
    assert check_load(lowered, signature, memory[:, :64], 4, 16) > 0
    assert check_load(lowered, signature, memory[:, ::2], 4, 16) == 0


@pytest.mark.parametrize("make", [load, store])
def test_a_forced_variant_is_not_left_to_threads(make):
    """The rows of 33 floats are an error of the launch, with the pitch that would do."""
    lowered, signature, plan = compiled(make, global_type(["?", "?"], "f32"), "f32", 'variant = "tma"')
    assert plan.guards == ()
    matrix, tile = np.zeros((ROWS, 33), np.float32), np.zeros(TILE_ROWS * TILE_COLUMNS, np.float32)
    arguments = [matrix, tile, 0, 0] if make is load else [tile, matrix, 0, 0]
    with pytest.raises(SimulationError, match="needed: a multiple of 16 B"):
        run_simulator(lowered, signature, arguments)


def test_a_reduction_past_an_odd_end_has_no_other_way():
    tensor = global_type([ROWS, 50], "f32", "[72, 1]")
    with pytest.raises(CompileError, match="store clip granularity"):
        compiled(store, tensor, "f32", 'reduce = "add"')


PREFETCH = """%zero = arith.constant 0 : index
      "tile.prefetch_async"(%in, %row, %zero) {
        static_source_offsets = array<i64: -9223372036854775808, -9223372036854775808>, sizes = array<i64: 4, 32>,
        operandSegmentSizes = array<i32: 1, 2, 0, 0>} : (memref<?x?xf16>, index, index) -> ()
      %c16 = arith.constant 16 : index
      %aligned = arith.muli %column, %c16 : index"""


@pytest.mark.parametrize("width", [64, 63])
def test_a_prefetch_of_a_matrix_that_has_no_descriptor_is_left_out(width):
    """It is a hint: the launch of a kernel whose copy threads make does not fail for it."""
    text = load(
        "memref<?x?xf16>", [TILE_ROWS, TILE_COLUMNS], element="f16", offsets=["%row", "%aligned"], before=PREFETCH,
        arguments="%row: index, %column: index",
    )  # fmt: skip
    made = compile_text(text, "sm_90a", keep=("lowered",), assemble_cubin=False)
    matrix = np.arange(ROWS * width).reshape(ROWS, width).astype(np.float16)
    out = np.zeros(TILE_ROWS * TILE_COLUMNS, np.float16)
    run_simulator(made.texts["lowered"], made.signatures["k"], [matrix, out, 4, 1])
    assert (out.reshape(TILE_ROWS, TILE_COLUMNS) == window(matrix, 4, 16)).all()


@pytest.mark.parametrize("direction", ["load", "store"])
def test_the_host_rounds_what_the_kernel_does_without(direction):
    """A descriptor is encoded for every matrix: with the pitch itself, or with one that TMA could have."""
    _, signature, _ = compiled(load if direction == "load" else store, global_type(["?", "?"], "f32"), "f32")
    (recipe,) = signature.tensor_maps
    name = f"arg{recipe.argument}"
    for pitch, encoded in ((64, 256), (63, 256), (61, 256), (1, 16)):
        symbols = {f"{name}.dim0": ROWS, f"{name}.dim1": pitch, f"{name}.stride0": pitch}
        assert evaluated(recipe, symbols).strides_bytes == (encoded,)
