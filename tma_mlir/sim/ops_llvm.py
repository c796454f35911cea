"""Constants, pointers, selections and aggregates of the LLVM dialect."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..abi.types import Type, parse_type
from .compile import Compiler, Step, blend, blend_type, operation
from .errors import UnsupportedError
from .memory import LOCAL_BASE, SHARED_WINDOW
from .ops_integer import wrapper
from .program import Instruction

DYNAMIC_INDEX = -(1 << 31)
"""A getelementptr index that is an operand."""


def zero(kind: Type) -> Any:
    """The zero of a type (also what undef and poison give)."""
    if kind.kind == "struct":
        return tuple(zero(f) for f in kind.fields)
    if kind.kind == "array":
        return (zero(kind.element),) * kind.count
    if kind.kind == "vector":
        return np.zeros((kind.count, 1), kind.dtype)
    if kind.kind == "float":
        return kind.dtype.type(0)  # type: ignore[union-attr]
    return False if kind.bits == 1 else 0


@operation("llvm.mlir.constant")
def _constant(i: Instruction, c: Compiler) -> Step:
    value = constant_value(i.attributes["value"], c.type(i.results[0]), i)
    return lambda r, w: value


def constant_value(value: Any, kind: Type, i: Instruction) -> Any:
    """A constant of an attribute's Python value: scalars, splat or dense vectors, arrays of them."""
    if kind.kind == "vector":
        dense = np.asarray(value).astype(kind.dtype).reshape(-1)  # type: ignore[arg-type]
        return np.ascontiguousarray(np.broadcast_to(dense, (kind.count,))).reshape(kind.count, 1)
    if kind.kind == "array":
        rows = np.asarray(value)
        rows = rows.reshape(kind.count, -1) if rows.size > 1 else np.broadcast_to(rows.reshape(1, 1), (kind.count, 1))
        return tuple(constant_value(row if row.size > 1 else row[0], kind.element, i) for row in rows)
    if kind.kind == "float":
        return kind.dtype.type(value)  # type: ignore[union-attr]
    if kind.kind == "int":
        return bool(value) if kind.bits == 1 else wrapper(kind.bits)(int(value))
    raise UnsupportedError(f"constant {value!r}", i.location)


@operation("llvm.mlir.undef", "llvm.mlir.poison", "llvm.mlir.zero")
def _zero(i: Instruction, c: Compiler) -> Step:
    value = zero(c.type(i.results[0]))
    return lambda r, w: value


@operation("llvm.mlir.addressof")
def _address_of(i: Instruction, c: Compiler) -> Step:
    address = c.symbols[i.attributes["global_name"]]
    return lambda r, w: address


@operation("llvm.select")
def _select(i: Instruction, c: Compiler) -> Step:
    condition, x, y = i.operands
    kind = blend_type(c.type(i.results[0]))

    def run(r, w):
        chosen = r[condition]
        if chosen.__class__ is bool:
            return r[x] if chosen else r[y]
        if chosen.shape == (1,) or (chosen.ndim == 2 and chosen.shape[1] == 1 and not isinstance(kind, tuple)):
            return np.where(chosen, r[x], r[y]).astype(kind)
        return blend(r[y], r[x], chosen, kind)

    return run


@operation("llvm.addrspacecast")
def _cast_space(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    source, target = c.type(x).space, c.type(i.results[0]).space
    shared = (3, 7)
    if source in shared and target == 0:
        return lambda r, w: r[x] + SHARED_WINDOW
    if source == 0 and target in shared:
        return lambda r, w: r[x] - SHARED_WINDOW
    return lambda r, w: r[x]


@operation("llvm.freeze", "llvm.intr.expect", "llvm.intr.ssa.copy")
def _same(i: Instruction, c: Compiler) -> Step:
    x = i.operands[0]
    if x in c.elected:
        c.elected.add(i.results[0])
    return lambda r, w: r[x]


@operation("llvm.intr.assume", "llvm.intr.lifetime.start", "llvm.intr.lifetime.end", "llvm.intr.dbg.value",
           "llvm.intr.dbg.declare", "llvm.intr.dbg.label", "llvm.intr.experimental.noalias.scope.decl",
           "llvm.intr.prefetch")  # fmt: skip
def _nothing(i: Instruction, c: Compiler) -> Step:
    return lambda r, w: None


@operation("llvm.getelementptr")
def _element_pointer(i: Instruction, c: Compiler) -> Step:
    base = i.operands[0]
    operands = list(i.operands[1:])
    kind: Type = parse_type(i.attributes["elem_type"])
    fixed, terms = 0, []
    for position, index in enumerate(i.attributes["rawConstantIndices"]):
        if position == 0:
            scale = kind.stride
        elif kind.kind == "struct":
            fixed += kind.offsets[index]
            kind = kind.fields[index]
            continue
        else:
            kind = kind.element
            scale = kind.stride
        if index == DYNAMIC_INDEX:
            terms.append((operands.pop(0), scale))
        else:
            fixed += index * scale
    if not terms:
        return (lambda r, w: r[base] + fixed) if fixed else (lambda r, w: r[base])

    def run(r, w):
        address = r[base]
        for value, scale in terms:
            offset = r[value]
            if isinstance(offset, np.ndarray) and offset.dtype != np.int64:
                offset = offset.astype(np.int64)
            address = address + offset * scale
        return address + fixed if fixed else address

    if len(terms) == 1 and not fixed:
        value, scale = terms[0]

        def run_one(r, w):
            offset = r[value]
            if offset.__class__ is not int and offset.dtype != np.int64:
                offset = offset.astype(np.int64)
            return r[base] + offset * scale

        return run_one
    return run


@operation("llvm.alloca")
def _alloca(i: Instruction, c: Compiler) -> Step:
    count = c.constant(i.operands[0])
    if count is None:
        raise UnsupportedError("llvm.alloca of a size that is not constant", i.location)
    kind = parse_type(i.attributes["elem_type"])
    start = -(-c.local_bytes // 16) * 16
    c.local_bytes = start + kind.stride * int(count)
    address = LOCAL_BASE + start
    return lambda r, w: address


@operation("llvm.extractvalue")
def _extract_value(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    position = i.attributes["position"]
    if x in c.elected:
        c.elected.add(i.results[0])
    if len(position) == 1:
        (only,) = position
        return lambda r, w: r[x][only]

    def run(r, w):
        value = r[x]
        for index in position:
            value = value[index]
        return value

    return run


@operation("llvm.insertvalue")
def _insert_value(i: Instruction, c: Compiler) -> Step:
    container, value = i.operands
    position = tuple(i.attributes["position"])

    def insert(into: Any, path: tuple[int, ...], new: Any) -> Any:
        if isinstance(into, np.ndarray):
            into = tuple(into)
        head = path[0]
        inner = new if len(path) == 1 else insert(into[head], path[1:], new)
        return (*into[:head], inner, *into[head + 1 :])

    return lambda r, w: insert(r[container], position, r[value])
