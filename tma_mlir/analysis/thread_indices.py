"""An index as every thread of a block computes it: the same unknowns for all, and a number for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..bindings import ir
from .index_facts import facts_of
from .ir_access import defining_op, gpu_axis
from .uniformity import is_uniform


@dataclass(frozen=True)
class ThreadIndex:
    """``numbers[thread] + sum(value * factor for value, factor in terms)``; the terms are the same for all threads."""

    numbers: np.ndarray
    terms: dict[ir.Value, int] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        return not self.terms


_NUMERIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "divui": np.floor_divide,
    "divsi": np.floor_divide,
    "floordivsi": np.floor_divide,
    "remui": np.mod,
    "remsi": np.mod,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "shli": np.left_shift,
    "shrui": np.right_shift,
}
"""Right for numbers that are not negative; the others are not computed."""


class ThreadIndices:
    """Evaluates indices at points: the threads of a block of ``size`` (x, y, z; x fastest), each once; inside
    loops, each thread in each of its iterations."""

    def __init__(self, size: tuple[int, int, int]):
        flat = np.arange(size[0] * size[1] * size[2], dtype=np.int64)
        self._size = size
        self._ids: tuple[np.ndarray, ...] = (flat % size[0], flat // size[0] % size[1], flat // (size[0] * size[1]))
        self._counters: dict[ir.Value, ThreadIndex] = {}
        self._known: dict[ir.Value, ThreadIndex | None] = {}

    @property
    def count(self) -> int:
        """How many points there are."""
        return len(self._ids[0])

    def of(self, value: ir.Value) -> ThreadIndex | None:
        """The index, None where it is none of what this can follow."""
        if value in self._counters:
            return self._counters[value]
        if value not in self._known:
            self._known[value] = self._compute(value)
        return self._known[value]

    def in_loop(self, loop: ir.Operation, most: int) -> ThreadIndices | None:
        """The points inside an ``scf.for``; None where trips are not known, or there were more than ``most`` points."""
        bounds = [self.of(bound) for bound in list(loop.operands)[:3]]
        low, high, step = bounds
        if low is None or high is None or step is None or low.terms != high.terms or step.terms:
            return None
        if (step.numbers <= 0).any():
            return None
        trips = np.maximum(0, -(-(high.numbers - low.numbers) // step.numbers))
        if trips.sum() > most:
            return None
        points = np.repeat(np.arange(self.count), trips)
        trip = np.arange(len(points)) - np.repeat(np.cumsum(trips) - trips, trips)
        inside = self._at(points)
        numbers = low.numbers[points] + trip * step.numbers[points]
        inside._counters[loop.regions[0].blocks[0].arguments[0]] = ThreadIndex(numbers, low.terms)
        return inside

    def under(self, condition: ir.Value, holds: bool) -> ThreadIndices | None:
        """The points at which an i1 is as said; None where it is not known."""
        truth = self._truth(condition)
        return None if truth is None else self._at(np.flatnonzero(truth == holds))

    def _at(self, points: np.ndarray) -> ThreadIndices:
        other = ThreadIndices((0, 0, 0))
        other._size = self._size
        other._ids = tuple(each[points] for each in self._ids)
        other._counters = {
            value: ThreadIndex(each.numbers[points], each.terms) for value, each in self._counters.items()
        }
        return other

    def _truth(self, condition: ir.Value) -> np.ndarray | None:
        op = defining_op(condition)
        if op is None or op.name not in ("arith.cmpi", "arith.andi"):
            return None
        if op.name == "arith.andi":
            one, other = (self._truth(operand) for operand in op.operands)
            return None if one is None or other is None else one & other
        left, right = (self.of(operand) for operand in op.operands)
        if left is None or right is None or left.terms != right.terms:
            return None
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        may_be_negative = left.terms or min(left.numbers.min(initial=0), right.numbers.min(initial=0)) < 0
        if predicate >= _FIRST_UNSIGNED and may_be_negative:
            return None
        return _COMPARE[predicate](left.numbers, right.numbers)

    def _compute(self, value: ir.Value) -> ThreadIndex | None:
        constant = facts_of(value).constant
        if constant is not None:
            return ThreadIndex(np.full(self.count, constant, np.int64))
        op = defining_op(value)
        found = self._follow(op) if op is not None else None
        if found is None and is_uniform(value) and not self._is_counted(value):
            return ThreadIndex(np.zeros(self.count, np.int64), {value: 1})
        return found

    def _is_counted(self, value: ir.Value) -> bool:
        """Whether a value depends on the counter of a loop whose iterations are points of their own."""
        if value in self._counters:
            return True
        op = defining_op(value)
        return op is not None and bool(self._counters) and any(self._is_counted(each) for each in op.operands)

    def _follow(self, op: ir.Operation) -> ThreadIndex | None:
        if op.name in ("gpu.thread_id", "gpu.block_dim"):
            axis = gpu_axis(op)
            is_id = op.name == "gpu.thread_id"
            return ThreadIndex(self._ids[axis] if is_id else np.full(self.count, self._size[axis], np.int64))
        if op.name in ("arith.index_cast", "arith.index_castui", "arith.extui"):
            return self.of(op.operands[0])
        if op.name == "affine.apply":
            (result,) = ir.AffineMapAttr(op.attributes["map"]).value.results  # type: ignore[attr-defined]
            return self._affine(result, list(op.operands), ir.AffineMapAttr(op.attributes["map"]).value.n_dims)  # type: ignore[attr-defined]
        if not op.name.startswith("arith.") or len(op.operands) != 2:
            return None
        return _combine(op.name.removeprefix("arith."), *(self.of(operand) for operand in op.operands))

    def _affine(self, expr: ir.AffineExpr, operands: list[ir.Value], dims: int) -> ThreadIndex | None:
        if isinstance(expr, ir.AffineConstantExpr):
            return ThreadIndex(np.full(self.count, expr.value, np.int64))
        if isinstance(expr, ir.AffineDimExpr):
            return self.of(operands[expr.position])
        if isinstance(expr, ir.AffineSymbolExpr):
            return self.of(operands[dims + expr.position])
        if isinstance(expr, ir.AffineBinaryExpr):
            name = next((name for kind, name in _AFFINE if isinstance(expr, kind)), "")
            return _combine(name, *(self._affine(each, operands, dims) for each in (expr.lhs, expr.rhs)))
        return None


_AFFINE = (
    (ir.AffineAddExpr, "addi"),
    (ir.AffineMulExpr, "muli"),
    (ir.AffineModExpr, "remui"),
    (ir.AffineFloorDivExpr, "divui"),
)
_COMPARE = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip
"""By the number of ``arith.cmpi``'s predicate."""
_FIRST_UNSIGNED = 6


def _combine(name: str, left: ThreadIndex | None, right: ThreadIndex | None) -> ThreadIndex | None:
    if left is None or right is None or not len(left.numbers):
        return None
    if name == "addi":
        return ThreadIndex(left.numbers + right.numbers, _sum(left.terms, right.terms, 1))
    if name == "subi":
        return ThreadIndex(left.numbers - right.numbers, _sum(left.terms, right.terms, -1))
    if name == "muli":
        if left.is_number:
            left, right = right, left
        factor = int(right.numbers[0])
        if right.is_number and (right.numbers == factor).all():
            return ThreadIndex(left.numbers * factor, {value: each * factor for value, each in left.terms.items()})
        return ThreadIndex(left.numbers * right.numbers) if left.is_number and right.is_number else None
    numeric = left.is_number and right.is_number and min(left.numbers.min(), right.numbers.min()) >= 0
    divides_by_zero = name in ("divui", "divsi", "floordivsi", "remui", "remsi") and not right.numbers.all()
    if name not in _NUMERIC or not numeric or divides_by_zero:
        return None
    return ThreadIndex(_NUMERIC[name](left.numbers, right.numbers))


def _sum(left: dict[ir.Value, int], right: dict[ir.Value, int], sign: int) -> dict[ir.Value, int]:
    total = dict(left)
    for value, factor in right.items():
        total[value] = total.get(value, 0) + sign * factor
    return {value: factor for value, factor in total.items() if factor}
