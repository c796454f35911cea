"""What a copy's mode makes of its offsets and sizes: regions, rows of a gather, the walk of im2col."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bindings import ir
from ..dialect.copy_modes import GATHERS, mode_of, read_im2col
from ..layout.expr import Expr
from ..plan.copy_request import Gather, Im2colWalk, Region

Value = Expr | int


def mode_fields(op: ir.OpView, rank: int, starts: Sequence[Value], sizes: Sequence[int]) -> dict[str, Any]:
    """The fields of a ``CopyRequest`` that depend on the mode: ``global_region`` and ``kind``.

    ``starts`` are all offsets of the global side, which has ``rank`` dimensions.
    """
    mode = mode_of(op)
    if mode == "tile":
        return {"global_region": Region(tuple(starts), tuple(sizes))}
    if mode in GATHERS:
        *rows, column = starts
        return {"global_region": Region((rows[0], column), tuple(sizes)), "kind": Gather(tuple(rows))}
    box = read_im2col(op, rank)
    walk = Im2colWalk(
        box.lower_corner,
        box.upper_corner,
        box.traversal_strides,
        tuple(starts[rank:]),
        mode.removeprefix("im2col").removeprefix("_"),
    )
    extents = (*(1,) * (rank - 2), *sizes)
    return {"global_region": Region(tuple(starts[:rank]), extents), "kind": walk}
