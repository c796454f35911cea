"""The loop nest around the instructions of one group."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from ..bindings import ir
from ..bindings.dialects import scf
from ..plan.copy_plan import Loop
from .index_builder import add, constant, multiply

MAX_UNROLLED = 8
"""Instructions of one loop nest that are written out; more become ``scf.for``."""

Index = int | ir.Value


def loop_nest(extents: Sequence[int], emit: Callable[[list[Index]], None]) -> None:
    """Calls ``emit`` with every index, outermost extent first; as loops where there are many."""
    if math.prod(extents) <= MAX_UNROLLED:
        for indices in itertools.product(*map(range, extents)):
            emit(list(indices))
        return
    _nested(extents, [], emit)


def _nested(extents: Sequence[int], outer: list[Index], emit: Callable[[list[Index]], None]) -> None:
    if not extents:
        emit(outer)
        return
    if extents[0] == 1:
        _nested(extents[1:], [*outer, 0], emit)
        return
    loop = scf.ForOp(constant(0), constant(extents[0]), constant(1))
    with ir.InsertionPoint(loop.body):
        _nested(extents[1:], [*outer, loop.induction_variable], emit)
        scf.yield_([])


def stepped_start(starts: Sequence[Index], indices: Sequence[Index], loops: Sequence[Loop]) -> list[Index]:
    """Where the instruction of ``indices`` starts, in each dimension."""
    return [
        stepped(start, indices, [loop.steps[dimension] for loop in loops]) for dimension, start in enumerate(starts)
    ]


def stepped(start: Index, indices: Sequence[Index], steps: Sequence[int]) -> Index:
    """``start + sum(index * step)``."""
    for index, step in zip(indices, steps, strict=True):
        start = add(start, multiply(index, step))
    return start
