"""A function as a program the warps run: segments of closures over numbered registers, ended by a control transfer.

A segment is straight-line code; operations that may wait (barriers, group waits, warp-wide operations) end segments of
their own, so that a waiting front is always at a segment's start and fronts meet there again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .machine import BLOCKED, EXIT, SPLIT
from .program import Function, Instruction, Module, block_order
from .types import Type

if TYPE_CHECKING:
    from .machine import Front, Warp

Step = Callable[[list, "Warp"], Any]
Waiter = Callable[[list, "Warp", "Front"], Any]
Terminator = Callable[[list, "Warp", "Front"], int]

NOT_YET = object()
"""What a waiter returns while it cannot go on."""

OPERATIONS: dict[str, Callable[[Instruction, Compiler], Step]] = {}
WAITING: dict[str, Callable[[Instruction, Compiler], Waiter]] = {}


def operation(*names: str):
    """Register the factory that makes a step of an instruction with one of these names."""

    def register(factory):
        for name in names:
            OPERATIONS[name] = factory
        return factory

    return register


def waiting(*names: str):
    """Register the factory of an operation that may wait; see ``NOT_YET``."""

    def register(factory):
        for name in names:
            WAITING[name] = factory
        return factory

    return register


@dataclass
class Segment:
    """``code``: (step, result register, dtype if the register lives on past the segment). ``places`` parallels it."""

    code: list[tuple[Step, int, Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    terminator: Terminator | None = None
    place: str = ""


@dataclass
class Kernel:
    """What ``compile_function`` makes. ``arguments`` are the registers of the function's parameters."""

    name: str
    segments: list[Segment]
    register_count: int
    arguments: tuple[int, ...]
    argument_types: tuple[Type, ...]
    local_bytes: int
    locations: list[str]
    attributes: dict[str, Any]
    module: Module


class Compiler:
    """State of one compilation; factories ask it for types, places and shared addresses."""

    def __init__(self, module: Module, function: Function, symbols: dict[str, int]):
        self.module = module
        self.function = function
        self.symbols = symbols
        self.types = function.value_types
        self.local_bytes = 0
        self.locations: list[str] = [""]
        self.location_ids: dict[str, int] = {"": 0}
        self.elected: set[int] = set()
        self.definitions: dict[int, Instruction] = {}

    def type(self, value: int) -> Type:
        return self.types[value]

    def location_id(self, location: str) -> int:
        """A small number for a place, used in shadow entries."""
        number = self.location_ids.get(location)
        if number is None:
            number = self.location_ids[location] = len(self.locations)
            self.locations.append(location)
        return number

    def constant(self, value: int) -> Any:
        """The value of a constant operand, None if it is not one."""
        source = self.definitions.get(value)
        if source is None or source.name != "llvm.mlir.constant":
            return None
        return source.attributes.get("value")

    def callee(self, name: str) -> Function | None:
        return self.module.functions.get(name)


def compile_function(module: Module, function: Function, symbols: dict[str, int]) -> Kernel:
    """``function`` (calls inlined, inline PTX replaced) as a program; ``symbols`` are the addresses of globals."""
    compiler = Compiler(module, function, symbols)
    order = block_order(function)
    for index in order:
        for instruction in function.blocks[index].instructions:
            for value in instruction.results:
                compiler.definitions[value] = instruction
    crossing = _crossing_values(function, order)
    segments: list[Segment] = []
    starts: dict[int, int] = {}
    pieces: list[tuple[int, list[list[Instruction]]]] = []
    for index in order:
        starts[index] = sum(len(p) for _, p in pieces)
        pieces.append((index, _split(function.blocks[index].instructions)))
    scratch = len(function.value_types)
    for _, parts in pieces:
        crossing |= _crossing_parts(parts)
    for _, parts in pieces:
        for part in parts:
            segment = Segment()
            for instruction in part[:-1]:
                _emit(segment, instruction, compiler, crossing, scratch)
            _finish(segment, part[-1], compiler, crossing, starts, len(segments) + 1, function)
            segments.append(segment)
    entry = function.blocks[0].arguments
    return Kernel(
        function.name,
        segments,
        scratch + 1,
        entry,
        tuple(function.value_types[v] for v in entry),
        compiler.local_bytes,
        compiler.locations,
        function.attributes,
        module,
    )


def _split(instructions: list[Instruction]) -> list[list[Instruction]]:
    """Cut a block so that each waiting operation is alone in a part, and every part's last ends it."""
    parts: list[list[Instruction]] = [[]]
    for instruction in instructions:
        if instruction.name in WAITING:
            if parts[-1]:
                parts[-1].append(Instruction("fallthrough", (), (), {}, instruction.location))
                parts.append([])
            parts[-1].append(instruction)
            parts.append([])
        else:
            parts[-1].append(instruction)
    return parts


def _crossing_values(function: Function, order: list[int]) -> set[int]:
    """Values used in another block than their own: partial writes must keep the other lanes."""
    home: dict[int, int] = {}
    for index in order:
        block = function.blocks[index]
        for value in block.arguments:
            home[value] = -1
        for instruction in block.instructions:
            for value in instruction.results:
                home[value] = index
    crossing: set[int] = {v for v, block in home.items() if block == -1}
    for index in order:
        for instruction in function.blocks[index].instructions:
            used = list(instruction.operands)
            for _, values in instruction.successors:
                used.extend(values)
            crossing.update(v for v in used if home.get(v, -1) != index)
    return crossing


def _crossing_parts(parts: list[list[Instruction]]) -> set[int]:
    """Values used in a later part of the same block: fronts may part ways in between."""
    if len(parts) == 1:
        return set()
    home: dict[int, int] = {}
    crossing: set[int] = set()
    for index, part in enumerate(parts):
        for instruction in part:
            used = list(instruction.operands)
            for _, values in instruction.successors:
                used.extend(values)
            crossing.update(v for v in used if v in home and home[v] != index)
            for value in instruction.results:
                home[value] = index
    return crossing


def _emit(segment: Segment, instruction: Instruction, c: Compiler, crossing: set[int], scratch: int) -> None:
    factory = OPERATIONS.get(instruction.name)
    if factory is None:
        raise UnsupportedError(instruction.name, instruction.location)
    try:
        step = factory(instruction, c)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise UnsupportedError(f"{instruction.name} in this form ({error!r})", instruction.location) from error
    target = instruction.results[0] if instruction.results else scratch
    keep = blend_type(c.type(target)) if target in crossing else None
    segment.code.append((step, target, keep))
    segment.places.append(instruction.location)


def blend_type(kind: Type) -> Any:
    """What ``blend`` needs to merge two values of a type: a dtype, or a tuple for aggregates."""
    if kind.kind == "struct":
        return tuple(blend_type(f) for f in kind.fields)
    if kind.kind == "array":
        return (blend_type(kind.element),) * kind.count
    return kind.dtype if kind.dtype is not None else np.dtype(np.int64)


def blend(old: Any, new: Any, mask: np.ndarray, kind: Any) -> Any:
    """``new`` in the lanes of ``mask``, ``old`` in the others."""
    if old is None or old is new:
        return new
    if isinstance(kind, tuple):
        if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
            return np.where(mask, new, old)
        return tuple(blend(o, n, mask, k) for o, n, k in zip(old, new, kind, strict=True))
    if old.__class__ is new.__class__ and not isinstance(old, np.ndarray) and old == new:
        return new
    merged = np.where(mask, new, old)
    return merged if merged.dtype == kind else merged.astype(kind)


def _finish(
    segment: Segment,
    last: Instruction,
    c: Compiler,
    crossing: set[int],
    starts: dict[int, int],
    following: int,
    function: Function,
) -> None:
    segment.place = last.location
    if last.name == "fallthrough":
        segment.terminator = lambda r, w, front: following
    elif last.name in WAITING:
        waiter = WAITING[last.name](last, c)
        target = last.results[0] if last.results else None
        kind = blend_type(c.type(target)) if target is not None else None
        segment.terminator = _waiter_terminator(waiter, target, kind, following)
    else:
        jumps = [_jump(starts[block], function.blocks[block].arguments, values, c) for block, values in last.successors]
        segment.terminator = _control(last, jumps, c)


def _waiter_terminator(waiter: Waiter, target: int | None, kind: Any, following: int) -> Terminator:
    def run(r: list, w: Warp, front: Front) -> int:
        value = waiter(r, w, front)
        if value is NOT_YET:
            return BLOCKED
        front.waiting = None
        if target is not None:
            r[target] = value if front.full else blend(r[target], value, front.mask, kind)
        return following

    return run


def _jump(start: int, arguments: tuple[int, ...], values: tuple[int, ...], c: Compiler) -> tuple[int, Any]:
    """(segment, move): ``move(r, mask or None)`` assigns the block arguments for the lanes that jump."""
    if not values:
        return start, None
    kinds = tuple(blend_type(c.type(v)) for v in arguments)
    if len(values) == 1:
        source, target, kind = values[0], arguments[0], kinds[0]

        def move_one(r: list, mask: np.ndarray | None) -> None:
            r[target] = r[source] if mask is None else blend(r[target], r[source], mask, kind)

        return start, move_one

    def move(r: list, mask: np.ndarray | None) -> None:
        new = [r[v] for v in values]
        if mask is None:
            for target, value in zip(arguments, new, strict=True):
                r[target] = value
        else:
            for target, value, kind in zip(arguments, new, kinds, strict=True):
                r[target] = blend(r[target], value, mask, kind)

    return start, move


def _control(last: Instruction, jumps: list[tuple[int, Any]], c: Compiler) -> Terminator:
    if last.name in ("llvm.return", "nvvm.exit"):
        return lambda r, w, front: EXIT
    if last.name == "llvm.br":
        segment, move = jumps[0]
        if move is None:
            return lambda r, w, front: segment

        def branch(r: list, w: Warp, front: Front) -> int:
            move(r, None if front.full else front.mask)
            return segment

        return branch
    if last.name == "llvm.cond_br":
        return _conditional(last, jumps, c)
    if last.name == "llvm.switch":
        return _switch(last, jumps)
    if last.name == "llvm.unreachable":

        def unreachable(r: list, w: Warp, front: Front) -> int:
            from .errors import SimulationError

            raise SimulationError("unreachable", f"{w.describe()} reaches llvm.unreachable", last.location)

        return unreachable
    raise UnsupportedError(f"terminator {last.name}", last.location)


def _conditional(last: Instruction, jumps: list[tuple[int, Any]], c: Compiler) -> Terminator:
    condition = last.operands[0]
    (then_segment, then_move), (else_segment, else_move) = jumps
    elected = condition in c.elected
    place = last.location

    def branch(r: list, w: Warp, front: Front) -> int:
        value = r[condition]
        if value.__class__ is bool:
            taken = front.count if value else 0
        else:
            lanes = value if front.all else value & front.mask
            taken = int(np.count_nonzero(lanes))
        if elected:
            w.machine.note_elected_branch(place, w, front, taken)
        if taken == front.count:
            if then_move is not None:
                then_move(r, None if front.full else front.mask)
            return then_segment
        if taken == 0:
            if else_move is not None:
                else_move(r, None if front.full else front.mask)
            return else_segment
        others = front.mask & ~lanes
        if then_move is not None:
            then_move(r, lanes)
        if else_move is not None:
            else_move(r, others)
        if then_segment == else_segment:
            return then_segment
        w.split = (then_segment, lanes.copy(), else_segment, others)
        return SPLIT

    return branch


def _switch(last: Instruction, jumps: list[tuple[int, Any]]) -> Terminator:
    operand = last.operands[0]
    cases = last.attributes.get("case_values")
    values = [int(v) for v in np.asarray(cases).reshape(-1)] if cases is not None else []
    table = {value: index + 1 for index, value in enumerate(values)}

    def branch(r: list, w: Warp, front: Front) -> int:
        value = r[operand]
        if isinstance(value, np.ndarray):
            active = value[front.mask]
            first = int(active[0])
            same = front.mask & (value == first) if first in table else front.mask & ~np.isin(value, values)
            if int(np.count_nonzero(same)) != front.count:
                # One target's lanes leave, the others come back to this switch.
                segment, move = jumps[table.get(first, 0)]
                if move is not None:
                    move(r, same)
                w.split = (segment, same, front.segment, front.mask & ~same)
                return SPLIT
            value = first
        segment, move = jumps[table.get(int(value), 0)]
        if move is not None:
            move(r, None if front.full else front.mask)
        return segment

    return branch
