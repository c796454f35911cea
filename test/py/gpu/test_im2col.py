"""im2col on the GPU is im2col in the simulator: loads and stores by random maps, and the encoder's rules."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tma_mlir.abi.conditions import violations
from tma_mlir.abi.signature import KernelSignature, TensorMapArgument
from tma_mlir.assembler import Cubin, assemble
from tma_mlir.dtypes import DRIVER_BYTES
from tma_mlir.plan.tensor_map import Im2col, L2Promotion, OobFill, Swizzle, TensorMap
from tma_mlir.runtime import DescriptorError, Kernel, driver
from tma_mlir.runtime.tensor_maps import encode
from tma_mlir.sim import gather, im2col
from tma_mlir.sim.engine import BoundTensorMap, place_box, take_box

from .kernels import BYTES, NUMBER, SHARED_BYTES, THREADS, load_ptx, store_ptx

COPIES = int(os.environ.get("TMA_MLIR_RANDOM_COPIES", "5000")) // 50
TYPES = ("FLOAT16", "FLOAT32", "UINT8")


def im2col_ptx(direction: str, rank: int) -> str:
    """The tile kernels' PTX with the other instruction; a load takes rank - 2 filter offsets after the coordinates."""
    if direction == "store":
        return store_ptx(rank).replace(".tile.bulk_group", ".im2col_no_offs.bulk_group")
    count = rank - 2
    last = f", .param .s32 p{rank - 1}"
    registers = ".reg .b32 %c<5>;"
    reads = "".join(f" ld.param.s32 %q{i}, [q{i}]; cvt.u16.u32 %h{i}, %q{i};" for i in range(count))
    offsets = ", ".join(f"%h{i}" for i in range(count))
    ptx = load_ptx(rank)
    for old, new in (
        (last, last + "".join(f", .param .s32 q{i}" for i in range(count))),
        (registers, f"{registers} .reg .b32 %q<3>; .reg .b16 %h<3>;{reads}"),
        (".tile.mbarrier", ".im2col.mbarrier"),
        ("}], [%b];", f"}}], [%b], {{{offsets}}};"),
    ):
        assert ptx.count(old) == 1
        ptx = ptx.replace(old, new)
    return ptx


@functools.cache
def cubin(direction: str, rank: int) -> Cubin:
    return assemble(im2col_ptx(direction, rank), "sm_90a")


def make_kernel(direction: str, tensor_map: TensorMap) -> Kernel:
    """Arguments: the tensor's bytes, 64 KiB of shared memory, transaction bytes of a load, coordinates, offsets."""
    rank = tensor_map.rank
    numbers = 1 + rank + rank - 2 if direction == "load" else rank
    signature = KernelSignature(
        name=direction,
        tensor_maps=(TensorMapArgument(0, tensor_map),),
        arguments=(BYTES, BYTES, *[NUMBER] * numbers),
        grid=(1, 1, 1),
        block=(THREADS, 1, 1),
        dynamic_shared_bytes=SHARED_BYTES,
    )
    return Kernel(cubin(direction, rank), signature)


@dataclass(frozen=True)
class Case:
    """``coordinates`` (channel, W, ... N) and ``offsets`` (W, ...) in driver order."""

    tensor_map: TensorMap
    coordinates: tuple[int, ...]
    offsets: tuple[int, ...]
    memory_bytes: int


def case(
    shape, pixels, channels, lower, upper, start=None, offsets=None, strides=None, data_type="FLOAT16",
    swizzle=Swizzle.NONE, fill=OobFill.ZERO,
) -> Case:  # fmt: skip
    """A column of a dense tensor N(D)(H)WC; ``shape`` and all else in memref order. It starts at the lower corner."""
    size, spatial = DRIVER_BYTES[data_type], len(shape) - 2
    steps = [int(step) for step in size * np.cumprod((1, *reversed(shape)))]
    tensor_map = TensorMap(
        data_type,
        tuple(reversed(shape)),
        tuple(steps[1:-1]),
        (channels, pixels),
        (1, *reversed(strides or (1,) * spatial), 1),
        swizzle,
        oob_fill=fill,
        im2col=Im2col(tuple(reversed(lower)), tuple(reversed(upper))),
    )
    place = start if start is not None else (0, *lower, 0)
    return Case(tensor_map, tuple(reversed(place)), tuple(reversed(offsets or (0,) * spatial)), steps[-1])


def check_load(wanted: Case, rng: np.random.Generator) -> None:
    bound = BoundTensorMap(wanted.tensor_map, 0)
    memory = rng.integers(0, 256, wanted.memory_bytes, np.uint8)
    rows = im2col.pixel_windows(bound, wanted.coordinates, wanted.offsets, store=False)
    expected = np.full(SHARED_BYTES, 0xCD, np.uint8)
    place_box(bound, gather.gather_rows(im2col.single_pixel(bound), rows, memory, 0), expected, 0)
    found = np.zeros(SHARED_BYTES, np.uint8)
    kernel = make_kernel("load", wanted.tensor_map)
    kernel(memory, found, bound.transaction_bytes, *wanted.coordinates, *wanted.offsets)
    kernel.unload()
    np.testing.assert_array_equal(found, expected, str(wanted))


PADDED: dict[str, Any] = {"lower": (-1, -1), "upper": (-1, -1)}


@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("swizzle", list(Swizzle)[:4])
def test_every_tap_of_a_padded_convolution(rng, data_type, swizzle):
    channels = (swizzle.span_bytes or 64) // DRIVER_BYTES[data_type]
    for r in range(3):
        for s in range(3):
            check_load(
                case(
                    (3, 6, 7, channels), 100, channels, **PADDED, offsets=(r, s), data_type=data_type, swizzle=swizzle
                ),
                rng,
            )


@pytest.mark.parametrize("dilation", [2, 3])
def test_dilated_taps(rng, dilation):
    # Corners as a convolution has them: -padding, and padding - (filter - 1) * dilation.
    for tap in range(3):
        corner = (-dilation, -dilation)
        check_load(case((2, 9, 8, 32), 96, 32, corner, corner, offsets=(0, tap * dilation)), rng)


@pytest.mark.parametrize("strides", [(1, 2), (2, 1), (2, 2), (3, 4), (8, 8)])
def test_strided_convolutions(rng, strides):
    check_load(case((4, 15, 13, 32), 64, 32, **PADDED, offsets=(1, 2), strides=strides), rng)


def test_one_and_three_spatial_dimensions(rng):
    check_load(case((3, 40, 32), 100, 32, (-2,), (1,), offsets=(3,)), rng)
    check_load(case((2, 4, 5, 6, 32), 100, 32, (-1, -1, 0), (-1, 0, -2), offsets=(2, 1, 2)), rng)


@pytest.mark.parametrize("pixels", [1, 7, 256, 257, 1024])
def test_numbers_of_pixels(rng, pixels):
    check_load(case((3, 20, 20, 16), pixels, 16, **PADDED, offsets=(1, 1)), rng)


def test_starts_within_the_box(rng):
    for start in ((0, 3, 4, 0), (1, -1, 2, 16), (2, 5, 5, 0), (3, 0, 0, 0)):
        check_load(case((3, 7, 7, 32), 64, 16, **PADDED, start=start, offsets=(2, 1)), rng)


def test_a_start_between_strides_goes_on_at_the_corner(rng):
    check_load(case((2, 9, 9, 32), 48, 32, (0, 0), (0, 0), start=(0, 1, 1, 0), strides=(2, 2)), rng)


@pytest.mark.parametrize("data_type", ["FLOAT16", "FLOAT32"])
def test_nan_in_the_padding(rng, data_type):
    check_load(case((2, 5, 5, 32), 50, 32, **PADDED, data_type=data_type, fill=OobFill.NAN), rng)


def random_case(rng: np.random.Generator) -> Case:
    data_type, swizzle = str(rng.choice(TYPES)), Swizzle(int(rng.integers(0, 4)))
    unit = 16 // DRIVER_BYTES[data_type]
    spatial = int(rng.integers(1, 4))
    channels = unit * int(rng.integers(1, (swizzle.span_bytes or 128) // 16 + 1))
    most = min(1024, SHARED_BYTES // max(channels * DRIVER_BYTES[data_type], swizzle.span_bytes))
    shape = [int(rng.integers(1, 4)), *(int(rng.integers(2, 10)) for _ in range(spatial)), channels + 2 * unit]
    lower = tuple(int(rng.integers(-3, 2)) for _ in range(spatial))
    upper = tuple(
        max(int(rng.integers(-3, 3)), low - extent + 1) for low, extent in zip(lower, shape[1:-1], strict=True)
    )
    strides = tuple(int(rng.choice([1, 1, 1, 2, 3])) for _ in range(spatial))
    steps = [
        int(rng.integers(0, (extent - 1 + high - low) // stride + 1))
        for low, high, extent, stride in zip(lower, upper, shape[1:-1], strides, strict=True)
    ]
    place = [low + step * stride for low, step, stride in zip(lower, steps, strides, strict=True)]
    start = (int(rng.integers(0, shape[0])), *place, unit * int(rng.integers(-1, 4)))
    offsets = tuple(int(rng.integers(0, 5)) for _ in range(spatial))
    return case(
        tuple(shape),
        int(rng.integers(1, most + 1)),
        channels,
        lower,
        upper,
        start,
        offsets,
        strides,
        data_type,
        swizzle,
    )


@pytest.mark.parametrize("block", range(5))
def test_random_loads(block):
    rng = np.random.default_rng(4000 + block)
    for _ in range(COPIES):
        check_load(random_case(rng), rng)


@pytest.mark.parametrize("strides", [(1, 1), (2, 1)])
@pytest.mark.parametrize("swizzle", list(Swizzle)[:4])
def test_stores(rng, swizzle, strides):
    channels = (swizzle.span_bytes or 64) // 2
    wanted = case((2, 5, 6, channels), 40, channels, (0, 1), (0, -1), strides=strides, swizzle=swizzle)
    bound = BoundTensorMap(wanted.tensor_map, 0)
    memory, shared = (rng.integers(0, 256, size, np.uint8) for size in (wanted.memory_bytes, SHARED_BYTES))
    expected = memory.copy()
    rows = im2col.pixel_windows(bound, wanted.coordinates, (), store=True)
    gather.scatter_rows(im2col.single_pixel(bound), rows, take_box(bound, shared, 0), expected, 0)
    kernel = make_kernel("store", wanted.tensor_map)
    kernel(memory, shared, *wanted.coordinates)
    np.testing.assert_array_equal(memory, expected)


def random_map(rng: np.random.Generator) -> TensorMap:
    """Near every limit, legal or not."""

    def pick(*values):
        return int(rng.choice(values))

    rank = pick(2, 3, 4, 4, 5)
    spatial = max(rank - 2, 1)
    edges = {3: (-32769, -32768, 32767, 32768), 4: (-129, -128, 127, 128), 5: (-17, -16, 15, 16)}.get(rank, (0,))
    return TensorMap(
        str(rng.choice(list(DRIVER_BYTES))),
        tuple(pick(1, 16, 64, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 32) for _ in range(rank)),
        tuple(pick(16, 1024, 1024, *[1 << 20] * 5, 24) for _ in range(rank - 1)),
        (pick(4, 8, 16, 16, 32, 64, 256, 257), pick(1, 64, 64, 256, 1024, 1025)),
        tuple(pick(*[1] * 9, 2, 8, 9) for _ in range(rank)),
        Swizzle(pick(0, 0, 0, 1, 2, 3)),
        L2Promotion(pick(0, 1, 2, 3)),
        im2col=Im2col(
            tuple(pick(0, 0, 0, -1, 1, *edges) for _ in range(spatial)),
            tuple(pick(0, 0, 0, -1, 1, *edges) for _ in range(spatial)),
        ),
    )


def test_the_rules_are_the_driver_s():
    rng = np.random.default_rng(6)
    verdicts = [0, 0]
    wrong = []
    with driver.current(0):
        for _ in range(20_000):
            tensor_map = random_map(rng)
            problems = violations(tensor_map, 1 << 20, driver.device(0).chip)
            try:
                encode(tensor_map, 1 << 20)
                accepted = True
            except DescriptorError:
                accepted = False
            if accepted is bool(problems):
                wrong.append(f"driver {'accepts' if accepted else 'refuses'}: {tensor_map}; ours: {problems}")
            verdicts[accepted] += 1
    assert not wrong, f"{len(wrong)} of 20000 verdicts differ:\n" + "\n".join(wrong[:40])
    assert min(verdicts) > 500
