"""``tile::gather4`` and ``tile::scatter4``: four rows of a rank-2 tensor by their own coordinates.

As the PTX ISA says; not measured (these need sm_100). The box has one row; shared memory holds the four as rows of one
box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .engine import BoundTensorMap, TmaFault, Window, check_coordinates, load_window, store_window, window

ROWS = 4


def four_rows(bound: BoundTensorMap) -> BoundTensorMap:
    """The shared-memory side: a box of four rows."""
    tensor_map = bound.tensor_map
    if tensor_map.rank != 2 or tensor_map.box[1] != 1:
        raise TmaFault(
            "illegal instruction",
            "gather4 and scatter4 need a tensor map of rank 2 with one row in its box, not "
            f"rank {tensor_map.rank} with box {tensor_map.box}",
        )
    return BoundTensorMap(replace(tensor_map, box=(tensor_map.box[0], ROWS)), bound.address)


def row_windows(bound: BoundTensorMap, coordinates: Sequence[int], store: bool) -> list[Window | None]:
    """The part of each row inside the tensor; ``coordinates`` are the column and the four rows."""
    if len(coordinates) != 1 + ROWS:
        raise TmaFault("illegal instruction", f"{len(coordinates)} coordinates, gather4 and scatter4 take {1 + ROWS}")
    column, *rows = coordinates
    found = []
    for row in rows:
        check_coordinates(bound, (column, row), store)
        found.append(window(bound, (column, row), store))
    return found


def gather_rows(
    bound: BoundTensorMap, windows: Sequence[Window | None], memory: np.ndarray, memory_address: int
) -> np.ndarray:
    """The box a gather delivers: uint8 ``[4, inner bytes]``."""
    return np.concatenate([load_window(bound, each, memory, memory_address) for each in windows])


def scatter_rows(
    bound: BoundTensorMap,
    windows: Sequence[Window | None],
    box: np.ndarray,
    memory: np.ndarray,
    memory_address: int,
) -> None:
    """Write the four rows of a box."""
    for row, each in enumerate(windows):
        if each is not None:
            store_window(bound, each, box[row : row + 1], memory, memory_address)
