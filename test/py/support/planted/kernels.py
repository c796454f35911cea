"""Arguments of the right kernels, and what they hold afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np


def _numbers(seed: int, *shape: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def _zeros(*shape: int, dtype: Any) -> np.ndarray:
    return np.zeros(shape, dtype)


def _ring_sum() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(0, 32, 64, dtype=np.float32)
    return [x, _zeros(64, dtype=np.float32)], {1: x.sum(0)}


def _double_store() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(1, 96, 64, dtype=np.int32)
    return [x, np.zeros_like(x)], {1: 2 * x}


def _add_blocks() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(2, 64, 64, dtype=np.int32)
    return [x, _zeros(16, 64, dtype=np.int32)], {1: (x + 1).reshape(4, 16, 64).sum(0)}


def _read_back() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(3, 16, 64, dtype=np.float32)
    return [x, np.zeros_like(x), np.zeros_like(x)], {2: x}


def _stage_global() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(4, 16, 64, dtype=np.float32)
    return [x, np.zeros_like(x), np.zeros_like(x)], {2: 2 * x}


def _last_block() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(5, 64, 64, dtype=np.int32)
    zeros = [_zeros(4, 64, dtype=np.int32), _zeros(1, dtype=np.int32), _zeros(64, dtype=np.int32)]
    return [x, *zeros], {3: x.sum(0)}


def _transpose() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(6, 64, 64, dtype=np.float32)
    return [x, np.zeros_like(x)], {1: x.T}


def _cp_async() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(7, 32, 64, dtype=np.float32)
    return [x, np.zeros_like(x)], {1: x}


def _multicast() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(8, 64, 64, dtype=np.float32)
    return [x, _zeros(128, 64, dtype=np.float32)], {1: np.concatenate([x, x])}


def _swizzled() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(9, 64, 32, dtype=np.int32)
    return [x, np.zeros_like(x)], {1: x}


def _matmul() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    a = _numbers(10, 64, 128, dtype=ml_dtypes.bfloat16)
    b = _numbers(11, 128, 64, dtype=ml_dtypes.bfloat16)
    return [a, b, _zeros(64, 64, dtype=np.float32)], {2: a.astype(np.float32) @ b.astype(np.float32)}


def _lock() -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    x = _numbers(12, 4, 32, dtype=np.int32)
    return [x, np.zeros_like(x), _zeros(1, dtype=np.int32)], {1: x.cumsum(0, dtype=np.int32)}


KERNELS: dict[str, Callable[[], tuple[list[np.ndarray], dict[int, np.ndarray]]]] = {
    "ring_sum": _ring_sum,
    "double_store": _double_store,
    "add_blocks": _add_blocks,
    "read_back": _read_back,
    "stage_global": _stage_global,
    "last_block": _last_block,
    "transpose": _transpose,
    "cp_async": _cp_async,
    "multicast": _multicast,
    "swizzled": _swizzled,
    "matmul": _matmul,
    "lock": _lock,
}
"""Arguments of each kernel, and what they hold after it (argument number to array)."""
