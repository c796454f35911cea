"""A driver without a GPU that encodes tensor maps: it accepts what docs/hardware.md says an H200's driver accepts.

``install`` puts it under the runtime of this process. The bytes are its own: the address, then everything else.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import struct
from typing import Any

from tma_mlir.runtime import driver, im2col

SIZES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
"""Bytes by number of the data type."""
FLOATS = range(6, 13)
SPANS = (1 << 40, 32, 64, 128)
CORNERS = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}
INVALID = 1


def tiled(target: int, data_type: int, rank: int, address: int, *more: Any) -> int:
    dims, strides, box, steps, _, swizzle, promotion, fill = more
    if not 1 <= rank <= 5 or not all(1 <= b <= 256 for b in box) or not all(1 <= s <= 8 for s in steps):
        return INVALID
    size = SIZES[data_type] * math.prod(b // s for b, s in zip(box, steps, strict=True))
    return _encoded(
        target, data_type, address, dims, strides[: rank - 1], box, steps, swizzle, promotion, fill, size, ()
    )


def column(target: int, data_type: int, rank: int, address: int, *more: Any) -> int:
    dims, strides, lower, upper, channels, pixels, steps, _, swizzle, promotion, fill = more
    limit = CORNERS.get(rank)
    if limit is None or not 1 <= channels <= 256 or not 1 <= pixels <= 1024 or not all(1 <= s <= 8 for s in steps):
        return INVALID
    for dim, low, high in zip(dims[1:], lower, upper, strict=False):
        end = ctypes.c_int32(dim + high).value
        if not (-limit <= low < limit and -limit <= high < limit) or end <= low:
            return INVALID
    size = SIZES[data_type] * channels * pixels
    box, corners = (channels, pixels), (*lower, *upper)
    return _encoded(
        target, data_type, address, dims, strides[: rank - 1], box, steps, swizzle, promotion, fill, size, corners
    )


def _encoded(
    target: int, data_type: int, address: int, dims: Any, strides: Any, box: Any, steps: Any, swizzle: int,
    promotion: int, fill: int, size: int, corners: tuple[int, ...],
) -> int:  # fmt: skip
    inner = box[0] * SIZES[data_type]
    accepted = (
        address % 16 == 0
        and all(1 <= dim <= 1 << 32 for dim in dims)
        and all(stride % 16 == 0 and stride < 1 << 40 for stride in strides)
        and size <= 227 * 1024
        and inner % 16 == 0
        and 0 <= swizzle <= 3
        and inner <= SPANS[swizzle]
        and (fill == 0 or (fill == 1 and data_type in FLOATS))
        and 0 <= promotion <= 3
    )
    if not accepted:
        return INVALID
    rest = repr((data_type, *map(list, (dims, strides, box, steps)), swizzle, promotion, fill, corners)).encode()
    ctypes.memmove(target, struct.pack("<Q", address) + hashlib.shake_128(rest).digest(120), 128)
    return 0


def replace(target: int, address: int) -> int:
    ctypes.memmove(target, struct.pack("<Q", address), 8)
    return 0


class _Device:
    ordinal, chip = 0, "sm_90a"


def install() -> None:
    """Under the runtime of this process, for good."""
    fakes: list[tuple[Any, str, Any]] = [
        (driver, "tensor_map_calls", lambda: (tiled, replace)),
        (driver, "driver_version", lambda: 13000),
        (driver, "device", lambda ordinal: _Device()),
        (driver, "current", lambda ordinal: contextlib.nullcontext()),
        (driver, "result_name", lambda code: "CUDA_ERROR_INVALID_VALUE"),
        (im2col, "encoder", lambda wide: column),
    ]
    for module, name, fake in fakes:
        setattr(module, name, fake)
