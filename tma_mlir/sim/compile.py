"""A function as a program the warps run: segments of closures over numbered registers, ended by a control transfer.

A segment is straight-line code; operations that may wait (barriers, group waits, warp-wide operations) end segments of
their own, so that a waiting front is always at a segment's start and fronts meet there again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abi.types import Type
from .errors import SimulationError, UnsupportedError
from .liveness import Flow, live_registers
from .machine import BLOCKED, EXIT, SPLIT
from .program import Function, Instruction, Module, block_order
from .stores import stores_globally

if TYPE_CHECKING:
    from .machine import Front, Warp

Step = Callable[[list, "Warp"], Any]
Waiter = Callable[[list, "Warp", "Front"], Any]
Terminator = Callable[[list, "Warp", "Front"], int]

NOT_YET = object()
"""What a waiter returns while it cannot go on."""

WARP_WIDE = {
    "nvvm.barrier0", "nvvm.barrier", "nvvm.elect.sync", "nvvm.bar.warp.sync", "nvvm.shfl.sync", "nvvm.vote.sync",
    "nvvm.redux.sync", "nvvm.match.sync", "sim.converge",
}  # fmt: skip
"""Waiting operations at which the lanes of a warp meet again."""
ALIGNED = {
    "nvvm.wgmma.fence.aligned", "nvvm.wgmma.mma_async", "nvvm.wgmma.commit.group.sync.aligned",
    "nvvm.wgmma.wait.group.sync.aligned", "sim.wgmma", "nvvm.mma.sync", "nvvm.ldmatrix", "nvvm.stmatrix",
    "nvvm.setmaxregister", "sim.tensormap.copy",
}  # fmt: skip
"""Operations (``.sync.aligned``) that all lanes of a warp execute together; a ``sim.converge`` goes before them."""

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
    """``code``: (step, result register, what ``blend`` needs for it). ``places`` parallels it. ``live``: registers that
    lanes at its start need. ``meets``: the warp's lanes come together here. ``works``: it does not merely lead to the
    next one or the end."""

    code: list[tuple[Step, int, Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    terminator: Terminator | None = None
    place: str = ""
    live: frozenset[int] = frozenset()
    meets: bool = False
    works: bool = True


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
    successors: list[list[int]]
    stores: bool
    """Whether anything in the program stores to global memory, be it the TMA or threads that copy in its place."""
    reached: dict[int, frozenset[int]] = field(default_factory=dict)

    def reachable(self, segment: int) -> frozenset[int]:
        """Segments that lanes may come to after ``segment``."""
        found = self.reached.get(segment)
        if found is None:
            seen: set[int] = set()
            work = list(self.successors[segment])
            while work:
                item = work.pop()
                if item not in seen:
                    seen.add(item)
                    work.extend(self.successors[item])
            found = self.reached[segment] = frozenset(seen)
        return found


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
        self.exchanged: set[int] = set()
        """Addresses of compare-and-swaps."""
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
            if instruction.name == "llvm.cmpxchg":
                compiler.exchanged.add(instruction.operands[0])
            for value in instruction.results:
                compiler.definitions[value] = instruction
    segments: list[Segment] = []
    starts: dict[int, int] = {}
    pieces: list[tuple[int, list[list[Instruction]]]] = []
    for index in order:
        starts[index] = sum(len(p) for _, p in pieces)
        pieces.append((index, _split(function.blocks[index].instructions)))
    scratch = len(function.value_types)
    flows: list[Flow] = []
    for index, parts in pieces:
        for number, part in enumerate(parts):
            segment = Segment()
            arguments = function.blocks[index].arguments if number == 0 else ()
            flow = Flow(arguments)
            for instruction in part[:-1]:
                _emit(segment, instruction, compiler, scratch)
                flow.read(instruction.operands)
                flow.writes.update(instruction.results)
            _finish(segment, part[-1], compiler, starts, len(segments) + 1, function)
            flow.read(part[-1].operands)
            flow.writes.update(part[-1].results)
            for block, values in part[-1].successors:
                flow.read(values)
                flow.successors.append(starts[block])
            if part[-1].name == "fallthrough" or part[-1].name in WAITING:
                flow.successors.append(len(segments) + 1)
            segments.append(segment)
            flows.append(flow)
    for segment, live in zip(segments, live_registers(flows), strict=True):
        segment.live = live
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
        [flow.successors for flow in flows],
        any(stores_globally(module, function, i) for index in order for i in function.blocks[index].instructions),
    )


def _split(instructions: list[Instruction]) -> list[list[Instruction]]:
    """Cut a block so that each waiting operation is alone in a part, and every part's last ends it."""
    parts: list[list[Instruction]] = [[]]
    for instruction in _aligned(instructions):
        if instruction.name in WAITING:
            if parts[-1]:
                parts[-1].append(Instruction("fallthrough", (), (), {}, instruction.location))
                parts.append([])
            parts[-1].append(instruction)
            parts.append([])
        else:
            parts[-1].append(instruction)
    return parts


def _aligned(instructions: list[Instruction]) -> Iterator[Instruction]:
    """With a ``sim.converge`` before the first of each run of aligned operations."""
    together = False
    for instruction in instructions:
        if instruction.name in ALIGNED and not together:
            yield Instruction("sim.converge", (), (), {"what": instruction.name}, instruction.location)
        together = instruction.name in ALIGNED or (together and instruction.name not in WAITING)
        yield instruction


def _emit(segment: Segment, instruction: Instruction, c: Compiler, scratch: int) -> None:
    factory = OPERATIONS.get(instruction.name)
    if factory is None:
        raise UnsupportedError(instruction.name, instruction.location)
    try:
        step = factory(instruction, c)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise UnsupportedError(f"{instruction.name} in this form ({error!r})", instruction.location) from error
    target = instruction.results[0] if instruction.results else scratch
    kind = blend_type(c.type(target)) if instruction.results else None
    segment.code.append((step, target, kind))
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
    starts: dict[int, int],
    following: int,
    function: Function,
) -> None:
    segment.place = last.location
    segment.meets = last.name in WARP_WIDE
    segment.works = bool(segment.code) or last.name not in ("fallthrough", "llvm.br", "llvm.return", "nvvm.exit")
    if last.name == "fallthrough":
        segment.terminator = lambda r, w, front: following
    elif last.name in WAITING:
        waiter = WAITING[last.name](last, c)
        target = last.results[0] if last.results else None
        kind = blend_type(c.type(target)) if target is not None else None
        segment.terminator = _waiter_terminator(waiter, target, kind, following)
    else:
        jumps = [Jump(starts[block], function.blocks[block].arguments, values, c) for block, values in last.successors]
        segment.terminator = _control(last, jumps, c)


def _waiter_terminator(waiter: Waiter, target: int | None, kind: Any, following: int) -> Terminator:
    def run(r: list, w: Warp, front: Front) -> int:
        value = waiter(r, w, front)
        if value is NOT_YET:
            return BLOCKED
        front.waiting = None
        if target is not None:
            kept = target in w.protected
            r[target] = blend(r[target], value, front.mask, kind) if kept else value
        return following

    return run


class Jump:
    """A jump to ``segment`` that assigns the target block's arguments."""

    __slots__ = ("arguments", "kinds", "segment", "values")

    def __init__(self, segment: int, arguments: tuple[int, ...], values: tuple[int, ...], c: Compiler):
        self.segment = segment
        self.arguments = arguments
        self.values = values
        self.kinds = tuple(blend_type(c.type(v)) for v in arguments)

    def read(self, r: list) -> list:
        """The values to assign; read before anything is assigned."""
        return [r[v] for v in self.values]

    def assign(self, r: list, new: list, mask: np.ndarray, protected: frozenset[int]) -> None:
        """Assign for the lanes of ``mask``; other lanes keep the ``protected`` registers."""
        for target, value, kind in zip(self.arguments, new, self.kinds, strict=True):
            r[target] = blend(r[target], value, mask, kind) if target in protected else value

    def take(self, r: list, w: Warp, front: Front) -> int:
        """All lanes of the front jump."""
        if self.values:
            self.assign(r, [r[v] for v in self.values], front.mask, w.protected)
        return self.segment


def split(r: list, w: Warp, front: Front, one: Jump, lanes: np.ndarray, other: Jump | int, others: np.ndarray) -> int:
    """``lanes`` of the front take ``one``, ``others`` take ``other`` (a jump, or stay at a segment)."""
    segments = w.cta.kernel.segments
    second = other if isinstance(other, int) else other.segment
    new_one = one.read(r)
    new_other = [] if isinstance(other, int) else other.read(r)
    same = frozenset(one.arguments) if second == one.segment else frozenset()
    one.assign(r, new_one, lanes, w.protected | segments[second].live)
    if not isinstance(other, int):
        other.assign(r, new_other, others, w.protected | segments[one.segment].live | same)
    if second == one.segment:
        return second
    w.split = (one.segment, lanes, second, others)
    return SPLIT


def _control(last: Instruction, jumps: list[Jump], c: Compiler) -> Terminator:
    if last.name in ("llvm.return", "nvvm.exit"):
        return lambda r, w, front: EXIT
    if last.name == "llvm.br":
        return jumps[0].take
    if last.name == "llvm.cond_br":
        return _conditional(last, jumps, c)
    if last.name == "llvm.switch":
        return _switch(last, jumps)
    if last.name == "llvm.unreachable":

        def unreachable(r: list, w: Warp, front: Front) -> int:
            raise SimulationError("unreachable", f"{w.describe()} reaches llvm.unreachable", last.location)

        return unreachable
    raise UnsupportedError(f"terminator {last.name}", last.location)


def _conditional(last: Instruction, jumps: list[Jump], c: Compiler) -> Terminator:
    condition = last.operands[0]
    then, otherwise = jumps
    elected = condition in c.elected
    place = last.location

    def branch(r: list, w: Warp, front: Front) -> int:
        value = r[condition]
        lanes = front.mask
        if value.__class__ is bool:
            taken = front.count if value else 0
        else:
            lanes = value & front.mask
            taken = int(np.count_nonzero(lanes))
        if elected:
            w.machine.note_elected_branch(place, w, front, taken)
        if taken == front.count:
            return then.take(r, w, front)
        if taken == 0:
            return otherwise.take(r, w, front)
        return split(r, w, front, then, lanes, otherwise, front.mask & ~lanes)

    return branch


def _switch(last: Instruction, jumps: list[Jump]) -> Terminator:
    operand = last.operands[0]
    cases = last.attributes.get("case_values")
    values = [int(v) for v in np.asarray(cases).reshape(-1)] if cases is not None else []
    table = {value: jumps[index + 1] for index, value in enumerate(values)}

    def branch(r: list, w: Warp, front: Front) -> int:
        value = r[operand]
        if isinstance(value, np.ndarray):
            active = value[front.mask]
            first = int(active[0])
            same = front.mask & (value == first if first in table else ~np.isin(value, values))
            if int(np.count_nonzero(same)) != front.count:
                # One target's lanes leave, the others come back to this switch.
                return split(r, w, front, table.get(first, jumps[0]), same, front.segment, front.mask & ~same)
            value = first
        return table.get(int(value), jumps[0]).take(r, w, front)

    return branch
