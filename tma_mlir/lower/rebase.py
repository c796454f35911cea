"""``tile.rebase_tensor``: the tensor as a memref at its new address, and descriptors brought up to date for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..abi.signature import TensorMapArgument
from ..abi.tensor_maps import PITCH_BYTES
from ..analysis.ir_access import collect, enclosing
from ..bindings import ir
from ..bindings.dialects import arith, builtin, llvm, memref, nvvm
from ..dialect.memrefs import read_memref
from ..dialect.rebase_op import RebaseTensorOp
from ..errors import TileError
from ..hardware import DESCRIPTOR_BYTES
from ..layout.expr import Expr
from ..plan.enums import Scope
from .copy_context import plan_value
from .index_builder import add, constant, materialize
from .inline_ptx import tensormap_copy_and_release, tensormap_replace
from .pointers import element_pointer, memref_at
from .teams import Team, elected, team, then

_STAGING = "__tile_descriptor_"


def lower_rebases(root: ir.Operation) -> None:
    """Replaces every rebased tensor under ``root`` by a memref at its address."""
    for op in collect(root, (RebaseTensorOp.OPERATION_NAME,)):
        with op.context, op.location, ir.InsertionPoint(op):
            op.results[0].replace_all_uses_with(_rebased_memref(op.opview))
        op.erase()


def _rebased_memref(op: RebaseTensorOp) -> ir.Value:
    layout = read_memref(op.tensor.type)
    assert layout is not None
    given_sizes, given_strides = iter(op.sizes), iter(op.strides)
    dynamic = None in (*layout.shape, *layout.strides)
    metadata = memref.extract_strided_metadata(op.tensor) if dynamic else []
    sizes: list[int | ir.Value] = []
    strides: list[int | ir.Value] = []
    for position in range(layout.rank):
        size, stride = layout.shape[position], layout.strides[position]
        sizes.append(size if size is not None else next(given_sizes, metadata[2 + position]))
        strides.append(stride if stride is not None else next(given_strides, metadata[2 + layout.rank + position]))
    pointer = llvm.inttoptr(ir.Type.parse("!llvm.ptr"), op.address)
    return memref_at(op.tensor.type, pointer, sizes, strides)


def updated_descriptor(op: RebaseTensorOp, template: ir.Value, recipe: TensorMapArgument, position: int) -> ir.Value:
    """The descriptor ``template`` (``recipe`` on the argument) for the rebased tensor, as a value of the same type.

    It lies in the ``position``-th 128 bytes of the scratch memory, and is built right behind ``op``.
    """
    scratch = read_memref(op.scratch.type)
    assert scratch is not None
    needed = DESCRIPTOR_BYTES * (position + 1)
    if scratch.shape[0] is not None and scratch.shape[0] < needed:
        raise TileError(
            op.operation.location,
            f"'tile.rebase_tensor' op needs {needed} bytes of scratch, 128 for each descriptor that copies of its "
            f"result use; found {op.scratch.type}",
        )
    if recipe.tensor_map.im2col is not None:
        raise TileError(
            op.operation.location,
            "'tile.rebase_tensor' op cannot change descriptors of im2col copies: tensormap.replace knows tiles only",
        )
    staging = _staging(op.operation)
    block = op.operation.block
    after = list(block.operations)[_place(op.operation) + 1]
    with ir.InsertionPoint(after), op.operation.location:
        target = element_pointer(op.scratch, 1, 0, DESCRIPTOR_BYTES * position)
        workers = team(op.scope)
        with _first_warp(op.scope, workers):
            _update(op, template, recipe, staging, target, workers)
        workers.synchronise()
        size = arith.constant(ir.IntegerType.get_signless(32), DESCRIPTOR_BYTES)
        nvvm.fence_proxy_acquire(ir.Attribute.parse("#nvvm.mem_scope<gpu>"), target, size)
        return builtin.unrealized_conversion_cast([template.type], [target])


def _place(op: ir.Operation) -> int:
    return next(i for i, each in enumerate(op.block.operations) if each.operation == op)


@contextmanager
def _first_warp(scope: Scope, workers: Team) -> Iterator[None]:
    """The one warp that changes the descriptor; its lanes are the team's first 32 ranks."""
    if scope is Scope.WARP:
        yield
        return
    with then(arith.cmpi(arith.CmpIPredicate.ult, materialize(workers.rank), constant(32))):
        yield


def _update(
    op: RebaseTensorOp, template: ir.Value, recipe: TensorMapArgument, staging: str, target: ir.Value, workers: Team
) -> None:
    i32, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
    all_lanes = arith.constant(i32, -1)
    type_ = ir.Type.parse(f"memref<{DESCRIPTOR_BYTES}xi8, #gpu.address_space<workgroup>>")
    place = element_pointer(memref.get_global(type_, staging), 1, 3)
    # A word for each lane: the parameter cannot be changed itself.
    source = builtin.unrealized_conversion_cast([ir.Type.parse("!llvm.ptr")], [template])
    lane = arith.index_cast(i64, materialize(workers.rank))
    dynamic = [-(2**31)]
    word = llvm.load(i32, llvm.getelementptr(source.type, source, [lane], dynamic, i32, 0))
    llvm.store(word, llvm.getelementptr(place.type, place, [lane], dynamic, i32, 0))
    nvvm.bar_warp_sync(all_lanes)
    address = llvm.ptrtoint(i32, place)
    with then(elected()):
        _replace_fields(op, recipe, address)
    nvvm.bar_warp_sync(all_lanes)
    tensormap_copy_and_release(llvm.addrspacecast(ir.Type.parse("!llvm.ptr<1>"), target), address)


def _replace_fields(op: RebaseTensorOp, recipe: TensorMapArgument, descriptor: ir.Value) -> None:
    i32, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
    map_ = recipe.tensor_map

    def value(expr: Expr | int) -> ir.Value:
        return materialize(plan_value(expr, {}, op.rebased))

    def pitch(expr: Expr) -> ir.Value:
        """A descriptor that the kernel does not use, since its pitches are no multiples, still has to be one."""
        return arith.andi(value(expr), constant(-PITCH_BYTES)) if recipe.spare else value(expr)

    base = arith.index_cast(ir.IndexType.get(), op.address)
    start = materialize(add(base, plan_value(map_.base_offset_bytes, {}, op.rebased)))
    tensormap_replace(descriptor, "global_address", None, arith.index_cast(i64, start))
    if not op.sizes and not op.strides:
        return
    for dimension, extent in enumerate(map_.dims):
        if isinstance(extent, Expr):
            tensormap_replace(descriptor, "global_dim", dimension, arith.index_cast(i32, value(extent)))
    for dimension, stride in enumerate(map_.strides_bytes):
        if isinstance(stride, Expr):
            tensormap_replace(descriptor, "global_stride", dimension, arith.index_cast(i64, pitch(stride)))


def _staging(op: ir.Operation) -> str:
    """A new 128-byte variable in the shared memory of the kernel's module."""
    module = enclosing(op, "gpu.module")
    assert module is not None, "kernels are in a gpu.module"
    block = module.regions[0].blocks[0]
    taken = {str(each.attributes["sym_name"]).strip('"') for each in block.operations if "sym_name" in each.attributes}
    name = next(f"{_STAGING}{i}" for i in range(len(taken) + 1) if f"{_STAGING}{i}" not in taken)
    text = (
        f'memref.global "private" @{name} : memref<{DESCRIPTOR_BYTES}xi8, #gpu.address_space<workgroup>> '
        f"{{alignment = {DESCRIPTOR_BYTES} : i64}}"
    )
    with op.context:
        ir.InsertionPoint.at_block_begin(block).insert(ir.Operation.parse(text))
    return name
