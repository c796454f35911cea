"""Random descriptors: what the driver accepts is what the rules accept, and another address is all that changes.

Needs a GPU. With ``TMA_FUZZ_DRIVER=fake`` in the environment an encoder written from docs/hardware.md takes the
driver's place (``fake_encoder.py``): that tries the fuzzer, and the rules against the page.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
from dataclasses import dataclass
from functools import cache

import fake_encoder
from failure import Failure, of_exception
from tma_mlir.abi.conditions import violations
from tma_mlir.dtypes import DRIVER_BYTES
from tma_mlir.layout import Swizzle
from tma_mlir.plan.tensor_map import Im2col, L2Promotion, OobFill, TensorMap
from tma_mlir.runtime import DescriptorError, driver, tensor_maps


@dataclass(frozen=True)
class Case:
    """``other``: a second address that every legal descriptor of the first may have."""

    tensor_map: TensorMap
    address: int
    other: int


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    tensor_map = _im2col(rng) if rng.random() < 0.35 else _tiled(rng)
    address = rng.choice((1 << 20, 1 << 20, 1 << 20, 16, 1 << 45, (1 << 20) + 16 * rng.randrange(1 << 20)))
    if rng.random() < 0.05:
        address += rng.choice((1, 2, 4, 8, 15))
    return Case(tensor_map, address, 16 * rng.randint(1, 1 << 36))


def check(case: Case) -> Failure | None:
    device = _device()
    try:
        with driver.current(device.ordinal):
            return _judged(case, device.chip)
    except Exception as error:
        return of_exception(error)


@cache
def _device() -> driver.Device:
    """In the worker: a context does not outlive a fork."""
    if os.environ.get("TMA_FUZZ_DRIVER") == "fake":
        fake_encoder.install()
    return driver.device(0)


def _judged(case: Case, chip: str) -> Failure | None:
    ours = violations(case.tensor_map, case.address, chip)
    try:
        made = tensor_maps.encode(case.tensor_map, case.address)
    except DescriptorError:
        made = None
    if (made is None) is not bool(ours):
        what = "refuses" if made is None else "accepts"
        rules = ", ".join(sorted({text.rpartition("(rule: ")[2].partition(")")[0] for text in ours}))
        return Failure(f"the driver {what}; ours: {rules or 'all hold'}", f"{case}\nours: {ours}")
    if made is None:
        return None
    with contextlib.suppress(DescriptorError):
        return _moved(case, made)
    return Failure("the driver refuses the other address", str(case))


def _moved(case: Case, made: tensor_maps.Descriptor) -> Failure | None:
    """The descriptor for another address, written as a launch writes it, is the one encoded for that address."""
    memory = (ctypes.c_char * 256)()
    at = -(-ctypes.addressof(memory) // 128) * 128
    block = tensor_maps.DescriptorBlock.of([made])
    block.write(memoryview(memory).cast("B"), at - ctypes.addressof(memory), at, [case.other])
    written = ctypes.string_at(at, 128)
    wanted = tensor_maps.encode(case.tensor_map, case.other).data
    if written != wanted:
        return Failure("a descriptor at another address", f"{case}\n{written.hex()}\n{wanted.hex()}")
    return None


def _tiled(rng: random.Random) -> TensorMap:
    """Near every limit; two thirds are legal."""
    rank = rng.choice((1, 2, 2, 3, 3, 4, 5, 5)) if rng.random() < 0.97 else rng.choice((0, 6))
    name = rng.choice(list(DRIVER_BYTES))
    size = DRIVER_BYTES[name]
    swizzle = Swizzle(rng.choice((0, 0, 0, 1, 2, 3, 3)))
    span = swizzle.span_bytes or 512
    inner = rng.choice((16, 32, 64, span, span)) // size
    dims = [rng.choice((1, 7, 64, 4096, 1 << 20, 1 << 31, 1 << 32)) for _ in range(rank)]
    strides = [16 * rng.choice((0, 1, 5, 64, 1 << 20, (1 << 36) - 1)) for _ in range(rank - 1)]
    box = [inner, *(rng.choice((1, 2, 8, 64, 256)) for _ in range(rank - 1))][:rank]
    while len(box) > 1 and _product(box) * size > 232448 and rng.random() < 0.95:
        box[rng.randrange(1, len(box))] = 1
    steps = [rng.choice((1, 1, 1, 1, 2, 3, 8)) for _ in range(rank)]
    fill, promotion = rng.choice((OobFill.ZERO, OobFill.ZERO, OobFill.NAN)), rng.choice(list(L2Promotion))
    if fill and "FLOAT" not in name and rng.random() < 0.8:
        fill = OobFill.ZERO
    if rank and rng.random() < 0.35:
        change = rng.randrange(4)
        if change == 0:
            dims[rng.randrange(rank)] = rng.choice((0, (1 << 32) + 1, 1 << 33, (1 << 63) - 1))
        elif change == 1 and rank > 1:
            strides[rng.randrange(rank - 1)] = rng.choice((8, 24, 17, 1 << 40, (1 << 40) - 16, (1 << 40) + 16, 1 << 62))
        elif change == 2:
            box[rng.randrange(rank)] = rng.choice((0, 1, 3, 255, 257, 300, 1 << 20, 1 << 31))
        else:
            steps[rng.randrange(rank)] = rng.choice((0, 9, 8, 7, 1 << 31))
    return TensorMap(name, tuple(dims), tuple(strides), tuple(box), tuple(steps), swizzle, promotion, fill)


def _product(numbers: list[int]) -> int:
    made = 1
    for each in numbers:
        made *= each
    return made


def _im2col(rng: random.Random) -> TensorMap:
    rank = rng.choice((3, 4, 4, 5, 5)) if rng.random() < 0.95 else rng.choice((1, 2, 6))
    spatial = max(rank - 2, 1)
    limit = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}.get(rank, 4)
    edges = (-limit - 1, -limit, limit - 1, limit)

    def corner() -> int:
        return rng.choice(edges) if rng.random() < 0.1 else rng.randint(-3, 3)

    name = rng.choice(list(DRIVER_BYTES))
    size, swizzle = DRIVER_BYTES[name], Swizzle(rng.choice((0, 0, 0, 1, 2, 3)))
    channels = (
        rng.choice((16, 32, swizzle.span_bytes or 64)) // size if rng.random() < 0.85 else rng.choice((4, 256, 257))
    )
    dims = [rng.choice((16, 64, 1 << 20)) if rng.random() < 0.85 else rng.choice((1, 1 << 31, (1 << 32) - 1, 1 << 32))
            for _ in range(rank)]  # fmt: skip
    return TensorMap(
        name, tuple(dims), tuple(rng.choice((16, 1024, 1 << 20, 24 if rng.random() < 0.2 else 32)) for _ in dims[1:]),
        (channels, rng.choice((1, 64, 64, 256, 1024, 1025 if rng.random() < 0.3 else 8))),
        tuple(rng.choice((1, 1, 1, 2, 8, 9 if rng.random() < 0.1 else 3)) for _ in dims), swizzle,
        rng.choice(list(L2Promotion)),
        im2col=Im2col(tuple(corner() for _ in range(spatial)), tuple(corner() for _ in range(spatial))),
    )  # fmt: skip
