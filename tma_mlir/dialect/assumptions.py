"""The attribute ``assume``: what is promised of offsets, sizes and strides that the compiler cannot see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..bindings import ir
from .memrefs import read_memref
from .tile import CopyAsyncOp

ASSUME = "assume"
ENTRIES = ("source_offsets", "destination_offsets", "global_sizes", "global_strides", "global_offset")
_WANTED = (
    "must be a dictionary of divisors: {source_offsets = [1, 8], global_strides = [8, 1], global_offset = 8}, where "
    "{divisor = 8, residue = 4, min = 0, max = 1000} may stand for a divisor, with any of the four"
)
_FIELDS = ("divisor", "residue", "min", "max")


@dataclass(frozen=True)
class Promise:
    """Of one number, in elements: ``low <= number <= high`` (None: nothing said); it leaves ``residue`` when divided by
    ``divisor``."""

    low: int | None = None
    high: int | None = None
    divisor: int = 1
    residue: int = 0


Promises = dict[str, tuple[Promise, ...]]


def read_promises(op: CopyAsyncOp) -> Promises:
    """What ``assume`` says, by its entries; nothing without it. It must have passed ``assume_problem``."""
    attributes = op.operation.attributes
    if ASSUME not in attributes:
        return {}
    return {
        entry.name: tuple(_promise(each) for each in _values(entry.attr)) for entry in ir.DictAttr(attributes[ASSUME])
    }


def _values(attribute: ir.Attribute) -> list[ir.Attribute]:
    return list(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]


def _promise(attribute: ir.Attribute) -> Promise:
    if isinstance(attribute, ir.IntegerAttr):
        return Promise(divisor=attribute.value)
    given = {entry.name: ir.IntegerAttr(entry.attr).value for entry in ir.DictAttr(attribute)}
    return Promise(given.get("min"), given.get("max"), given.get("divisor", 1), given.get("residue", 0))


def assume_problem(op: CopyAsyncOp, name: str) -> str | None:
    """What is wrong with the attribute."""
    attribute = op.operation.attributes[name]
    if not isinstance(attribute, ir.DictAttr):
        return _WANTED
    return next(_problems(op, attribute), None)


def _problems(op: CopyAsyncOp, attribute: ir.DictAttr) -> Iterator[str]:
    for entry in attribute:
        if entry.name not in ENTRIES:
            yield f"does not know '{entry.name}'; it knows {', '.join(ENTRIES)}"
            continue
        values = _values(entry.attr)
        if isinstance(entry.attr, ir.ArrayAttr) is (entry.name == "global_offset"):
            yield _WANTED
        for value in values:
            yield from _value_problems(entry.name, value)
        most = _dimensions(op, entry.name)
        if most is not None and len(values) > most:
            yield f"has {len(values)} entries in '{entry.name}', more than the {most} there are. Drop the last ones"


def _value_problems(entry: str, value: ir.Attribute) -> Iterator[str]:
    if isinstance(value, ir.IntegerAttr):
        # An i1 of true reads as -1 or 1, and means neither.
        if str(value.type) == "i1" or value.value <= 0:
            yield _WANTED
        return
    if not isinstance(value, ir.DictAttr) or not all(isinstance(field.attr, ir.IntegerAttr) for field in value):
        yield _WANTED
        return
    for field in value:
        if field.name not in _FIELDS:
            yield f"does not know '{field.name}' in '{entry}'; it knows {', '.join(_FIELDS)}"
            return
    promise = _promise(value)
    if promise.divisor <= 0:
        yield f"needs a divisor of 1 or more in '{entry}'"
    elif not 0 <= promise.residue < promise.divisor:
        yield f"needs a residue from 0 to {promise.divisor - 1} in '{entry}', which is what {promise.divisor} leaves"
    elif promise.low is not None and promise.high is not None and promise.low > promise.high:
        yield f"promises a number from {promise.low} to {promise.high} in '{entry}', which there is not"


def _dimensions(op: CopyAsyncOp, entry: str) -> int | None:
    """How many numbers ``entry`` is about; None where the copy is not well formed."""
    if entry.endswith("_offsets"):
        static = op.operation.attributes[f"static_{entry}"]
        return len(list(static)) if isinstance(static, ir.DenseI64ArrayAttr) else None
    if entry == "global_offset":
        return 1
    sides = [read_memref(each.type) for each in (op.source, op.destination)]
    ranks = [each.rank for each in sides if each is not None and each.space == "global"]
    return ranks[0] if len(ranks) == 1 else None
