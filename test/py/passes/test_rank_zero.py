"""Tensors and tiles without dimensions: one element, or one located error."""

import re
from typing import Any

import numpy as np
import pytest

from tma_mlir.compile.compiler import CompileError, compile_text
from tma_mlir.run.execute import compare, reference_result, run_simulator
from tma_mlir.run.reference import copy_arguments

SHARED = "#gpu.address_space<workgroup>"
NUMPY = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "f64": np.float64, "i32": np.int32}


def kernel(element, tensor, offsets, tile, sizes, *, is_store=False, attributes=""):
    """``@k(%g, %o)``: one thread copies one element between ``%g`` and the tile, and between the tile and ``%o``.
    ``tensor`` and ``tile`` are what stands before the element type; ``offsets`` are those of ``%g``."""
    shape, _, strided = tensor.partition("|")
    layout = f", {strided}" if strided else ""
    type_ = f"memref<{shape}{element}{layout}>"
    shared = f"memref<{tile}{element}, {SHARED}>"
    dims = tile.count("x")
    at, zeros = ", ".join(["%c0"] * dims), ", ".join(["0"] * dims)

    def array(numbers):
        return f"array<i64: {numbers}>" if numbers else "array<i64>"

    fence = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"
    more = f", {attributes}" if attributes else ""
    if is_store:
        copy = f"""
    %v = memref.load %o[%c0] : memref<1x{element}>
    memref.store %v, %tile[{at}] : {shared}
    {fence}
    "tile.copy_async"(%tile, %g) {{
      static_source_offsets = {array(zeros)}, static_destination_offsets = {array(offsets)},
      sizes = {array(sizes)}{more}, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>
    }} : ({shared}, {type_}) -> ()
    "tile.commit_group"() : () -> ()
    "tile.wait_group"() {{pending = 0 : i64}} : () -> ()"""
    else:
        copy = f"""
    "tile.copy_async"(%g, %tile, %b, %c0) {{static_source_offsets = {array(offsets)}, expect_tx,
      static_destination_offsets = {array(zeros)}, sizes = {array(sizes)}{more},
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>}} : ({type_}, {shared}, !barrier, index) -> ()
    "tile.wait"(%b, %c0, %phase) : (!barrier, index, i1) -> ()
    %v = memref.load %tile[{at}] : {shared}
    memref.store %v, %o[%c0] : memref<1x{element}>"""
    return f"""
!barrier = !nvgpu.mbarrier.group<memorySpace = {SHARED}>
module attributes {{gpu.container_module}} {{ gpu.module @m {{
  memref.global "private" @tile : {shared}
  gpu.func @k(%g: {type_}, %o: memref<1x{element}>) kernel
      attributes {{known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %phase = arith.constant false
    %tile = memref.get_global @tile : {shared}
    %b = nvgpu.mbarrier.create -> !barrier
    nvgpu.mbarrier.init %b[%c0], %c1 : !barrier
    {copy}
    gpu.return
  }} }} }}"""


CASES = {
    "tensor and tile": ("f32", "", "", "", "", (), ()),
    "dynamic offset": ("f16", "|strided<[], offset: ?>", "", "", "", (), ()),
    "tensor only": ("i8", "", "", "1x1x", "", (), ()),
    "tile only": ("f64", "4x", "2", "", "1", (4,), (2,)),
    "tile of a dynamic tensor": ("i32", "?x?x", "1, 3", "", "1, 1", (2, 5), (1, 3)),
}


@pytest.mark.parametrize("is_store", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_one_element_is_copied(name, is_store):
    element, tensor, offsets, tile, sizes, shape, place = CASES[name]
    text = kernel(element, tensor, offsets, tile, sizes, is_store=is_store)
    compiled = compile_text(text, keep=("lowered",))
    values = [np.arange(3, 3 + np.prod(shape, dtype=int)).astype(NUMPY[element]).reshape(shape), NUMPY[element]([77])]
    found = copy_arguments(values)
    run_simulator(compiled.texts["lowered"], compiled.signatures["k"], found)
    assert compare(found, reference_result(text, "k.mlir", "k", values)) == []
    expected: list[Any] = list(copy_arguments(values))
    if is_store:
        expected[0][place] = 77
    else:
        expected[1][0] = values[0][place]
    assert compare(found, expected) == []


REFUSED = [
    'variant = "tma"', 'variant = "bulk"', 'mode = "gather4"', 'swizzle = #tile.swizzle<"128B">, variant = "tma"',
    'destination_layout = #tile.atoms<"128B">', "tf32", 'variant = "tma_explicit", explicit = {box = []}',
    'mode = "im2col", im2col = {lower_corner = [], upper_corner = []}', "assume = {source_offsets = [1]}",
    "cta_group = 2", "destination_layout = #tile.layout<[2], [1]>",
]  # fmt: skip


@pytest.mark.parametrize("attributes", REFUSED)
def test_what_one_element_cannot_have_is_a_located_error(attributes):
    with pytest.raises(CompileError, match=r":\d+:\d+: error: 'tile\.copy_async' op ") as error:
        compile_text(kernel("f32", "", "", "", "", attributes=attributes), "sm_100a")
    assert not re.search("Traceback|raised", str(error.value))


OPTIONS = [
    "destination_layout = #tile.layout<[], []>", "destination_layout = #tile.layout<[1], [1]>", 'scope = "cta"',
    "source_layout = #tile.layout<[], []>", 'swizzle = #tile.swizzle<"128B">', 'oob = "nan"', "in_bounds",
    'cache = "evict_first"', "padding_is_scratch",
]  # fmt: skip


@pytest.mark.parametrize("attributes", OPTIONS)
def test_options_that_mean_something_for_one_element_as_well(attributes):
    text = kernel("f32", "", "", "", "", attributes=attributes)
    compiled = compile_text(text, keep=("lowered",))
    values = [np.array(5, np.float32), np.zeros(1, np.float32)]
    found: list[Any] = list(copy_arguments(values))
    run_simulator(compiled.texts["lowered"], compiled.signatures["k"], found)
    assert found[1][0] == 5
    assert compare(found, reference_result(text, "k.mlir", "k", values)) == []
