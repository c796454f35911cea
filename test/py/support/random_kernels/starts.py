"""Where a copy starts: numbers that depend on the CTA and on the step, as text and as values."""

from __future__ import annotations

from dataclasses import dataclass

from .text import Operand, Writer


@dataclass(frozen=True)
class Point:
    """A step of a CTA, in the text of a kernel. ``cluster``: the cluster's number along x."""

    x: Operand
    y: Operand
    cluster: Operand
    step: Operand
    stage: Operand = 0


@dataclass(frozen=True)
class Position:
    """The same as numbers."""

    x: int
    y: int
    cluster: int
    step: int


@dataclass(frozen=True)
class Start:
    """``base`` and so much more for each step of something; ``argument``: a kernel argument of ``value`` is added.

    ``clamped``: the text says that the start is not negative.
    """

    base: int = 0
    per_x: int = 0
    per_y: int = 0
    per_cluster: int = 0
    per_step: int = 0
    argument: str = ""
    value: int = 0
    clamped: bool = False

    def text(self, w: Writer, at: Point) -> Operand:
        total: Operand = 0
        for number, factor in (
            (at.x, self.per_x), (at.y, self.per_y), (at.cluster, self.per_cluster), (at.step, self.per_step),
        ):  # fmt: skip
            if factor:
                total = w.add(total, w.multiply(number, factor))
        if self.argument:
            total = w.add(total, self.argument)
        total = w.add(total, self.base)
        if self.clamped and isinstance(total, str):
            total = w.let(f"arith.maxsi {total}, {w.value(0)} : index")
        return total

    def at(self, at: Position) -> int:
        total = self.base + self.value
        total += at.x * self.per_x + at.y * self.per_y + at.cluster * self.per_cluster + at.step * self.per_step
        return max(total, 0) if self.clamped else total


@dataclass(frozen=True)
class Condition:
    """Holds for steps where ``(x + 2 step + first) % period`` is not 0."""

    first: int
    period: int

    def text(self, w: Writer, at: Point) -> str:
        total = w.add(w.add(at.x, w.multiply(at.step, 2)), self.first)
        return w.compare("ne", w.remainder(total, self.period), 0)

    def at(self, at: Position) -> bool:
        return (at.x + 2 * at.step + self.first) % self.period != 0
