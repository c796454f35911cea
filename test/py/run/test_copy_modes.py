"""im2col from the operation to the simulated instruction: what arrives is what the copy means by definition."""

import re

import numpy as np
import pytest

from tma_mlir.compile.compiler import compile_text
from tma_mlir.run.execute import compare, reference_result, run_simulator
from tma_mlir.run.reference import copy_arguments

SIZES = {"f16": 2, "f32": 4, "ui8": 1}


def kernel(element, shape, pixels, channels, box, offsets, swizzle):
    """A load whose first pixel is its lower corner and whose filter offsets are arguments, flattened to the output."""
    spatial = len(shape) - 2
    lower, upper, strides = box
    start = ", ".join(map(str, (*offsets, *lower, 0)))
    dynamic = ", ".join(["-9223372036854775808"] * spatial)
    names = ", ".join(f"%f{i}" for i in range(spatial))
    types = ", ".join(["index"] * spatial)
    tensor, tile = ("x".join(map(str, (*extents, element))) for extents in (shape, (pixels, channels)))
    flat, shared = pixels * channels, "#gpu.address_space<workgroup>"
    arguments = ", ".join(f"%f{i}: index" for i in range(spatial))
    return f"""
!barrier = !nvgpu.mbarrier.group<memorySpace = {shared}>
gpu.module @kernels {{
  memref.global "private" @tile : memref<{tile}, {shared}>
  gpu.func @k(%in: memref<{tensor}>, %out: memref<{flat}x{element}>, {arguments}) kernel
      attributes {{known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %count = arith.constant {flat} : index
    %phase = arith.constant false
    %thread = gpu.thread_id x
    %leader = arith.cmpi eq, %thread, %c0 : index
    %tile = memref.get_global @tile : memref<{tile}, {shared}>
    %barrier = nvgpu.mbarrier.create -> !barrier
    scf.if %leader {{
      nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
    }}
    gpu.barrier
    "tile.copy_async"(%in, %tile, {names}, %barrier, %c0) {{
      mode = "im2col", scope = "cta", expect_tx, swizzle = #tile.swizzle<"{swizzle}">, im2col = {{
        lower_corner = {list(lower)}, upper_corner = {list(upper)}, traversal_strides = {list(strides)}}},
      static_source_offsets = array<i64: {start}, {dynamic}>, static_destination_offsets = array<i64: 0, 0>,
      sizes = array<i64: {pixels}, {channels}>, operandSegmentSizes = array<i32: 1, 1, {spatial}, 0, 1, 1, 0, 0, 0>
    }} : (memref<{tensor}>, memref<{tile}, {shared}>, {types}, !barrier, index) -> ()
    "tile.wait"(%barrier, %c0, %phase) : (!barrier, index, i1) -> ()
    %flat = memref.collapse_shape %tile [[0, 1]] : memref<{tile}, {shared}> into memref<{flat}x{element}, {shared}>
    scf.for %i = %thread to %count step %c128 {{
      %value = memref.load %flat[%i] : memref<{flat}x{element}, {shared}>
      memref.store %value, %out[%i] : memref<{flat}x{element}>
    }}
    gpu.return
  }}
}}"""


@pytest.mark.parametrize("seed", range(8))
def test_random_im2col_loads(seed):
    rng = np.random.default_rng(seed)
    element = ("f16", "f32", "ui8")[seed % 3]
    swizzle = ("none", "32B", "64B", "128B")[seed % 4]
    spatial = 1 + seed % 3
    span = {"none": 64, "32B": 32, "64B": 64, "128B": 128}[swizzle]
    channels = span // SIZES[element]
    shape = (2, *(int(rng.integers(3, 8)) for _ in range(spatial)), channels)
    lower = tuple(int(rng.integers(-2, 1)) for _ in range(spatial))
    upper = tuple(int(rng.integers(-2, 2)) for _ in range(spatial))
    strides = tuple(int(rng.integers(1, 3)) for _ in range(spatial))
    text = kernel(element, shape, 48, channels, (lower, upper, strides), (0,), swizzle)
    compiled = compile_text(text, keep=("lowered",))
    assert re.search(rf"cp\.async\.bulk\.tensor\.{spatial + 2}d\S*\.im2col\.", compiled.ptx)
    dtype = {"f16": np.uint16, "f32": np.uint32, "ui8": np.uint8}[element]
    kind = {"f16": np.float16, "f32": np.float32, "ui8": np.uint8}[element]
    values = [
        rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True).view(kind),
        np.ones(48 * channels, kind),
        *(int(rng.integers(0, 4)) for _ in range(spatial)),
    ]
    found = copy_arguments(values)
    run_simulator(compiled.texts["lowered"], compiled.signatures["k"], found)
    assert compare(found, reference_result(text, "k.mlir", "k", values)) == []
    assert compare(found, values) != []
