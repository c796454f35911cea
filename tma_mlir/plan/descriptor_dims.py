"""Descriptor dimensions: from modes of the copy to extents, strides, boxes and start coordinates in driver order."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..layout.expr import Expr, constant, exact_div, known_divisor
from . import rules
from .copy_plan import Coordinate
from .declined import PlanDeclined
from .modes import Mode, Value


@dataclass(slots=True)
class Dim:
    """One descriptor dimension while it is built. ``start`` over ``denominator`` counts the dimension's steps."""

    box: int
    step_bytes: Value
    limit: Value
    start: Value
    denominator: int
    low_safe: bool
    high_safe: bool
    dimension: int

    @property
    def safe(self) -> bool:
        return self.low_safe and self.high_safe


def box_dims(
    mode: Mode, boxes: tuple[int, ...], unit_bytes: int, size: int, position: int, windowed: bool
) -> list[Dim]:
    """A mode as descriptor dimensions, innermost first; ``unit_bytes`` is the element size if it is the contiguous run.

    Several dimensions tile the mode where its start is a whole number of the inner ones. Otherwise the inner one keeps
    the start and the outer ones are overlapping windows on it, which is exact only where nothing is outside. Strides
    that overlap, or are zero, are plain address arithmetic: ``tools/probe_tensor_maps.py`` on an H200.
    """
    limit, start, denominator, step = mode.limit, mode.start, 1, mode.global_bytes
    if unit_bytes:
        limit = _in_units(mode, size, unit_bytes)
        start, denominator, step = start * size, unit_bytes, unit_bytes
    start = start + position * denominator
    if len(boxes) == 1:
        return [Dim(boxes[0], step, limit, start, denominator, mode.low_safe, mode.high_safe, mode.dimension)]
    inner = math.prod(boxes[:-1])
    natural = not windowed and known_divisor(start) % (inner * denominator) == 0
    natural = natural and (mode.safe or known_divisor(limit) % inner == 0)
    dims: list[Dim] = []
    for box in boxes:
        dims.append(Dim(box, step, box, 0, 1, True, True, -1))
        step = step * box
    if natural:
        last = dims[-1]
        last.start = exact_div(start, inner * denominator)
        last.limit = _divided(limit, inner, last.start + last.box)
        last.low_safe, last.high_safe, last.dimension = mode.low_safe, mode.high_safe, mode.dimension
    elif mode.safe:
        dims[0].start, dims[0].denominator, dims[0].limit = start, denominator, limit
    else:
        raise PlanDeclined((rules.inside_tensor(False).finding,))
    return dims


def _in_units(mode: Mode, size: int, unit_bytes: int) -> Value:
    """The run's limit in elements of ``unit_bytes``."""
    if unit_bytes == size:
        return mode.limit
    limit = mode.limit * size
    if known_divisor(limit) % unit_bytes == 0:
        return exact_div(limit, unit_bytes)
    scale = unit_bytes // size
    if isinstance(mode.limit, int):
        return -(-mode.limit // scale)
    return mode.limit  # More elements than there are, none of them reached.


def _divided(limit: Value, inner: int, needed: Value) -> Value:
    if known_divisor(limit) % inner == 0:
        return exact_div(limit, inner)
    return -(-limit // inner) if isinstance(limit, int) else needed


def place(mode: Mode, dims: list[Dim], element_bytes: int) -> tuple[int, int]:
    """Let a mode outside the box move a start coordinate: which dimension, and how far one step moves it.

    Modes inside the tensor move an existing dimension with the largest stride that divides theirs; others keep their
    own end in a dimension of box 1. Mere steps move the dimension that knows the tensor's end.
    """
    if mode.is_step:
        for index, dim in enumerate(dims):
            if dim.dimension == mode.dimension and not dim.safe:
                ratio = step_ratio(mode.global_bytes, dim.step_bytes)
                if ratio is not None:
                    return index, ratio
        raise PlanDeclined((rules.inside_tensor(False).finding,))
    if mode.safe:
        best, best_step = None, 0
        for index, dim in enumerate(dims):
            ratio = step_ratio(mode.global_bytes, dim.step_bytes) if dim.safe else None
            if not ratio or (best is not None and (constant(dim.step_bytes) or 0) <= best_step):
                continue
            limit = dim.limit + (mode.limit - 1) * ratio
            if isinstance(limit, int) and limit > rules.INT32:
                continue
            best, best_step = (index, ratio, limit), constant(dim.step_bytes) or 0
        if best is not None:
            index, ratio, limit = best
            dim = dims[index]
            dim.limit, dim.start = limit, dim.start + mode.start * (ratio * dim.denominator)
            return index, ratio
    dims.append(Dim(1, mode.global_bytes, mode.limit, mode.start, 1, mode.low_safe, mode.high_safe, mode.dimension))
    return len(dims) - 1, 1


def step_ratio(value: Value, unit: Value) -> int | None:
    """``value / unit`` if that is a known whole number above 0."""
    if isinstance(value, int) and isinstance(unit, int):
        return value // unit if value > 0 and unit > 0 and value % unit == 0 else None
    if not isinstance(value, Expr) or not isinstance(unit, Expr):
        return None
    ratio, rest = divmod(value.terms[0][1] * unit.denominator, unit.terms[0][1] * value.denominator)
    return ratio if not rest and ratio > 0 and unit * ratio == value else None


def coordinate(dim: Dim) -> Coordinate:
    """The dimension's start as a coordinate in lowest terms."""
    start, denominator = dim.start, dim.denominator
    if isinstance(start, Expr):
        start, denominator = Expr(start.terms), denominator * start.denominator
        common = math.gcd(denominator, *(coefficient for _, coefficient in start.terms))
        return Coordinate(exact_div(start, common) if common > 1 else start, denominator // common)
    common = math.gcd(start, denominator)
    return Coordinate(start // common, denominator // common)
