"""A legal tensor map, to be changed in one field or another."""

from __future__ import annotations

from typing import Any

from tma_mlir.plan import TensorMap


def tiled(**changes: Any) -> TensorMap:
    """Boxes of 32x8 of a dense 64x8 f32 tensor, in driver order, with ``changes``."""
    fields = {
        "data_type": "FLOAT32",
        "dims": (64, 8),
        "strides_bytes": (256,),
        "box": (32, 8),
        "element_strides": (1, 1),
    }
    return TensorMap(**{**fields, **changes})
