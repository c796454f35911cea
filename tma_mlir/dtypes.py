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

    ``name`` is MLIR's spelling (``f16``, ``i8``, ``f8E4M3FN``); ``bits`` its width in memory; ``driver`` the
    ``CUtensorMapDataType`` suffix a tensor map uses when the element is moved as itself; ``numpy`` the dtype whose
    bytes it has in host memory; ``torch`` PyTorch's name without ``torch.``, empty where it has none.
    """

    name: str
    bits: int
    driver: str
    numpy: np.dtype
    torch: str = ""

    @property
    def bytes(self) -> int:
        """Width in bytes; raises ``ValueError`` for a type narrower than a byte."""
        if self.bits % 8:
            raise ValueError(f"{self.name} is {self.bits} bits wide, not a whole number of bytes")
        return self.bits // 8

    @property
    def packed(self) -> bool:
        """Narrower than a byte: elements lie in global memory without gaps between them."""
        return self.bits < 8

    @property
    def tile_bytes(self) -> int:
        """Bytes between neighbours of a shared memref: one for packed elements, as LLVM lays them out."""
        return 1 if self.packed else self.bytes

    @property
    def is_float(self) -> bool:
        return self.name[0] in "fbt"

    def __str__(self) -> str:
        return self.name


def _table() -> dict[str, DType]:
    rows = [
        ("i1", 8, "UINT8", np.bool_, "bool"),
        ("i8", 8, "UINT8", np.int8, "int8"),
        ("ui8", 8, "UINT8", np.uint8, "uint8"),
        ("i16", 16, "UINT16", np.int16, "int16"),
        ("ui16", 16, "UINT16", np.uint16, "uint16"),
        ("i32", 32, "INT32", np.int32, "int32"),
        ("ui32", 32, "UINT32", np.uint32, "uint32"),
        ("i64", 64, "INT64", np.int64, "int64"),
        ("ui64", 64, "UINT64", np.uint64, "uint64"),
        ("f16", 16, "FLOAT16", np.float16, "float16"),
        ("bf16", 16, "BFLOAT16", ml_dtypes.bfloat16, "bfloat16"),
        ("tf32", 32, "TFLOAT32", np.float32, ""),
        ("f32", 32, "FLOAT32", np.float32, "float32"),
        ("f64", 64, "FLOAT64", np.float64, "float64"),
        ("f8E4M3FN", 8, "UINT8", ml_dtypes.float8_e4m3fn, "float8_e4m3fn"),
        ("f8E5M2", 8, "UINT8", ml_dtypes.float8_e5m2, "float8_e5m2"),
        ("f8E4M3FNUZ", 8, "UINT8", ml_dtypes.float8_e4m3fnuz, "float8_e4m3fnuz"),
        ("f8E5M2FNUZ", 8, "UINT8", ml_dtypes.float8_e5m2fnuz, "float8_e5m2fnuz"),
        ("f8E4M3B11FNUZ", 8, "UINT8", ml_dtypes.float8_e4m3b11fnuz, ""),
        ("f8E3M4", 8, "UINT8", ml_dtypes.float8_e3m4, ""),
        ("f8E4M3", 8, "UINT8", ml_dtypes.float8_e4m3, ""),
        ("f8E8M0FNU", 8, "UINT8", ml_dtypes.float8_e8m0fnu, "float8_e8m0fnu"),
        ("i4", 4, "16U4_ALIGN8B", ml_dtypes.int4, ""),
        ("f4E2M1FN", 4, "16U4_ALIGN8B", ml_dtypes.float4_e2m1fn, ""),
        ("f6E2M3FN", 6, "16U6_ALIGN16B", ml_dtypes.float6_e2m3fn, ""),
        ("f6E3M2FN", 6, "16U6_ALIGN16B", ml_dtypes.float6_e3m2fn, ""),
    ]
    return {name: DType(name, bits, driver, np.dtype(numpy), torch) for name, bits, driver, numpy, torch in rows}


DTYPES: dict[str, DType] = _table()
"""Every element type a copy can have, by MLIR name. ``i1`` is stored as a byte in memory."""

TORCH_DTYPES: dict[str, DType] = {each.torch: each for each in DTYPES.values() if each.torch}
"""Element types by PyTorch's name."""

NVGPU_ENCODES = frozenset(("f16", "bf16", "f32", "f64", "i32", "i64", "ui8"))
"""Element types whose tensor maps host code made by ``convert-nvgpu-to-nvvm`` can encode; it ends the process on the
others (MLIR 22)."""
OTHER_MLIR_WIDTH = frozenset(("i1", "tf32"))
"""Element types whose width in MLIR (1 and 19 bits) is not that in memory; nvgpu's verifier counts with the former."""


@dataclass(frozen=True)
class DriverType:
    """A ``CUtensorMapDataType``: ``numpy`` is the type its elements are computed with, ``mlir`` the element of a memref
    that stands for it."""

    numpy: np.dtype
    mlir: str


DRIVER_TYPES: dict[str, DriverType] = {
    name: DriverType(np.dtype(numpy), mlir)
    for name, numpy, mlir in (
        ("UINT8", np.uint8, "i8"),
        ("UINT16", np.uint16, "i16"),
        ("UINT32", np.uint32, "i32"),
        ("INT32", np.int32, "i32"),
        ("UINT64", np.uint64, "i64"),
        ("INT64", np.int64, "i64"),
        ("FLOAT16", np.float16, "f16"),
        ("FLOAT32", np.float32, "f32"),
        ("FLOAT64", np.float64, "f64"),
        ("BFLOAT16", ml_dtypes.bfloat16, "bf16"),
        ("FLOAT32_FTZ", np.float32, "f32"),
        ("TFLOAT32", np.float32, "f32"),
        ("TFLOAT32_FTZ", np.float32, "f32"),
    )
}
"""The un-packed ``CUtensorMapDataType`` by suffix, in the driver's order: the first is 0 (driver API)."""


@dataclass(frozen=True)
class PackedType:
    """A packed ``CUtensorMapDataType``: elements of ``bits`` without gaps in global memory. ``has_gaps``: sixteen of
    them take 16 bytes of shared memory, those that they do not fill left over; without gaps they lie there as in
    global memory. The mbarrier counts the bytes of global memory (CUTLASS counts so; not measured)."""

    bits: int
    has_gaps: bool


PACKED_TYPES: dict[str, PackedType] = {
    "16U4_ALIGN8B": PackedType(4, False),
    "16U4_ALIGN16B": PackedType(4, True),
    "16U6_ALIGN16B": PackedType(6, True),
}
"""By suffix, in the driver's order: the first is 13 (driver API)."""
PACKINGS = {4: {"8B": "16U4_ALIGN8B", "16B": "16U4_ALIGN16B"}, 6: {"16B": "16U6_ALIGN16B"}}
"""Data type by width of the elements and by the bytes of shared memory that sixteen of them take up."""


DRIVER_BYTES: dict[str, int] = {name: each.numpy.itemsize for name, each in DRIVER_TYPES.items()}
"""Bytes of an element."""
DRIVER_FLOATS = frozenset(name for name in DRIVER_TYPES if "FLOAT" in name)


def dtype(name: str) -> DType:
    """The element type MLIR spells ``name``; ``KeyError`` names the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise KeyError(f"unknown element type {name!r}; known: {', '.join(DTYPES)}") from None
