"""The expressions of a tensor map: changed one by one, or evaluated for actual arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..layout.expr import Expr, evaluate
from ..plan.tensor_map import TensorMap
from .signature import TensorMapArgument

PITCH_BYTES = 16
"""What pitches and starts of tensor maps are multiples of (``global_stride_alignment``)."""


def expressions(tensor_map: TensorMap) -> tuple[Expr | int, ...]:
    """Every field that may depend on symbols."""
    return (*tensor_map.dims, *tensor_map.strides_bytes, tensor_map.base_offset_bytes)


def mapped(tensor_map: TensorMap, change: Callable[[Expr | int], Expr | int]) -> TensorMap:
    """``tensor_map`` with ``change`` made to each of its ``expressions``."""
    return replace(
        tensor_map,
        dims=tuple(map(change, tensor_map.dims)),
        strides_bytes=tuple(map(change, tensor_map.strides_bytes)),
        base_offset_bytes=change(tensor_map.base_offset_bytes),
    )


def evaluated(recipe: TensorMapArgument, symbols: Mapping[str, int]) -> TensorMap:
    """The recipe's tensor map with numbers for all its expressions. ``KeyError`` for a symbol without a value."""
    made = mapped(recipe.tensor_map, lambda value: evaluate(value, symbols))
    if not recipe.spare:
        return made
    strides = tuple(-(-int(stride) // PITCH_BYTES) * PITCH_BYTES for stride in made.strides_bytes)  # type: ignore[arg-type]
    start = int(made.base_offset_bytes) // PITCH_BYTES * PITCH_BYTES  # type: ignore[arg-type]
    return replace(made, strides_bytes=strides, base_offset_bytes=start)
