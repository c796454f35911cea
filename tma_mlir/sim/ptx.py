"""Inline PTX to NVVM operations: the strings that upstream's lowering emits, read by their PTX text.

``replace_inline_ptx`` rewrites a function before it is compiled, so that every operation has one implementation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from ..abi.types import Type, integer
from .errors import UnsupportedError
from .program import Block, Function, Instruction

_GUARD = re.compile(r"@(!?)\s*(\$\d+|%?\w+)\s+(.*)", re.S)


@dataclass
class _Asm:
    """One asm statement: ``lines`` without declarations; ``argument(text)`` gives the value of an operand text."""

    instruction: Instruction
    outputs: int
    builder: _Builder

    def argument(self, text: str) -> int:
        text = text.strip().strip("[]{}").strip()
        if text.startswith("$"):
            return self.instruction.operands[int(text[1:]) - self.outputs]
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
            return self.builder.constant(int(text, 0))
        raise UnsupportedError(f"inline PTX operand {text!r}", self.instruction.location)

    def number(self, text: str) -> int:
        """An operand that must be a known constant."""
        value = self.argument(text)
        known = self.builder.constants.get(value)
        if known is None:
            raise UnsupportedError(f"inline PTX operand {text!r} is not constant", self.instruction.location)
        return known

    def make(self, name: str, operands: list[int], **attributes: Any) -> Instruction:
        results = self.instruction.results
        return Instruction(name, tuple(operands), results, attributes, self.instruction.location)


class _Builder:
    def __init__(self, function: Function):
        self.types: list[Type] = list(function.value_types)
        self.before: list[Instruction] = []
        self.constants: dict[int, int] = {}
        for block in function.blocks:
            for instruction in block.instructions:
                value = instruction.attributes.get("value")
                if instruction.name == "llvm.mlir.constant" and isinstance(value, int):
                    self.constants[instruction.results[0]] = int(value)

    def constant(self, value: int) -> int:
        number = len(self.types)
        self.types.append(integer(32))
        self.constants[number] = value
        self.before.append(Instruction("llvm.mlir.constant", (), (number,), {"value": value}, ""))
        return number


def replace_inline_ptx(function: Function) -> Function:
    """``function`` with inline PTX as NVVM operations; ``UnsupportedError`` names a statement it does not know."""
    if not any(i.name in ("llvm.inline_asm", "nvvm.inline_ptx") for b in function.blocks for i in b.instructions):
        return function
    builder = _Builder(function)
    blocks = []
    for block in function.blocks:
        instructions: list[Instruction] = []
        for instruction in block.instructions:
            if instruction.name not in ("llvm.inline_asm", "nvvm.inline_ptx"):
                instructions.append(instruction)
                continue
            translated = _translate(instruction, builder)
            instructions.extend(builder.before)
            builder.before.clear()
            instructions.extend(translated)
        blocks.append(Block(block.arguments, instructions))
    return replace(function, blocks=blocks, value_types=builder.types)


def _text(instruction: Instruction) -> tuple[str, int]:
    """The PTX text with ``$n`` operands, and how many of them are outputs."""
    if instruction.name == "nvvm.inline_ptx":
        text = instruction.attributes["ptxCode"]
        sizes = instruction.attributes.get("operandSegmentSizes", [len(instruction.operands), 0, 0])
        text = re.sub(r"\{\$ro(\d+)\}", lambda m: f"${int(m[1]) + len(instruction.results)}", text)
        text = re.sub(r"\{\$w(\d+)\}|\{\$r(\d+)\}", lambda m: f"${m[1] or m[2]}", text)
        if sizes[-1]:
            text = f"@${len(instruction.results) + sum(sizes[:-1])} {text}"
        return text, len(instruction.results)
    constraints = instruction.attributes["constraints"].split(",")
    return instruction.attributes["asm_string"], sum(1 for c in constraints if c.strip().startswith("="))


def _translate(instruction: Instruction, builder: _Builder) -> list[Instruction]:
    text, outputs = _text(instruction)
    asm = _Asm(instruction, outputs, builder)
    text = text.replace("$$", "")
    flat = re.sub(r"//[^\n]*", "", text)
    if "mbarrier.try_wait.parity" in flat and "bra" in flat:
        address, parity = re.search(r"mbarrier\.try_wait\.parity\S*\s+\S+,\s*\[([^\]]*)\],\s*([^,;\s]+)", flat).groups()  # type: ignore[union-attr]
        return [asm.make("nvvm.mbarrier.try_wait.parity", [asm.argument(address), asm.argument(parity)])]
    if "wgmma.mma_async" in flat:
        return _wgmma(asm, flat)
    body = flat.strip()
    statements = [s.strip() for s in body.strip("{} \n\t").split(";") if s.strip()] if body.startswith("{") else None
    statements = statements or [s.strip() for s in body.split(";") if s.strip()]
    statements = [s for s in statements if not s.startswith(".reg")]
    if any("elect.sync" in s for s in statements):
        return [asm.make("nvvm.elect.sync", [])]
    result: list[Instruction] = []
    for statement in statements:
        result.append(_statement(asm, statement))
    return result


def _split_operands(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text:
        depth += char in "[{"
        depth -= char in "]}"
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    if current.strip():
        parts.append(current.strip())
    return parts


def _statement(asm: _Asm, statement: str) -> Instruction:
    guard = _GUARD.match(statement)
    predicate: list[int] = []
    if guard:
        if guard[1]:
            raise UnsupportedError(f"inline PTX with a negated guard: {statement}", asm.instruction.location)
        predicate = [asm.argument(guard[2])]
        statement = guard[3].strip()
    opcode, _, rest = statement.partition(" ")
    operands = _split_operands(rest)
    for prefix, handler in _HANDLERS:
        if opcode.startswith(prefix):
            return handler(asm, opcode, operands, predicate)
    raise UnsupportedError(f"inline PTX {statement!r}", asm.instruction.location)


def _tensor_operands(asm: _Asm, text: str) -> tuple[int, list[int]]:
    """``[$1, {$2, $3}]``: descriptor and coordinates."""
    inner = text.strip()[1:-1]
    descriptor, coordinates = _split_operands(inner)[:2]
    return asm.argument(descriptor), [asm.argument(c) for c in _split_operands(coordinates.strip()[1:-1])]


def _tensor_load(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    target = asm.argument(operands[0])
    descriptor, coordinates = _tensor_operands(asm, operands[1])
    barrier = asm.argument(operands[2])
    rest = [asm.argument(o) for o in operands[3:]]
    mask = [rest.pop(0)] if ".multicast" in opcode else []
    hint = [rest.pop(0)] if ".cache_hint" in opcode else []
    return asm.make(
        "nvvm.cp.async.bulk.tensor.shared.cluster.global",
        [target, descriptor, *coordinates, barrier, *mask, *hint, *predicate],
        operandSegmentSizes=[1, 1, len(coordinates), 1, 0, len(mask), len(hint), len(predicate)],
        mode=_tensor_mode(asm, opcode),
        group="cta_2" if "cta_group::2" in opcode else "",
    )


def _tensor_mode(asm: _Asm, opcode: str) -> str:
    if "im2col" in opcode:
        raise UnsupportedError(f"inline PTX {opcode}", asm.instruction.location)
    return next((f"tile_{mode}" for mode in ("gather4", "scatter4") if mode in opcode), "tile")


def _tensor_store(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    descriptor, coordinates = _tensor_operands(asm, operands[0])
    source = asm.argument(operands[1])
    return asm.make(
        "nvvm.cp.async.bulk.tensor.global.shared.cta",
        [descriptor, source, *coordinates, *predicate],
        operandSegmentSizes=[1, 1, len(coordinates), 0, len(predicate)],
        mode=_tensor_mode(asm, opcode),
    )


def _tensor_reduce(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    if predicate:
        raise UnsupportedError(f"inline PTX: predicated {opcode}", asm.instruction.location)
    descriptor, coordinates = _tensor_operands(asm, operands[0])
    kind = re.search(r"\.(add|min|max|inc|dec|and|or|xor)\b", opcode)
    return asm.make(
        "nvvm.cp.async.bulk.tensor.reduce",
        [descriptor, asm.argument(operands[1]), *coordinates],
        operandSegmentSizes=[1, 1, len(coordinates), 0],
        mode=_tensor_mode(asm, opcode),
        redKind=kind[1] if kind else "",
    )


def _tensor(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    if ".shared::cluster.global" in opcode or ".shared::cta.global" in opcode:
        return _tensor_load(asm, opcode, operands, predicate)
    return _tensor_store(asm, opcode, operands, predicate)


def _bulk(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    if predicate:
        raise UnsupportedError(f"inline PTX: predicated {opcode}", asm.instruction.location)
    values = [asm.argument(o) for o in operands]
    if ".shared::cluster.global" in opcode or ".shared::cta.global" in opcode:
        target, source, size, barrier, *rest = values
        mask = rest[:1] if ".multicast" in opcode else []
        hint = rest[len(mask) :]
        return asm.make(
            "nvvm.cp.async.bulk.shared.cluster.global", [target, source, barrier, size, *mask, *hint],
            operandSegmentSizes=[1, 1, 1, 1, len(mask), len(hint)],
        )  # fmt: skip
    if ".shared::cluster.shared::cta" in opcode:
        target, source, size, barrier = values
        return asm.make("nvvm.cp.async.bulk.shared.cluster.shared.cta", [target, source, barrier, size])
    target, source, size, *rest = values
    hint = rest[:1] if ".cache_hint" in opcode else []
    byte_mask = rest[len(hint) :]
    return asm.make(
        "nvvm.cp.async.bulk.global.shared.cta", [target, source, size, *hint, *byte_mask],
        operandSegmentSizes=[1, 1, 1, len(hint), len(byte_mask)],
    )  # fmt: skip


def _arrive(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    values = [asm.argument(o) for o in operands[1:]]
    if ".expect_tx" in opcode:
        return asm.make("nvvm.mbarrier.arrive.expect_tx", [*values, *predicate])
    if predicate:
        raise UnsupportedError(f"inline PTX: predicated {opcode}", asm.instruction.location)
    return asm.make("nvvm.mbarrier.arrive", values)


def _plain(name: str, **attributes: Any):
    def handler(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
        if predicate and name not in ("nvvm.mbarrier.init",):
            raise UnsupportedError(f"inline PTX: predicated {opcode}", asm.instruction.location)
        return asm.make(name, [asm.argument(o) for o in operands] + predicate, **attributes)

    return handler


def _tensor_map_copy(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    return asm.make("sim.tensormap.copy", [asm.argument(operand) for operand in operands[:2]])


def _bare(name: str, **attributes: Any):
    def handler(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
        return asm.make(name, [], **attributes)

    return handler


def _wait_group(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    return asm.make("nvvm.cp.async.bulk.wait_group", [], group=asm.number(operands[0]), read=".read" in opcode)


def _test_wait(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    return asm.make("nvvm.mbarrier.test.wait", [asm.argument(o) for o in operands[1:3]])


def _barrier_sync(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    values = [asm.argument(o) for o in operands]
    sizes = [min(1, len(values)), max(0, len(values) - 1), 0]
    aligned = opcode.startswith("bar.") or ".aligned" in opcode
    return asm.make("nvvm.barrier", values, operandSegmentSizes=sizes, aligned=aligned)


def _fence(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    if opcode.startswith("fence.proxy.async"):
        return asm.make("nvvm.fence.proxy", [], kind=opcode[len("fence.proxy.") :])
    if opcode.startswith("fence.mbarrier_init"):
        return asm.make("nvvm.fence.mbarrier.init", [])
    if opcode.startswith("fence.proxy"):
        return asm.make("nvvm.fence.proxy", [], kind="other")
    return asm.make("llvm.fence", [])


def _create_policy(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    """A cache policy: a number that only cache hints take, and the simulator has no caches."""
    return asm.make("llvm.mlir.constant", [], value=0x12F0000000000000)


def _tensor_map_replace(asm: _Asm, opcode: str, operands: list[str], predicate: list[int]) -> Instruction:
    field = re.match(r"tensormap\.replace\.tile\.(global_address|global_dim|global_stride)\.shared::cta\.", opcode)
    if field is None or predicate:
        raise UnsupportedError(f"inline PTX: {opcode}", asm.instruction.location)
    ordinal = int(operands[1]) if len(operands) == 3 else 0
    values = [asm.argument(operands[0]), asm.argument(operands[-1])]
    return asm.make("sim.tensormap.replace", values, field=field[1], ordinal=ordinal)


_HANDLERS: list[tuple[str, Any]] = [
    ("createpolicy.fractional", _create_policy),
    ("tensormap.replace", _tensor_map_replace),
    ("tensormap.cp_fenceproxy.global.shared::cta", _tensor_map_copy),
    ("cp.async.bulk.tensor", _tensor),
    ("cp.reduce.async.bulk.tensor", _tensor_reduce),
    ("cp.async.bulk.prefetch", _bare("nvvm.prefetch")),
    ("cp.async.bulk.commit_group", _bare("nvvm.cp.async.bulk.commit.group")),
    ("cp.async.bulk.wait_group", _wait_group),
    ("cp.async.bulk.", _bulk),
    ("mbarrier.init", _plain("nvvm.mbarrier.init")),
    ("mbarrier.inval", _plain("nvvm.mbarrier.inval")),
    ("mbarrier.arrive", _arrive),
    ("mbarrier.expect_tx", _plain("nvvm.mbarrier.expect_tx")),
    ("mbarrier.complete_tx", _plain("nvvm.mbarrier.complete_tx")),
    ("mbarrier.test_wait", _test_wait),
    ("mbarrier.try_wait", _test_wait),
    ("fence.", _fence),
    ("membar", _fence),
    ("bar.arrive", _plain("nvvm.barrier.arrive")),
    ("barrier.cluster.arrive", _bare("nvvm.cluster.arrive")),
    ("barrier.cluster.wait", _bare("nvvm.cluster.wait")),
    ("barrier.sync", _barrier_sync),
    ("bar.sync", _barrier_sync),
    ("bar.warp.sync", _plain("nvvm.bar.warp.sync")),
    ("setmaxnreg", _bare("nvvm.setmaxregister")),
    ("prefetch", _bare("nvvm.prefetch")),
    ("wgmma.fence", _bare("nvvm.wgmma.fence.aligned")),
    ("wgmma.commit_group", _bare("nvvm.wgmma.commit.group.sync.aligned")),
    ("mov.u32", None),
]
_HANDLERS = [(prefix, handler) for prefix, handler in _HANDLERS if handler is not None]

_WGMMA = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\.(\w+)\.(\w+)\.(\w+)\s*(.*?);", re.S)


def _wgmma(asm: _Asm, text: str) -> list[Instruction]:
    """``wgmma.mma_async``: accumulators tied to the outputs, two descriptors, then scale and transpose immediates."""
    match = _WGMMA.search(text)
    if match is None:
        raise UnsupportedError(f"inline PTX {text!r}", asm.instruction.location)
    m, n, k, kind_d, kind_a, kind_b, rest = match.groups()
    scale = re.search(r"setp\.ne\.b32\s+p,\s*([^,;]+)", text)
    operands = _split_operands(rest)
    _, a, b, _, *immediates = operands
    numbers = [asm.number(o) for o in immediates]
    numbers += [1, 1, 0, 0][len(numbers) :]
    accumulators = asm.instruction.operands[: asm.outputs]
    return [
        asm.make(
            "sim.wgmma",
            [*accumulators, asm.argument(a), asm.argument(b), asm.argument(scale[1]) if scale else asm.argument("1")],
            shape=(int(m), int(n), int(k)),
            types=(kind_d, kind_a, kind_b),
            signs=(numbers[0], numbers[1]),
            transposed=(bool(numbers[2]), bool(numbers[3])),
        )
    ]
