"""A kernel as plain data: instructions in blocks, without MLIR objects; calls inlined, blocks ordered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..abi.types import Type
from .errors import UnsupportedError


@dataclass(frozen=True)
class Instruction:
    """One operation. Values are numbers that index ``Function.value_types``.

    ``attributes`` hold Python values (ints, floats, strings, lists, NumPy arrays). ``successors`` are
    (block index, operand values) pairs; their operands are not repeated in ``operands``.
    """

    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attributes: dict[str, Any]
    location: str
    successors: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def group(self, index: int) -> tuple[int, ...]:
        """Operand group ``index`` of an operation with ``operandSegmentSizes``."""
        sizes = self.attributes["operandSegmentSizes"]
        start = sum(sizes[:index])
        return self.operands[start : start + sizes[index]]


@dataclass
class Block:
    arguments: tuple[int, ...]
    instructions: list[Instruction]


@dataclass
class Function:
    """``value_types[v]`` is the type of value ``v``. ``blocks`` is empty for a declaration."""

    name: str
    blocks: list[Block]
    value_types: list[Type]
    attributes: dict[str, Any]
    argument_types: tuple[Type, ...]
    location: str = ""


@dataclass(frozen=True)
class Global:
    """A module-level variable. ``value``: its initial contents as bytes, or None."""

    name: str
    type: Type
    space: int
    alignment: int
    external: bool
    value: bytes | None = None
    location: str = ""


@dataclass
class Module:
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, Global] = field(default_factory=dict)


def inline_calls(module: Module, function: Function, stack: tuple[str, ...] = ()) -> Function:
    """``function`` with every call of a function that has a body replaced by that body."""
    if function.name in stack:
        raise UnsupportedError(f"recursive call of @{function.name}", function.location)
    blocks: list[Block] = [Block(b.arguments, list(b.instructions)) for b in function.blocks]
    types = list(function.value_types)
    queue = list(range(len(blocks)))
    while queue:
        index = queue.pop()
        for position, instruction in enumerate(blocks[index].instructions):
            callee = _callee(module, instruction)
            if callee is None:
                continue
            body = inline_calls(module, callee, (*stack, function.name))
            value_base, block_base = len(types), len(blocks)
            types.extend(body.value_types)
            tail = Block(instruction.results, blocks[index].instructions[position + 1 :])
            after = block_base + len(body.blocks)
            for block in body.blocks:
                blocks.append(_shift(block, value_base, block_base, after))
            blocks.append(tail)
            jump = Instruction("llvm.br", (), (), {}, instruction.location, ((block_base, instruction.operands),))
            blocks[index].instructions[position:] = [jump]
            queue.append(after)
            break
    return replace(function, blocks=blocks, value_types=types)


def _callee(module: Module, instruction: Instruction) -> Function | None:
    if instruction.name != "llvm.call":
        return None
    callee = module.functions.get(instruction.attributes.get("callee", ""))
    return callee if callee is not None and callee.blocks else None


def _shift(block: Block, value_base: int, block_base: int, after: int) -> Block:
    """``block`` with values and blocks renumbered, its return turned into a jump to block ``after``."""

    def values(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(v + value_base for v in numbers)

    instructions = []
    for old in block.instructions:
        if old.name == "llvm.return":
            instructions.append(Instruction("llvm.br", (), (), {}, old.location, ((after, values(old.operands)),)))
            continue
        successors = tuple((target + block_base, values(operands)) for target, operands in old.successors)
        instructions.append(
            replace(old, operands=values(old.operands), results=values(old.results), successors=successors)
        )
    return Block(values(block.arguments), instructions)


def block_order(function: Function) -> list[int]:
    """Blocks so that those of a loop come before those after it, and a join after both its branches.

    Running the lowest block first then makes the lanes of a warp meet again where their paths do.
    """
    successors = {
        i: [target for target, _ in block.instructions[-1].successors] for i, block in enumerate(function.blocks)
    }
    return _ordered(set(_reachable(successors, 0)), 0, successors)


def _reachable(successors: dict[int, list[int]], start: int) -> list[int]:
    seen, work = {start}, [start]
    while work:
        for target in successors[work.pop()]:
            if target not in seen:
                seen.add(target)
                work.append(target)
    return sorted(seen)


def _ordered(nodes: set[int], entry: int, successors: dict[int, list[int]]) -> list[int]:
    """Topological order of the strongly connected components; inside one, its loop's header first, then recursively."""
    order: list[int] = []
    for component in _components(nodes, entry, successors):
        if len(component) == 1:
            order.extend(component)
            continue
        inside = set(component)
        header = entry
        if entry not in inside:
            header = next(t for n in [*order, entry] for t in successors[n] if t in inside)
        cut = {n: [t for t in successors[n] if t in inside and t != header] for n in inside}
        order.append(header)
        remaining = inside - {header}
        # Everything in the loop is reachable from its header; a virtual entry keeps several first blocks in order.
        virtual = -1
        cut[virtual] = [t for t in successors[header] if t in remaining]
        order.extend(n for n in _ordered(remaining | {virtual}, virtual, cut) if n != virtual)
    return order


def _components(nodes: set[int], entry: int, successors: dict[int, list[int]]) -> list[list[int]]:
    """Strongly connected components reachable from ``entry``, in topological order (Tarjan, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    result: list[list[int]] = []
    work: list[tuple[int, int]] = [(entry, 0)]
    while work:
        node, child = work.pop()
        if child == 0:
            index[node] = low[node] = len(index)
            stack.append(node)
            on_stack.add(node)
        targets = [t for t in reversed(successors[node]) if t in nodes]
        advanced = False
        for position in range(child, len(targets)):
            target = targets[position]
            if target not in index:
                work.append((node, position + 1))
                work.append((target, 0))
                advanced = True
                break
            if target in on_stack:
                low[node] = min(low[node], index[target])
        if advanced:
            continue
        if low[node] == index[node]:
            component = []
            while True:
                member = stack.pop()
                on_stack.discard(member)
                component.append(member)
                if member == node:
                    break
            result.append(component[::-1])
        if work:
            parent = work[-1][0]
            low[parent] = min(low[parent], low[node])
    return result[::-1]
