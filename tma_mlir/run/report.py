"""What ``tma-run`` prints of plans and instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..abi.signature import Argument, KernelSignature, MemRefArgument
from ..assembler import Resources
from ..compile.compiler import PlannedCopy
from ..plan.text import condition_text, tensor_map_text, threads_text, way_text
from ..sim.simulate import SimulationResult

_BULK = re.compile(r"^\s*(?:@!?%p\d+\s+)?(cp\.(?:reduce\.)?async\.bulk\.(?:tensor\.)?[\w.:]+)", re.MULTILINE)
SHOWN = 16
"""Places that are listed at most."""
_NOT_COPIES = ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group")


def plan_lines(planned: PlannedCopy) -> list[str]:
    """One copy's plan for a person."""
    plan = planned.plan
    bytes_ = f", {plan.transaction_bytes} bytes on the mbarrier" if plan.transaction_bytes else ""
    lines = [f"{planned.place or planned.kernel}: {way_text(plan)}{bytes_}"]
    lines += [f"  tensor map: {tensor_map_text(map_)}" for map_ in plan.tensor_maps]
    for condition in plan.host_checks:
        lines.append(f"  checked at launch: {condition.finding.needed} ({condition.value})")
    for condition in plan.guards:
        lines.append(f"  checked in the kernel: {condition_text(condition)}")
    if plan.fallback is not None:
        lines.append(f"  otherwise: {threads_text(plan.fallback.variant, plan.fallback.vector_bytes, plan.request)}")
    return lines


def instruction_lines(ptx: str) -> list[str]:
    """Bulk copy instructions in the PTX text, each with the number of places where it is written."""
    counts = Counter(name for name in _BULK.findall(ptx) if not name.startswith(_NOT_COPIES))
    return [f"in the PTX at {_count(count, 'place')}: {name}" for name, count in counts.items()]


def executed_lines(result: SimulationResult) -> list[str]:
    """What the simulator executed of them, together and by place."""
    if not result.transfers:
        return ["executed: no bulk copy"]
    lines = [f"executed: {_count(result.transfers, 'bulk copy', 'bulk copies')}, {result.transfer_bytes} bytes"]
    for each in result.issued[:SHOWN]:
        place = f"{each.location}: " if each.location else ""
        lines.append(f"  {place}{each.what}: {_count(each.count, 'time')}, {each.bytes} bytes")
    more = len(result.issued) - SHOWN
    return [*lines, f"  and at {_count(more, 'more place')}"] if more > 0 else lines


def resource_line(resources: Resources, dynamic_shared_bytes: int) -> str:
    """What a thread and a block use, as the assembler says it."""
    return (
        f"resources: a thread has {resources.registers} registers and spills {spilled_bytes(resources)} bytes; a block "
        f"has {resources.shared_bytes} bytes of static and {dynamic_shared_bytes} of dynamic shared memory"
    )


def spilled_bytes(resources: Resources) -> int:
    """Of registers that a thread keeps in local memory: written or read, whichever is more."""
    return max(resources.spill_store_bytes, resources.spill_load_bytes)


def verdict_text(where: str, equal: Sequence[str], copies: int, executed: int) -> str:
    """The closing line of a good run ``where``: what holds. ``equal``: comparisons with files, in words; ``copies``:
    how many the kernel has; ``executed``: those that were, and were compared with their definition."""
    if executed and executed == copies:
        equal = [*equal, "its 1 copy does what it means" if copies == 1 else f"its {copies} copies do what they mean"]
    elif executed:
        does = "1 of its copies does what it means" if executed == 1 else f"{executed} of its copies do what they mean"
        equal = [*equal, f"{does}, the other {_count(copies - executed, 'was', 'were')} not executed"]
    if equal:
        return f"verified: {where}: {'; '.join(equal)}; nothing else was checked"
    if copies:
        return f"ran: {where}: nothing was compared, since none of its {_count(copies, 'copy', 'copies')} was executed"
    return f"ran: {where}: nothing was compared, since it has no tile.copy_async and no --expect is given"


def changed_text(signature: KernelSignature, changed: Sequence[int]) -> str:
    """``argument 1 (f32 64x64)``."""
    return ", ".join(f"argument {index} ({_kind(signature.arguments[index])})" for index in changed) or "no argument"


def _kind(argument: Argument) -> str:
    if not isinstance(argument, MemRefArgument):
        return "memory at an address"
    shape = "x".join("?" if extent is None else str(extent) for extent in argument.shape)
    return f"{argument.dtype} {shape}" if shape else str(argument.dtype)


def _count(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"
