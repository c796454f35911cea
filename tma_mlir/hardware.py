"""Numbers and names of TMA that several parts need, each once. Imports neither MLIR nor the CUDA driver.

What differs between chips is in ``chips``, element types are in ``dtypes``, swizzle modes in ``layout.swizzle``; what
is demanded of a copy is in ``plan.rules``. ``plan/check.py`` and ``sim/definition.py`` restate what they check, on
purpose.
"""

from __future__ import annotations

DESCRIPTOR_BYTES = 128
"""Size of a ``CUtensorMap``, and its alignment: CUDA 13 declares 128 bytes (64 before), and its parameter and
``tensormap.replace``'s memory need them."""

MAX_RANK = 5
"""Dimensions of a tensor map (driver API, cuTensorMapEncodeTiled)."""
MAX_BOX_EXTENT = 256
"""Elements in each dimension of a box (driver API, cuTensorMapEncodeTiled)."""
MAX_STRIDE_BYTES = (1 << 40) - 1
"""Bytes from one step to the next in a dimension of a tensor map (driver API, cuTensorMapEncodeTiled)."""

NAN_PATTERN = 0x7FF7
"""What TMA writes over every 16 bits of an element for a NaN fill (measured on an H200)."""

STATIC_SHARED_BYTES = 48 * 1024
"""Static shared memory that ptxas takes for every target (CUDA programming guide). ptxas 13 takes more for targets of
one architecture alone (``sm_90a``); whether drivers launch that was not measured."""

_INTEGER = frozenset({"add", "min", "max", "and", "or", "xor"})
REDUCTIONS: dict[str, frozenset[str]] = {
    "UINT32": _INTEGER | {"inc", "dec"},
    "INT32": _INTEGER,
    "UINT64": _INTEGER,
    "INT64": frozenset({"min", "max"}),
    "FLOAT16": frozenset({"add", "min", "max"}),
    "BFLOAT16": frozenset({"add", "min", "max"}),
    "FLOAT32": frozenset({"add"}),
    "FLOAT32_FTZ": frozenset({"add"}),
    "TFLOAT32": frozenset({"add"}),
    "TFLOAT32_FTZ": frozenset({"add"}),
    "FLOAT64": frozenset({"add"}),
}
"""Operations of ``cp.reduce.async.bulk.tensor`` by ``CUtensorMapDataType`` suffix: those that an H200 executes; on all
others the kernel dies with "illegal instruction"."""
REDUCTION_NAMES = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
"""PTX ISA, cp.reduce.async.bulk.tensor."""

CACHE_POLICIES: dict[str, int | None] = {
    "evict_first": 0x12F0000000000000,
    "evict_last": 0x14F0000000000000,
    "evict_normal": 0x1000000000000000,
    "evict_unchanged": None,
}
"""L2 eviction priorities (PTX ISA, createpolicy), with the policy that ``createpolicy.fractional.L2::<priority>.b64``
gives for all lines on sm_90 to sm_120, as in CUTLASS. None: only the instruction makes it."""
