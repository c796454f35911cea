"""Which arrays a kernel may write: found from its program, so that arrays it only reads cost no race checks."""

from __future__ import annotations

from .program import Function, Instruction, Module

ADDRESS_OPERAND = {
    "llvm.store": 1,
    "llvm.atomicrmw": 0,
    "llvm.cmpxchg": 0,
    "llvm.intr.memset": 0,
    "llvm.intr.memset.inline": 0,
    "llvm.intr.memcpy": 0,
    "llvm.intr.memcpy.inline": 0,
    "llvm.intr.memmove": 0,
    "llvm.intr.masked.store": 1,
    "nvvm.cp.async.bulk.global.shared.cta": 0,
    "nvvm.cp.async.bulk.tensor.global.shared.cta": 0,
    "nvvm.cp.async.bulk.tensor.reduce": 0,
}
"""The operand that says where an operation stores; for tensor copies it is the descriptor."""
READ_ONLY = ("llvm.load", "llvm.getelementptr")
ANYTHING = frozenset({-1})


def stores_globally(module: Module, function: Function, instruction: Instruction) -> bool:
    """Whether ``instruction`` may store to global memory. A pointer without a space may point there."""
    if instruction.name == "llvm.call":
        callee = module.functions.get(instruction.attributes.get("callee", ""))
        copy = callee.attributes.get("tile.reference_copy") if callee is not None else None
        return copy is not None and copy["direction"] == "store"
    operand = ADDRESS_OPERAND.get(instruction.name)
    return operand is not None and function.value_types[instruction.operands[operand]].space in (0, 1)


def written_parameters(function: Function) -> frozenset[int] | None:
    """Numbers of the parameters that a store's address may come from; None if it may be any.

    An address is followed through everything but memory. A descriptor that the kernel changes can be of any array.
    """
    instructions = [i for block in function.blocks for i in block.instructions]
    if any(i.name.startswith("sim.tensormap") for i in instructions):
        return None
    origins: dict[int, frozenset[int]] = {}
    for number, value in enumerate(function.blocks[0].arguments):
        origins[value] = frozenset({number})
    changed = True
    while changed:
        changed = False
        for instruction in instructions:
            for value, found in _flows(function, instruction, origins):
                old = origins.get(value, frozenset())
                if not found <= old:
                    origins[value] = old | found
                    changed = True
    written: frozenset[int] = frozenset()
    for instruction in instructions:
        operand = ADDRESS_OPERAND.get(instruction.name)
        if operand is not None:
            found = origins.get(instruction.operands[operand], frozenset())
            if found & ANYTHING:
                return None
            written |= found
    return written


def _flows(
    function: Function, instruction: Instruction, origins: dict[int, frozenset[int]]
) -> list[tuple[int, frozenset[int]]]:
    """Values that an instruction defines, with the parameters they may be addresses of."""
    nothing: frozenset[int] = frozenset()
    flows = [
        (target, origins.get(value, nothing))
        for block, values in instruction.successors
        for target, value in zip(function.blocks[block].arguments, values, strict=True)
    ]
    if instruction.results:
        operands = instruction.operands[:1] if instruction.name in READ_ONLY else instruction.operands
        found = nothing.union(*(origins.get(v, nothing) for v in operands))
        if instruction.name == "llvm.load":
            found = ANYTHING
        flows += [(value, found) for value in instruction.results]
    return flows
