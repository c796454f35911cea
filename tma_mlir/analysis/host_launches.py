"""Which kernel a ``gpu.launch_func`` launches, for host code and kernels in one module.

A launch names its kernel by a symbol reference, ``@gpu_module::@kernel``. As everywhere in MLIR, its first name is
looked up in the nearest symbol table around the launch, and each further name in the operation found so far. MLIR's
verifier checks only launches that stand directly in a function, not those in loops and conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings import ir
from ..errors import TileError, TileErrors
from .ir_access import collect, function_inputs, is_kernel


def launches_by_kernel(root: ir.Operation) -> dict[ir.Operation, list[ir.Operation]]:
    """The launches under ``root`` of every ``gpu.func`` there that is launched, in the order of the module.

    Launches of compiled kernels (``gpu.binary``, functions of the LLVM dialect) are left out. ``TileErrors`` names
    every launch of a kernel that does not exist, or with other operands than the kernel takes.
    """
    tables: dict[ir.Operation, ir.SymbolTable | None] = {}
    launches: dict[ir.Operation, list[ir.Operation]] = {}
    errors: list[TileError] = []
    for launch in collect(root, ("gpu.launch_func",)):
        names = ir.SymbolRefAttr(launch.attributes["kernel"]).value
        target = _resolve(launch, names, tables)
        if target is not None and target.name != "gpu.func":
            continue
        problem = _problem(launch, "::".join(f"@{name}" for name in names), target)
        if problem:
            errors.append(TileError(launch, problem))
        elif target is not None:
            launches.setdefault(target, []).append(launch)
    if errors:
        raise TileErrors(errors)
    return launches


def kernel_operands(launch: ir.Operation) -> list[ir.Value]:
    """What a launch passes to its kernel, without grid, block, dynamic shared memory and tokens."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    start = sum(segments[:-2])
    return list(launch.operands)[start : start + segments[-2]]


def _problem(launch: ir.Operation, kernel: str, function: ir.Operation | None) -> str:
    if function is None:
        return (
            f"gpu.launch_func launches '{kernel}', but the module around it defines no such kernel. Name a kernel as "
            "@gpu_module::@kernel"
        )
    if not is_kernel(function):
        return f"gpu.launch_func launches '{kernel}', which is a function and not a kernel. Mark it 'kernel'"
    passed, taken = [each.type for each in kernel_operands(launch)], function_inputs(function)
    if passed != taken:
        return (
            f"gpu.launch_func passes ({_types(passed)}) to '{kernel}', which takes ({_types(taken)}). Pass what the "
            "kernel takes"
        )
    return ""


def _types(types: Sequence[ir.Type]) -> str:
    return ", ".join(map(str, types))


def _resolve(
    launch: ir.Operation, names: Sequence[str], tables: dict[ir.Operation, ir.SymbolTable | None]
) -> ir.Operation | None:
    """The operation that a symbol reference names; None where there is none. A ``gpu.binary`` holds its kernels as
    an object file, so it stands for all of them."""
    found = _nearest_table(launch, tables)
    for name in names:
        if found is None or found.name == "gpu.binary":
            return found
        table = _table(found, tables)
        found = table[name].operation if table is not None and name in table else None
    return found


def _nearest_table(op: ir.Operation, tables: dict[ir.Operation, ir.SymbolTable | None]) -> ir.Operation | None:
    parent = op.parent
    while parent is not None and _table(parent.operation, tables) is None:
        parent = parent.operation.parent
    return None if parent is None else parent.operation


def _table(op: ir.Operation, tables: dict[ir.Operation, ir.SymbolTable | None]) -> ir.SymbolTable | None:
    if op not in tables:
        try:
            tables[op] = ir.SymbolTable(op)
        except TypeError:  # the bindings have no query for the trait
            tables[op] = None
    return tables[op]
