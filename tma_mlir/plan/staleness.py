"""Whether a plan is still right for a copy: what the copy says now against what the plan was made for."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..dtypes import DType
from ..layout.expr import Expr, Symbol, bounds, known_divisor
from ..layout.layout import AddressSwizzle
from ..layout.swizzle import Swizzle, swizzle_mode
from .copy_request import CopyRequest
from .tensor_map import L2Promotion, OobFill


def changes(planned: CopyRequest, now: CopyRequest) -> list[str]:
    """What has changed from ``planned`` to ``now``, a text each; empty where a plan for the one is right for the other.

    Knowing more than before is not a change: a start whose range is narrower, or that is constant by now.
    """
    if planned == now:
        return []
    found = []
    for field in dataclasses.fields(CopyRequest):
        before, after = getattr(planned, field.name), getattr(now, field.name)
        if field.name == "options":
            found += _option_changes(dict(before), dict(after))
        elif field.name == "shared_base_alignment_bytes":
            if not _aligned_as_before(before, after):
                found.append(_change("known alignment of the tile", before, after))
        elif not _implied(before, after):
            found.append(_change(field.name.replace("_", " "), before, after))
    return found


def _option_changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    names = sorted({*before, *after})
    return [
        f"'{name}': {before.get(name, 'absent')} when planned, {after.get(name, 'absent')} now"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _change(name: str, before: Any, after: Any) -> str:
    if type(before) is type(after) and dataclasses.is_dataclass(before) and not isinstance(before, DType):
        for field in dataclasses.fields(before):
            left, right = getattr(before, field.name), getattr(after, field.name)
            if not _implied(left, right):
                return _change(f"{name} {field.name.replace('_', ' ')}", left, right)
    return f"{name}: {_text(before)} when planned, {_text(after)} now"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "given" if value else "absent"
    if isinstance(value, AddressSwizzle):
        mode = swizzle_mode(value)
        return str(value) if mode is None else mode.label
    if isinstance(value, OobFill):
        return value.name.lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Expr):
        known = [text for symbol in value.symbols() if (text := symbol.known_text) != symbol.name]
        return " with ".join([str(value), *known])
    if isinstance(value, Swizzle | L2Promotion):
        return value.label
    return "none" if value is None else str(value)


def _aligned_as_before(before: int | None, after: int | None) -> bool:
    """None: the compiler places the tile, as it likes."""
    return after is None or (before is not None and after % before == 0)


def _implied(before: Any, after: Any) -> bool:
    """Whether everything that held of ``before`` holds of ``after``."""
    if before == after:
        return True
    if isinstance(before, Expr) and isinstance(after, Expr | int):
        return _value_implied(before, after)
    if type(before) is not type(after):
        return False
    if isinstance(before, tuple):
        return len(before) == len(after) and all(map(_implied, before, after))
    if dataclasses.is_dataclass(before) and not isinstance(before, Symbol):
        return all(_implied(getattr(before, f.name), getattr(after, f.name)) for f in dataclasses.fields(before))
    return False


def _value_implied(before: Expr, after: Expr | int) -> bool:
    """Whether ``after`` is ``before`` with one of its symbols replaced by a value of which as much is known."""
    known = {symbol.name: symbol for symbol in after.symbols()} if isinstance(after, Expr) else {}
    for symbol in before.symbols():
        if known.get(symbol.name) == symbol:
            continue
        rest = after + (before - Expr.of(symbol)) * -1
        if _fits(symbol, rest):
            return True
    return False


def _fits(symbol: Symbol, value: Expr | int) -> bool:
    low, high = bounds(value)
    if symbol.low is not None and (low is None or low < symbol.low):
        return False
    if symbol.high is not None and (high is None or high > symbol.high):
        return False
    if not symbol.host and isinstance(value, Expr) and any(each.host for each in value.symbols()):
        return False
    return known_divisor(value - symbol.residue) % symbol.divisor == 0
