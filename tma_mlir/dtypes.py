"""Element types: one table for widths, NumPy, MLIR and driver names.

Imports neither MLIR nor the CUDA driver, so the planner and the simulator can use it anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class DType:
    """An element type.

    ``name`` is MLIR's spelling (``f16``, ``i8``, ``f8E4M3FN``); ``bits`` its width; ``driver`` the
    ``CUtensorMapDataType`` suffix a tensor map uses when the element is moved as itself; ``numpy`` the
    dtype whose bytes it has in host memory.
    """

    name: str
    bits: int
    driver: str
    numpy: np.dtype

    @property
    def bytes(self) -> int:
        """Width in bytes; raises ``ValueError`` for a type narrower than a byte."""
        if self.bits % 8:
            raise ValueError(f"{self.name} is {self.bits} bits wide, not a whole number of bytes")
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.name[0] in "fbt"

    def __str__(self) -> str:
        return self.name


def _table() -> dict[str, DType]:
    rows = [
        ("i1", 8, "UINT8", np.bool_),
        ("i8", 8, "UINT8", np.int8),
        ("ui8", 8, "UINT8", np.uint8),
        ("i16", 16, "UINT16", np.int16),
        ("ui16", 16, "UINT16", np.uint16),
        ("i32", 32, "INT32", np.int32),
        ("ui32", 32, "UINT32", np.uint32),
        ("i64", 64, "INT64", np.int64),
        ("ui64", 64, "UINT64", np.uint64),
        ("f16", 16, "FLOAT16", np.float16),
        ("bf16", 16, "BFLOAT16", ml_dtypes.bfloat16),
        ("tf32", 32, "TFLOAT32", np.float32),
        ("f32", 32, "FLOAT32", np.float32),
        ("f64", 64, "FLOAT64", np.float64),
        ("f8E4M3FN", 8, "UINT8", ml_dtypes.float8_e4m3fn),
        ("f8E5M2", 8, "UINT8", ml_dtypes.float8_e5m2),
        ("f8E4M3FNUZ", 8, "UINT8", ml_dtypes.float8_e4m3fnuz),
        ("f8E5M2FNUZ", 8, "UINT8", ml_dtypes.float8_e5m2fnuz),
        ("f8E4M3B11FNUZ", 8, "UINT8", ml_dtypes.float8_e4m3b11fnuz),
        ("f8E3M4", 8, "UINT8", ml_dtypes.float8_e3m4),
        ("f8E4M3", 8, "UINT8", ml_dtypes.float8_e4m3),
        ("f8E8M0FNU", 8, "UINT8", ml_dtypes.float8_e8m0fnu),
    ]
    return {name: DType(name, bits, driver, np.dtype(numpy)) for name, bits, driver, numpy in rows}


DTYPES: dict[str, DType] = _table()
"""Every element type a copy can have, by MLIR name. ``i1`` is stored as a byte in memory."""

DRIVER_BYTES: dict[str, int] = {
    "UINT8": 1, "UINT16": 2, "UINT32": 4, "INT32": 4, "UINT64": 8, "INT64": 8, "FLOAT16": 2, "FLOAT32": 4,
    "FLOAT64": 8, "BFLOAT16": 2, "FLOAT32_FTZ": 4, "TFLOAT32": 4, "TFLOAT32_FTZ": 4,
}  # fmt: skip
"""Bytes per element of each un-packed ``CUtensorMapDataType`` (driver API, enum order)."""

DRIVER_FLOATS = frozenset(name for name in DRIVER_BYTES if "FLOAT" in name)


def dtype(name: str) -> DType:
    """The element type MLIR spells ``name``; ``KeyError`` names the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise KeyError(f"unknown element type {name!r}; known: {', '.join(DTYPES)}") from None
