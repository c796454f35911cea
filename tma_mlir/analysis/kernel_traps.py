"""What MLIR 22 lowers to something slow or wrong in kernels at full size, found before it happens.

Each was reproduced on an H200; the numbers in the messages are those of docs/hardware.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ..bindings import ir
from ..dialect.memrefs import read_memref
from ..dtypes import DTYPES
from ..errors import TileError
from ..hardware import STATIC_SHARED_BYTES
from .index_facts import facts_of
from .ir_access import collect, defining_op, enclosing, function_inputs, known_block_size

MBARRIER_BYTES = 8
RELAXED_ARRIVE_PTX = 86
"""LLVM 22 selects ``mbarrier.arrive.relaxed`` from PTX 8.6 on and aborts before (tried: 80 to 86)."""


def mma_store_warnings(function: ir.Operation) -> Iterator[tuple[ir.Location, str]]:
    """``nvgpu.warpgroup.mma.store`` takes the row from the warp's number in the CTA, not in its warpgroup."""
    threads = _block_threads(function)
    if threads is not None and threads <= 128:
        return
    for store in collect(function, ("nvgpu.warpgroup.mma.store",)):
        if not _is_first_warpgroup(store):
            yield (
                store.location,
                "'nvgpu.warpgroup.mma.store' op writes 64 rows further down for each warpgroup before the one that "
                "executes it: MLIR 22 takes rows from the thread's number in the CTA. Let threads 0 to 127 execute it "
                "(scf.if on thread id < 128), or subtract 64 rows per warpgroup from the memref",
            )


def _block_threads(function: ir.Operation) -> int | None:
    size = known_block_size(function)
    return None if size is None else math.prod(size)


_BELOW = {2: 0, 6: 0, 3: 1, 7: 1}
"""``arith.cmpi`` predicates slt, ult, sle, ule, and what to add to the bound."""
_NOT_BELOW = {5: 0, 9: 0, 4: 1, 8: 1}
"""sge, uge, sgt, ugt, and what to add to the bound of what is left."""


def _is_first_warpgroup(op: ir.Operation) -> bool:
    """Whether a surrounding ``scf.if`` on ``gpu.thread_id x`` admits threads below 128 only."""
    while (parent := enclosing(op, "scf.if")) is not None:
        in_then = _is_in_region(op, parent, 0)
        condition = defining_op(parent.operands[0])
        if condition is not None and condition.name == "arith.cmpi" and _is_thread(condition.operands[0]):
            predicate = ir.IntegerAttr(condition.attributes["predicate"]).value
            bound = facts_of(condition.operands[1]).high
            more = (_BELOW if in_then else _NOT_BELOW).get(predicate)
            if more is not None and bound is not None and bound + more <= 128:
                return True
        op = parent
    return False


def _is_in_region(op: ir.Operation, ancestor: ir.Operation, region: int) -> bool:
    while op.parent is not None and op.parent.operation != ancestor:
        op = op.parent.operation
    blocks = list(ancestor.regions[region].blocks)
    return any(op.block == block for block in blocks)


def _is_thread(value: ir.Value) -> bool:
    op = defining_op(value)
    while op is not None and op.name in ("arith.index_cast", "arith.index_castui"):
        op = defining_op(op.operands[0])
    return op is not None and op.name == "gpu.thread_id" and "dim x" in str(op.attributes["dimension"])


def arrive_warnings(function: ir.Operation) -> Iterator[tuple[ir.Location, str]]:
    """A release of cluster scope on an mbarrier is a fence of the whole GPU in SASS."""
    for arrive in collect(function, ("nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive.expect_tx")):
        attributes = arrive.attributes
        cluster = "scope" in attributes and "cluster" in str(attributes["scope"])
        if cluster and not _is_relaxed(arrive):
            yield (
                arrive.location,
                f"'{arrive.name}' op with cluster scope becomes MEMBAR.ALL.GPU before each arrival (cost a matmul a "
                "fifth of its speed). Where the other CTA reads nothing that this thread wrote by ordinary stores, "
                "drop the scope",
            )


def _is_relaxed(arrive: ir.Operation) -> bool:
    attributes = arrive.attributes
    return "relaxed" in attributes and str(attributes["relaxed"]) != "false"


def relaxed_arrive_errors(function: ir.Operation, ptx: int) -> Iterator[TileError]:
    """``relaxed`` on an arrival, compiled to a PTX version for which LLVM has no instruction."""
    if ptx >= RELAXED_ARRIVE_PTX:
        return
    for arrive in collect(function, ("nvvm.mbarrier.arrive", "nvvm.mbarrier.arrive.expect_tx")):
        if _is_relaxed(arrive):
            yield TileError(
                arrive.location,
                f"'{arrive.name}' op is relaxed, which LLVM 22 can select from PTX 8.6 on; the target has "
                f"+ptx{ptx}. Use features=+ptx{RELAXED_ARRIVE_PTX}, or drop 'relaxed'",
            )


def register_errors(function: ir.Operation) -> Iterator[TileError]:
    """``setmaxnreg`` in a kernel of unknown block size is ignored by ptxas (C7508)."""
    if "known_block_size" in function.attributes or "nvvm.reqntid" in function.attributes:
        return
    for op in collect(function, ("nvvm.setmaxregister",))[:1]:
        yield TileError(
            op.location,
            "'nvvm.setmaxregister' op is ignored by ptxas where the kernel does not say its block size (5 % of a "
            "matmul). Add known_block_size = array<i32: X, Y, Z> to the gpu.func",
        )


def static_shared_errors(function: ir.Operation) -> Iterator[TileError]:
    """Static shared memory beyond what ptxas takes."""
    used = static_shared(function)
    total = sum(used.values())
    if total > STATIC_SHARED_BYTES:
        largest = max(used, key=lambda name: used[name])
        yield TileError(
            function.location,
            f"kernel reserves {total} bytes of static shared memory, {largest} alone {used[largest]}; the limit is "
            f"{STATIC_SHARED_BYTES}. Put the tiles into gpu.dynamic_shared_memory with memref.view",
        )


def static_shared(function: ir.Operation) -> dict[str, int]:
    """Bytes by name of the memrefs in static shared memory that ``function`` uses."""
    sizes: dict[str, int] = {}
    for use in collect(function, ("memref.get_global",)):
        sizes["@" + ir.FlatSymbolRefAttr(use.attributes["name"]).value] = _shared_bytes(use.results[0].type)
    inputs = len(function_inputs(function))
    for position, argument in enumerate(list(function.regions[0].blocks[0].arguments)[inputs:]):
        sizes[f"workgroup attribution {position}"] = _shared_bytes(argument.type)
    for count, create in enumerate(collect(function, ("nvgpu.mbarrier.create",))):
        found = re.search(r"num_barriers = (\d+)", str(create.results[0].type))
        sizes[f"mbarrier group {count}"] = MBARRIER_BYTES * (int(found[1]) if found else 1)
    return sizes


def _shared_bytes(type_: ir.Type) -> int:
    memref = read_memref(type_)
    if memref is None or memref.space != "shared" or None in memref.shape or memref.element not in DTYPES:
        return 0
    return math.prod(extent for extent in memref.shape if extent is not None) * DTYPES[memref.element].tile_bytes
