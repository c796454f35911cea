"""Where the 16-byte chunks of a box lie in shared memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(maxsize=512)
def shared_chunks(rows: int, inner_bytes: int, pitch_bytes: int, swizzle_bits: int, phase: int) -> np.ndarray:
    """Chunk offsets (16 B units from the tile's base) of a box's chunks in row-major order.

    ``swizzle_bits`` is 0..3 for none, 32B, 64B, 128B: address bits 4.. are XORed with as many bits from bit 7 up, so
    the pattern depends on ``phase``, the base address modulo 1024 (a multiple of 128).
    """
    row_chunks = np.arange(inner_bytes // 16)
    offsets = (np.arange(rows) * (pitch_bytes // 16))[:, None] + row_chunks[None, :]
    absolute = offsets.reshape(-1) + phase // 16
    mask = (1 << swizzle_bits) - 1
    return (absolute ^ ((absolute >> 3) & mask)) - phase // 16


def swizzle_offset(offset: Any, swizzle_bits: int) -> Any:
    """Byte address with the swizzle's XOR applied (an involution)."""
    mask = (1 << swizzle_bits) - 1
    return offset ^ (((offset >> 7) & mask) << 4)
