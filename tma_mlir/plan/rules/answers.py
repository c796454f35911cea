"""How rules answer: holds, is a multiple, lies within. ``rule`` makes a function of them a rule of its name."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec, cast

from ...layout.expr import Expr, bounds, congruence
from ..copy_plan import Condition
from ..findings import Finding, Status

Value = Expr | int
P = ParamSpec("P")


@dataclass(slots=True)
class Answer:
    """A ``Condition`` that does not know yet which rule gives it."""

    status: Status
    found: str
    needed: str
    remedy: str
    value: Value = 0
    divisor: int = 1
    low: int | None = None
    high: int | None = None


class Rule(Generic[P]):
    """A rule: called with a question it gives a ``Condition``; ``rule_name`` is what its findings call it."""

    rule_name: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Condition: ...

    def cache_clear(self) -> None:
        """Forget the answers given so far."""


def rule(function: Callable[P, Answer]) -> Rule[P]:
    """``function`` as a rule that has its name, with spaces for underscores.

    Rules are pure: the same question gets the same answer object.
    """
    name = function.__name__.replace("_", " ")

    @functools.lru_cache(maxsize=4096)
    @functools.wraps(function)
    def ask(*args: P.args, **kwargs: P.kwargs) -> Condition:
        answer = function(*args, **kwargs)
        remedy = "" if answer.status is Status.PROVEN else answer.remedy
        finding = Finding(name, answer.status, answer.found, answer.needed, remedy)
        return Condition(answer.value, finding, answer.divisor, answer.low, answer.high)

    made = cast(Rule[P], ask)
    made.rule_name = name
    return made


def holds(ok: bool, found: str, needed: str, remedy: str) -> Answer:
    return Answer(Status.PROVEN if ok else Status.DISPROVEN, found, needed, remedy)


def multiple(value: Value, divisor: int, what: str, unit: str, remedy: str) -> Answer:
    modulus, residue = congruence(value)
    found = f"{what} {value}{unit}"
    if math.gcd(modulus, residue) % divisor == 0:
        status = Status.PROVEN
    elif residue % math.gcd(modulus, divisor):
        status = Status.DISPROVEN
        if modulus:
            found += f", which is never a multiple of {divisor}{unit}: {_always_left(modulus, residue, divisor, unit)}"
    else:
        status = Status.UNKNOWN
    return Answer(status, found, f"a multiple of {divisor}{unit}", remedy, value, divisor)


def _always_left(modulus: int, residue: int, divisor: int, unit: str) -> str:
    """The part of ``divisor`` by which the value always misses."""
    common = math.gcd(modulus, divisor)
    return f"always {residue % common}{unit} more than a multiple of {common}"


def within(value: Value, low: int | None, high: int | None, what: str, unit: str, remedy: str) -> Answer:
    least, most = bounds(value)
    low_ok = low is None or (least is not None and least >= low)
    high_ok = high is None or (most is not None and most <= high)
    if low_ok and high_ok:
        status = Status.PROVEN
    elif (low is not None and most is not None and most < low) or (
        high is not None and least is not None and least > high
    ):
        status = Status.DISPROVEN
    else:
        status = Status.UNKNOWN
    needed = f"at least {low}{unit}" if high is None else f"{low}..{high}{unit}"
    return Answer(status, f"{what} {value}{unit}", needed, remedy, value, 1, low, high)
