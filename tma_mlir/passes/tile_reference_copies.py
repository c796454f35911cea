"""``tile-reference-copies``: every copy becomes a call that the simulator executes by the definition of a copy.

No planner, no tensor map, no TMA: element by element through the two layouts. A kernel lowered this way computes what
its copies mean, which is what ``tma-run`` compares results with. It has no cubin.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.copy_requests import copy_request
from ..analysis.global_views import viewed_argument
from ..analysis.ir_access import collect, copies_in, enclosing
from ..analysis.shared_tiles import Declarations, placement, raise_alignment
from ..bindings import ir
from ..bindings.dialects import arith, llvm, memref
from ..chips import DEFAULT_CHIP
from ..dialect.copy_modes import IM2COL, mode_of
from ..dialect.memrefs import read_memref
from ..dialect.prefetch_op import PrefetchAsyncOp
from ..dialect.rebase_op import RebaseTensorOp
from ..dialect.regions import shared_sizes
from ..dialect.tile import CopyAsyncOp
from ..errors import TileError
from ..layout.swizzle import Swizzle, swizzle_period_bytes
from ..lower.completion_ops import lower_completion_ops
from ..lower.pointers import element_pointer, mbarrier_pointer
from ..lower.rebase import lower_rebases
from ..lower.teams import team, then
from ..plan import CopyRequest, Im2colWalk
from .registry import Pass

SCRATCH = "tile.scratch_arguments"
"""Attribute of a kernel: its arguments that hold descriptors."""
PREFIX = "__tile_reference_copy_"


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    for count, copy in enumerate(copies_in(op)):
        with copy.operation.context, copy.operation.location:
            _replace(copy, f"{PREFIX}{count}")
    for prefetch in collect(op, (PrefetchAsyncOp.OPERATION_NAME,)):
        prefetch.erase()  # A hint: it means nothing.
    lower_completion_ops(op)
    for function in collect(op, ("gpu.func",)):
        _mark_scratch(function)
    lower_rebases(op)


def _mark_scratch(function: ir.Operation) -> None:
    """Notes the arguments that hold descriptors, whose bytes mean nothing: by definition there are none."""
    rebases = collect(function, (RebaseTensorOp.OPERATION_NAME,))
    arguments = {argument.arg_number for each in rebases if (argument := viewed_argument(each.opview.scratch))}
    if arguments:
        with function.context:
            function.attributes[SCRATCH] = ir.DenseI64ArrayAttr.get(sorted(arguments))


def _replace(copy: CopyAsyncOp, name: str) -> None:
    request = copy_request(copy, DEFAULT_CHIP)
    if request.dtype.packed:
        raise TileError(
            copy.operation.location,
            f"'tile.copy_async' op copies packed elements ({request.dtype}), which are not simulated: what chips do "
            "with them was not measured. Compile the kernel with tma-opt or tma_mlir.compile, or copy the bytes as i8",
        )
    if (mode := mode_of(copy)) in IM2COL[1:]:
        raise TileError(
            copy.operation.location,
            f"'tile.copy_async' op has mode \"{mode}\", which is not simulated: no chip was at hand to measure it. "
            "Compile the kernel with tma-opt or tma_mlir.compile",
        )
    is_load = copy.mbarrier is not None
    tensor, tile = (copy.source, copy.destination) if is_load else (copy.destination, copy.source)
    global_starts, shared_starts = (
        (copy.source_offsets, copy.destination_offsets) if is_load else (copy.destination_offsets, copy.source_offsets)
    )
    # A swizzle acts on addresses, so the tile has to lie where it would for TMA.
    raise_alignment(
        placement(tile, request.dtype.bytes).root,
        max(128, swizzle_period_bytes(request.shared_swizzle)),
        Declarations(),
    )
    size = request.dtype.bytes

    def call() -> None:
        pointers = [element_pointer(tensor, size, 0), element_pointer(tile, size, 3)]
        if is_load:
            pointers.append(mbarrier_pointer(copy.mbarrier, copy.mbarrier_index))
        if copy.multicast_mask is not None:
            pointers.append(arith.extui(ir.IntegerType.get_signless(64), copy.multicast_mask))
        shape, strides = _extents(tensor)
        numbers = [_i64(each) for each in (*shape, *strides, *global_starts, *shared_starts)]
        declaration = _declare(copy, name, [each.type for each in (*pointers, *numbers)], request)
        llvm.CallOp(None, [*pointers, *numbers], [], [], callee=ir.FlatSymbolRefAttr.get(declaration))

    with ir.InsertionPoint(copy.operation), _predicated(copy):
        team(copy.scope).leader(call)
    copy.operation.erase()


def _predicated(copy: CopyAsyncOp) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if copy.predicate is None else then(copy.predicate)


def _extents(tensor: ir.Value) -> tuple[list[int | ir.Value], list[int | ir.Value]]:
    layout = read_memref(tensor.type)
    assert layout is not None
    metadata = memref.extract_strided_metadata(tensor) if None in (*layout.shape, *layout.strides) else None

    def pick(known: Sequence[int | None], first: int) -> list[int | ir.Value]:
        result: list[int | ir.Value] = []
        for dimension, value in enumerate(known):
            if value is None:
                assert metadata is not None
                result.append(metadata[first + dimension])
            else:
                result.append(value)
        return result

    return pick(layout.shape, 2), pick(layout.strides, 2 + layout.rank)


def _i64(value: int | ir.Value) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    return arith.constant(i64, value) if isinstance(value, int) else arith.index_cast(i64, value)


def _declare(copy: CopyAsyncOp, name: str, types: list[ir.Type], request: CopyRequest) -> str:
    module = enclosing(copy.operation, "gpu.module")
    if module is None:
        message = "'tile.copy_async' op is outside of a gpu.module, and kernels alone are executed by definition"
        raise TileError(copy.operation.location, f"{message}. Leave this pass out, or move the copy")
    shared = request.shared_layout
    swizzle = request.shared_swizzle
    if isinstance(swizzle, Swizzle):
        raise TileError(
            copy.operation.location,
            f"'tile.copy_async' op cannot be executed by definition: nobody has measured the pattern of swizzle "
            f"{swizzle.label}",
        )
    fields = {
        "direction": f'"{request.direction.value}"',
        "mode": f'"{mode_of(copy)}"',
        "rank": str(len(request.global_shape)),
        "element_bytes": str(request.dtype.bytes),
        "dtype": f'"{request.dtype.name}"',
        "fill": f'"{request.oob_fill.name.lower()}"',
        "reduction": f'"{request.reduction or ""}"',
        "sizes": str(list(copy.sizes)),
        "shared_sizes": str(shared_sizes(copy.sizes, request.shared_shape, request.shared_region.starts)),
        "shared_shape": str(list(request.shared_shape)),
        "shared_extents": str(list(shared.extents)),
        "shared_strides": str(list(shared.strides)),
        "swizzle": str([swizzle.bits, swizzle.base, swizzle.shift] if swizzle else []),
    }
    fields |= _protocol(copy)
    if isinstance(request.kind, Im2colWalk):
        fields["lower_corner"] = str(list(request.kind.lower_corner))
        fields["upper_corner"] = str(list(request.kind.upper_corner))
        fields["traversal_strides"] = str(list(request.kind.traversal_strides))
    side = "source" if request.is_load else "destination"
    if f"{side}_layout" in copy.operation.attributes:
        fields["global_extents"] = str(list(request.global_layout.extents))
        fields["global_strides"] = str(list(request.global_layout.strides))
    text = "{" + ", ".join(f"{key} = {value}" for key, value in fields.items()) + "}"
    arguments = ", ".join(map(str, types))
    declaration = ir.Operation.parse(f"llvm.func @{name}({arguments}) attributes {{tile.reference_copy = {text}}}")
    ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]).insert(declaration)
    return name


def _protocol(copy: CopyAsyncOp) -> dict[str, str]:
    """How a load announces and completes, and in which CTAs, as fields of the call."""
    attributes = copy.operation.attributes
    announces = "" if "expect_tx" not in attributes else "only" if "announce_only" in attributes else "arrive"

    def integer(name: str, default: int) -> str:
        return str(ir.IntegerAttr(attributes[name]).value if name in attributes else default)

    named = ir.StringAttr(attributes["mbarrier_cta"]).value if "mbarrier_cta" in attributes else "own"
    return {
        "announce": f'"{announces}"',
        "announce_bytes": integer("announce_bytes", 0),
        "multicast": str(int(copy.multicast_mask is not None)),
        "cluster_split": integer("cluster_split", 1),
        "cta_group": integer("cta_group", 1),
        "mbarrier_cta": f'"{named}"',
    }


PASS = Pass(
    "tile-reference-copies",
    "Replace copies by calls that the simulator executes by definition, for checking results.",
    run,
)
