"""Reads ``KernelSignature`` off a lowered kernel's attributes."""

from __future__ import annotations

from ..abi.elements import element_type
from ..abi.passing import by_value
from ..abi.signature import (
    ALIGNMENTS,
    ARGUMENTS,
    BARE_POINTERS,
    DESCRIPTORS,
    Argument,
    KernelSignature,
    MemRefArgument,
    TensorMapArgument,
)
from ..abi.symbols import for_argument
from ..bindings import ir
from ..dialect.memrefs import read_memref
from ..dialect.plan_attr import read_tensor_map


def read_signature(function: ir.Operation) -> KernelSignature:
    """The signature of an ``llvm.func`` (or ``gpu.func``) that ``tile-descriptor-args`` has seen."""
    attributes = function.attributes
    types = [ir.TypeAttr(each).value for each in ir.ArrayAttr(attributes[ARGUMENTS])]
    alignments = list(ir.DenseI64ArrayAttr(attributes[ALIGNMENTS])) if ALIGNMENTS in attributes else [1] * len(types)
    return KernelSignature(
        name=ir.StringAttr(attributes["sym_name"]).value,
        tensor_maps=tuple(_tensor_map(each) for each in ir.ArrayAttr(attributes[DESCRIPTORS])),
        arguments=tuple(map(_argument, types, alignments)),
        bare_pointers=ir.BoolAttr(attributes[BARE_POINTERS]).value if BARE_POINTERS in attributes else True,
        grid=_triple(attributes, "gpu.known_grid_size", "known_grid_size"),
        block=_triple(attributes, "gpu.known_block_size", "known_block_size"),
        cluster=_triple(attributes, "nvvm.cluster_dim", "known_cluster_size"),
        dynamic_shared_bytes=_number(attributes, "tile.dynamic_shared_bytes"),
    )


def _triple(attributes: ir.OpAttributeMap, *names: str) -> tuple[int, int, int] | None:
    for name in names:
        if name in attributes:
            x, y, z = [*ir.DenseI32ArrayAttr(attributes[name]), 1, 1][:3]
            return x, y, z
    return None


def _number(attributes: ir.OpAttributeMap, name: str) -> int:
    return ir.IntegerAttr(attributes[name]).value if name in attributes else 0


def _argument(type_: ir.Type, alignment: int) -> Argument:
    """``tile-check-kernels`` has refused the types that this cannot read."""
    memref = read_memref(type_)
    if memref is None:
        return by_value(str(type_))
    return MemRefArgument(element_type(memref.element), memref.shape, memref.strides, memref.offset, alignment)


def _tensor_map(attribute: ir.Attribute) -> TensorMapArgument:
    return for_argument(read_tensor_map(attribute))
