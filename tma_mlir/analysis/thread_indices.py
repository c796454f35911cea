"""An index as every thread of a block computes it: the same unknowns for all, and a number for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from mlir import ir

from .index_facts import facts_of
from .ir_access import defining_op
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
    """Evaluates indices for all threads of a block of ``size`` (x, y, z); thread x fastest."""

    def __init__(self, size: tuple[int, int, int]):
        flat = np.arange(size[0] * size[1] * size[2], dtype=np.int64)
        self._ids = (flat % size[0], flat // size[0] % size[1], flat // (size[0] * size[1]))
        self._count = len(flat)
        self._known: dict[ir.Value, ThreadIndex | None] = {}

    def of(self, value: ir.Value) -> ThreadIndex | None:
        """The index, None where it is none of what this can follow."""
        if value not in self._known:
            self._known[value] = self._compute(value)
        return self._known[value]

    def _compute(self, value: ir.Value) -> ThreadIndex | None:
        constant = facts_of(value).constant
        if constant is not None:
            return ThreadIndex(np.full(self._count, constant, np.int64))
        op = defining_op(value)
        found = self._follow(op) if op is not None else None
        if found is None and is_uniform(value):
            return ThreadIndex(np.zeros(self._count, np.int64), {value: 1})
        return found

    def _follow(self, op: ir.Operation) -> ThreadIndex | None:
        if op.name == "gpu.thread_id":
            axis = "xyz".index(str(op.attributes["dimension"]).removeprefix("#gpu<dim ").rstrip(">"))
            return ThreadIndex(self._ids[axis])
        if op.name in ("arith.index_cast", "arith.index_castui", "arith.extui"):
            return self.of(op.operands[0])
        if not op.name.startswith("arith.") or len(op.operands) != 2:
            return None
        left, right = (self.of(operand) for operand in op.operands)
        if left is None or right is None:
            return None
        return _combine(op.name.removeprefix("arith."), left, right)


def _combine(name: str, left: ThreadIndex, right: ThreadIndex) -> ThreadIndex | None:
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
