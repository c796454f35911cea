"""Random tensor maps and coordinates: the GPU's bytes are the model's, for loads and stores."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pytest

from tma_mlir.dtypes import DRIVER_BYTES, DRIVER_FLOATS
from tma_mlir.plan.tensor_map import L2Promotion, OobFill, Swizzle, TensorMap
from tma_mlir.sim.engine import BoundTensorMap, load_box, place_box, store_box, take_box

COPIES = int(os.environ.get("TMA_MLIR_RANDOM_COPIES", "5000"))
SHARED_BYTES = 64 * 1024


@dataclass(frozen=True)
class Case:
    tensor_map: TensorMap
    coordinates: tuple[int, ...]
    memory_bytes: int


def random_case(rng: np.random.Generator, store: bool) -> Case:
    """A legal copy: dimensions up to a few boxes, so that it often starts before the beginning or passes an end."""
    data_type = str(rng.choice(list(DRIVER_BYTES)))
    size, rank = DRIVER_BYTES[data_type], int(rng.integers(1, 6))
    swizzle = Swizzle(int(rng.integers(0, 4)))
    unit = 16 // size if size < 16 else 1
    widest = min(swizzle.span_bytes or 512, 256 * size) // 16
    box = [int(rng.integers(1, widest + 1)) * unit]
    steps = [1]
    rows = SHARED_BYTES // max(box[0] * size, swizzle.span_bytes)
    for _ in range(rank - 1):
        extent = int(rng.integers(1, min(rows, 12) + 1))
        rows //= extent
        box.append(extent)
        steps.append(int(rng.choice([1, 1, 1, 2, 3])))
    while True:
        dims = [int(rng.integers(1, 3 * extent + 2)) for extent in box]
        if store and rng.random() < 0.5:  # rows that end at 16 bytes, and rows that do not
            dims[0] = -(-dims[0] // unit) * unit
        strides, step = [], -(-dims[0] * size // 16) * 16
        for extent in dims[1:]:
            step += 16 * int(rng.integers(0, 3))
            strides.append(step)
            step *= extent
        if step < 1 << 20:
            break
    coordinates = []
    for d, (extent, dim) in enumerate(zip(box, dims, strict=True)):
        step_by = 1 if d else unit
        reach = extent - 1 if rng.random() < 0.9 else 2 * extent  # inside at least in part, or anywhere around
        low, high = 0 if store else -(reach // step_by), (dim + reach - extent) // step_by
        coordinates.append(int(rng.integers(low, max(low, high) + 1)) * step_by)
    nan = data_type in DRIVER_FLOATS and not store and rng.random() < 0.5
    made = TensorMap(
        data_type=data_type,
        dims=tuple(dims),
        strides_bytes=tuple(strides),
        box=tuple(box),
        element_strides=tuple(steps),
        swizzle=swizzle,
        l2_promotion=L2Promotion(int(rng.integers(0, 4))),
        oob_fill=OobFill.NAN if nan else OobFill.ZERO,
        base_offset_bytes=16 * int(rng.integers(0, 4)),
    )
    return Case(made, tuple(coordinates), int(made.base_offset_bytes) + step + 64)  # type: ignore[arg-type]


@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("direction", ["load", "store"])
def test_the_gpu_does_what_the_model_says(tile_kernel, direction, block):
    rng = np.random.default_rng(1000 + block)
    for number in range(COPIES // 20):
        case = random_case(rng, direction == "store")
        tensor_map = case.tensor_map
        memory = rng.integers(0, 256, case.memory_bytes, np.uint8)
        bound = BoundTensorMap(tensor_map, int(tensor_map.base_offset_bytes))  # type: ignore[arg-type]
        kernel = tile_kernel(direction, tensor_map)
        if direction == "load":
            shared = np.zeros(SHARED_BYTES, np.uint8)
            expected = np.full(SHARED_BYTES, 0xCD, np.uint8)
            place_box(bound, load_box(bound, case.coordinates, memory, 0), expected, 0)
            kernel(memory, shared, bound.transaction_bytes, *case.coordinates)
            found = shared
        else:
            shared = rng.integers(0, 256, SHARED_BYTES, np.uint8)
            expected = memory.copy()
            store_box(bound, case.coordinates, take_box(bound, shared, 0), expected, 0)
            kernel(memory, shared, *case.coordinates)
            found = memory
        kernel.unload()
        np.testing.assert_array_equal(found, expected, f"copy {number}: {case}")
