"""What copies with a mode mean: the tensor coordinates of every element of their tile.

Written from the definition of the modes (``dialect.copy_modes``), as arithmetic on pixel numbers rather than as a walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def mode_index(attributes: Mapping[str, Any], shape: Sequence[int], starts: Sequence[int]) -> list[np.ndarray]:
    """For each dimension of the tensor, the coordinates of all elements, in row-major order of ``sizes``."""
    rows, columns = attributes["sizes"]
    if "lower_corner" not in attributes:
        return [np.repeat(np.asarray(starts[:-1]), columns), np.tile(starts[-1] + np.arange(columns), rows)]
    rank = len(shape)
    places = _pixels(attributes, shape, starts, rows)
    offsets = [0, *starts[rank:]]
    index = [np.repeat(place + offset, columns) for place, offset in zip(places, offsets, strict=True)]
    return [*index, np.tile(starts[rank - 1] + np.arange(columns), rows)]


def _pixels(attributes: Mapping[str, Any], shape: Sequence[int], starts: Sequence[int], count: int) -> list[np.ndarray]:
    """Places (N, ..., W) of the pixels: W counts steps from its start to the end of the box, then the dimension outside
    of it takes one step and W counts from the box's beginning again."""
    number = np.arange(count, dtype=np.int64)
    places: list[np.ndarray] = []
    for dimension in range(len(shape) - 2, 0, -1):
        spatial = dimension - 1
        low, stride = attributes["lower_corner"][spatial], attributes["traversal_strides"][spatial]
        end = shape[dimension] + attributes["upper_corner"][spatial]
        steps_of_first = -(-(end - starts[dimension]) // stride)
        steps_of_rest = max(1, -(-(end - low) // stride))
        steps_of_first = max(1, steps_of_first)
        later = number - steps_of_first
        place = np.where(
            later < 0, starts[dimension] + number * stride, low + np.maximum(later, 0) % steps_of_rest * stride
        )
        places.append(place)
        number = np.where(later < 0, 0, 1 + np.maximum(later, 0) // steps_of_rest)
    places.append(starts[0] + number)
    return places[::-1]
