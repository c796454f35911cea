"""Attributes that passes of this package write and read again, checked where they may come from an editor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..abi.elements import element_type
from ..abi.passing import by_value
from ..abi.signature import ALIGNMENTS, ARGUMENTS, BARE_POINTERS, DESCRIPTORS, MAY_STORE_NOTHING
from ..bindings import ir
from ..codec import DataError
from ..dialect.attributes import LayoutAttr
from ..dialect.memrefs import read_memref
from ..dialect.plan_attr import read_tensor_map
from ..dialect.tile import CopyAsyncOp, CreateDescriptorOp
from ..errors import TileError
from ..hardware import MAX_RANK
from .dynamic_shared import SHARED_BYTES

_REMEDY = "Run the passes that write it again"


def own_attribute_errors(op: ir.Operation) -> Iterator[TileError]:
    """What is wrong with the attributes of ``op`` that belong to this package."""
    if op.name == CreateDescriptorOp.OPERATION_NAME:
        problem = _tensor_map_problem(op.attributes["map"])
        if problem:
            yield TileError(op.location, f"'{op.name}' op has an attribute 'map' that is wrong: {problem}. {_REMEDY}")
        return
    if op.name == CopyAsyncOp.OPERATION_NAME:
        for name in ("source_layout", "destination_layout"):
            if name in op.attributes and str(op.attributes[name]).startswith("#tile.layout<"):
                try:
                    LayoutAttr(op.attributes[name])
                except ValueError as error:
                    message = f"'{op.name}' op has an attribute '{name}' that is wrong: {error}. Write #tile.layout<"
                    yield TileError(op.location, f"{message}[extents], [strides]>")
        return
    if op.name not in ("gpu.func", "llvm.func"):
        return
    for name, check in _CHECKS.items():
        if name in op.attributes:
            problem = check(op, op.attributes[name])
            if problem:
                message = f"'{op.name}' op has an attribute '{name}' that is wrong: {problem}. {_REMEDY}"
                yield TileError(op.location, message)
                return  # the others are read with this one


def _arguments(op: ir.Operation, attribute: ir.Attribute) -> str | None:
    """An array of types, each of something that a kernel can take."""
    if not isinstance(attribute, ir.ArrayAttr):
        return f"needed: an array of types, found {attribute}"
    for position, each in enumerate(attribute):
        if not isinstance(each, ir.TypeAttr):
            return f"entry {position}: needed: a type, found {each}"
        try:
            memref = read_memref(each.value)
            if memref is None:
                by_value(str(each.value))
            else:
                element_type(memref.element)
        except ValueError as error:
            return f"entry {position}: {error}"
    return None


def _descriptors(op: ir.Operation, attribute: ir.Attribute) -> str | None:
    """An array of descriptors on memrefs among the arguments."""
    if not isinstance(attribute, ir.ArrayAttr):
        return f"needed: an array of #tile.tensor_map, found {attribute}"
    if ARGUMENTS not in op.attributes:
        return f"there is no '{ARGUMENTS}' beside it"
    types = [each.value for each in ir.ArrayAttr(op.attributes[ARGUMENTS])]
    for position, each in enumerate(attribute):
        problem = _tensor_map_problem(each)
        if problem:
            return f"entry {position}: {problem}"
        argument = read_tensor_map(each).argument
        if not 0 <= argument < len(types) or read_memref(types[argument]) is None:
            return f"entry {position}: argument {argument} is not a memref of the kernel"
    return None


def _tensor_map_problem(attribute: ir.Attribute) -> str | None:
    if not str(attribute).startswith("#tile.tensor_map<"):
        return f"needed: #tile.tensor_map, found {attribute}"
    try:
        map_ = read_tensor_map(attribute).tensor_map
    except (DataError, ValueError, TypeError) as error:
        return str(error)
    rank = len(map_.dims)
    if not 1 <= rank <= MAX_RANK:
        return f"{rank} dims; needed: 1 to {MAX_RANK}"
    for name, found, needed in (
        ("strides_bytes", map_.strides_bytes, rank - 1),
        ("box", map_.box, rank),
        ("element_strides", map_.element_strides, rank),
    ):
        if len(found) != needed and not (name == "box" and map_.im2col is not None):
            return f"{len(found)} {name} beside {rank} dims; needed: {needed}"
    return None


def _alignments(op: ir.Operation, attribute: ir.Attribute) -> str | None:
    """A power of two for each argument."""
    if not isinstance(attribute, ir.DenseI64ArrayAttr):
        return f"needed: array<i64: ...>, found {attribute}"
    wrong = [each for each in attribute if each < 1 or each & (each - 1)]
    if wrong:
        return f"needed: powers of two, found {wrong[0]}"
    count = len(ir.ArrayAttr(op.attributes[ARGUMENTS])) if ARGUMENTS in op.attributes else len(attribute)
    return (
        None if count == len(attribute) else f"needed: {count} numbers, one for each argument; found {len(attribute)}"
    )


def _flag(op: ir.Operation, attribute: ir.Attribute) -> str | None:
    return None if isinstance(attribute, ir.BoolAttr) else f"needed: true or false, found {attribute}"


def _unit(op: ir.Operation, attribute: ir.Attribute) -> str | None:
    return None if isinstance(attribute, ir.UnitAttr) else f"needed: no value, found {attribute}"


def _bytes(op: ir.Operation, attribute: ir.Attribute) -> str | None:
    if isinstance(attribute, ir.IntegerAttr) and 0 <= attribute.value < 2**31:
        return None
    return f"needed: a number of bytes, found {attribute}"


_CHECKS: dict[str, Callable[[ir.Operation, ir.Attribute], str | None]] = {
    ARGUMENTS: _arguments,
    DESCRIPTORS: _descriptors,
    BARE_POINTERS: _flag,
    ALIGNMENTS: _alignments,
    MAY_STORE_NOTHING: _unit,
    SHARED_BYTES: _bytes,
}
"""In the order of what needs what."""
