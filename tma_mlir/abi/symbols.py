"""Symbols that descriptors and checks depend on: their names, their values for actual arguments.

A memref has ``<memref>.dim<d>``, ``<memref>.stride<d>`` and ``<memref>.offset``, in elements. The planner, which sees
one copy, calls its global memref ``global``. In a signature it is ``arg<i>``, after the user's argument; a number is
``arg<i>`` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..layout.expr import Expr, Symbol
from .parameters import Bound, offset_of, strided
from .signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from .tensor_maps import expressions, mapped

PLANNED = "global"
"""The planner's name of a copy's global memref."""


def argument_name(index: int) -> str:
    return f"arg{index}"


def for_argument(recipe: TensorMapArgument) -> TensorMapArgument:
    """A recipe in the planner's symbols as one in those of the signature."""

    def renamed(value: Expr | int) -> Expr | int:
        if isinstance(value, int):
            return value
        terms = ((tuple(map(rename, symbols)), coefficient) for symbols, coefficient in value.terms)
        return Expr(tuple(terms), value.denominator)

    def rename(symbol: Symbol) -> Symbol:
        owner, dot, rest = symbol.name.partition(".")
        return replace(symbol, name=f"{argument_name(recipe.argument)}.{rest}") if dot and owner == PLANNED else symbol

    checks = tuple(
        replace(check, value=renamed(check.value), or_value=renamed(check.or_value)) for check in recipe.checks
    )
    return replace(recipe, tensor_map=mapped(recipe.tensor_map, renamed), checks=checks)


def symbol_values(signature: KernelSignature, values: Sequence[Bound]) -> dict[str, int]:
    """The symbols' values for ``values``, one for each of the signature's arguments."""
    symbols: dict[str, int] = {}
    for index, (argument, value) in enumerate(zip(signature.arguments, values, strict=True)):
        name = argument_name(index)
        if isinstance(argument, ScalarArgument) and isinstance(value, bytes) and not argument.dtype.is_float:
            symbols[name] = int.from_bytes(value, "little", signed=argument.dtype.name[0] != "u")
        if not isinstance(argument, MemRefArgument) or isinstance(value, bytes):
            continue
        for d, (extent, stride) in enumerate(strided(argument, value)):
            symbols[f"{name}.dim{d}"] = extent
            symbols[f"{name}.stride{d}"] = stride
        symbols[f"{name}.offset"] = offset_of(argument)
    return symbols


def scalars_in_descriptors(signature: KernelSignature) -> frozenset[int]:
    """User arguments that are numbers a descriptor or a check depends on."""
    found = set()
    for wanted in signature.tensor_maps:
        for value in (*expressions(wanted.tensor_map), *(check.value for check in wanted.checks)):
            if isinstance(value, Expr):
                found |= {symbol.name for symbol in value.symbols()}
    return frozenset(i for i in range(len(signature.arguments)) if argument_name(i) in found)
