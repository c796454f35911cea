"""How rules answer: holds, is a multiple, lies within."""

from __future__ import annotations

from functools import lru_cache

from ...layout.expr import Expr, bounds, known_divisor
from ..copy_plan import Condition
from ..findings import Finding, Status

Value = Expr | int

rule = lru_cache(maxsize=4096)
"""Rules are pure: the same question gets the same answer object."""


def holds(rule: str, ok: bool, found: str, needed: str, remedy: str) -> Condition:
    status = Status.PROVEN if ok else Status.DISPROVEN
    return Condition(0, Finding(rule, status, found, needed, "" if ok else remedy))


def multiple(rule: str, value: Value, divisor: int, what: str, unit: str, remedy: str) -> Condition:
    known = known_divisor(value) % divisor == 0
    status = Status.PROVEN if known else Status.DISPROVEN if isinstance(value, int) else Status.UNKNOWN
    finding = Finding(rule, status, f"{what} {value}{unit}", f"a multiple of {divisor}{unit}", "" if known else remedy)
    return Condition(value, finding, divisor)


def within(rule: str, value: Value, low: int | None, high: int | None, what: str, unit: str, remedy: str) -> Condition:
    if isinstance(value, int):
        least = most = value
    else:
        least, most = bounds(value)
    low_ok = low is None or (least is not None and least >= low)
    high_ok = high is None or (most is not None and most <= high)
    if low_ok and high_ok:
        status, remedy = Status.PROVEN, ""
    elif (low is not None and most is not None and most < low) or (
        high is not None and least is not None and least > high
    ):
        status = Status.DISPROVEN
    else:
        status = Status.UNKNOWN
    needed = f"at least {low}{unit}" if high is None else f"{low}..{high}{unit}"
    return Condition(value, Finding(rule, status, f"{what} {value}{unit}", needed, remedy), 1, low, high)


def chip_number(chip: str) -> int:
    """``90`` for ``sm_90a``."""
    digits = "".join(character for character in chip.partition("_")[2] if character.isdigit())
    return int(digits) if digits else 0
