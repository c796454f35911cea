"""``tile-descriptor-args``: descriptors become kernel parameters, first in the list, with a recipe for the host.

The recipe is attributes of the kernel that survive lowering: ``tile.arguments`` (the types of the user's arguments),
``tile.descriptors`` (one ``#tile.tensor_map`` per descriptor parameter) and ``tile.dynamic_shared_bytes``.
``compile.signature_reader`` reads them.

A kernel that host code in the module launches gets its descriptors from there instead, see ``lower.host_descriptors``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..abi.signature import ARGUMENTS, DESCRIPTORS
from ..analysis.dynamic_shared import SHARED_BYTES, dynamic_shared_bytes
from ..analysis.host_launches import launches_by_kernel
from ..analysis.ir_access import collect, function_inputs, is_kernel
from ..bindings import ir
from ..bindings.dialects import builtin
from ..dialect.tile import CreateDescriptorOp
from ..errors import TileError
from ..lower.host_descriptors import pass_from_host
from .registry import Pass


def run(op: ir.Operation, options: Mapping[str, Any]) -> None:
    launches = launches_by_kernel(op)
    for function in collect(op, ("gpu.func",)):
        if not is_kernel(function) or ARGUMENTS in function.attributes:
            continue
        descriptors = [each.opview for each in collect(function, (CreateDescriptorOp.OPERATION_NAME,))]
        with function.context, function.location:
            _size_dynamic_shared_memory(function)
            if function in launches and descriptors:
                pass_from_host(function, launches[function], descriptors)
            else:
                _rewrite(function, descriptors)


def _size_dynamic_shared_memory(function: ir.Operation) -> None:
    if SHARED_BYTES in function.attributes:
        return
    size = dynamic_shared_bytes(function)
    if size is None:
        raise TileError(
            function.location,
            "kernel uses dynamic shared memory through a memref.view whose end is not known at compile time. Say its "
            f"size with the attribute {SHARED_BYTES} = N : i64 on the gpu.func",
        )
    if size:
        function.attributes[SHARED_BYTES] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)


def _rewrite(function: ir.Operation, descriptors: list[CreateDescriptorOp]) -> None:
    block = function.regions[0].blocks[0]
    inputs = function_inputs(function)
    attributes = function.attributes
    attributes[ARGUMENTS] = ir.ArrayAttr.get([ir.TypeAttr.get(each) for each in inputs])
    attributes[DESCRIPTORS] = ir.ArrayAttr.get([each.map for each in descriptors])
    if not descriptors:
        return
    pointer = ir.Type.parse("!llvm.ptr")
    old = list(block.arguments)
    # Arguments can only be appended: append descriptors and a second set of the old ones, then erase the first set.
    parameters = [block.add_argument(pointer, each.operation.location) for each in descriptors]
    for argument in old:
        argument.replace_all_uses_with(block.add_argument(argument.type, function.location))
    del argument
    with ir.InsertionPoint.at_block_begin(block):
        for descriptor, parameter in zip(descriptors, parameters, strict=True):
            value = builtin.unrealized_conversion_cast([descriptor.descriptor.type], [parameter])
            descriptor.descriptor.replace_all_uses_with(value)
    for descriptor in descriptors:
        descriptor.operation.erase()
    for _ in range(len(old)):
        block.erase_argument(0)
    attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([pointer] * len(descriptors) + inputs, []))
    if "arg_attrs" in attributes:
        empty = [ir.DictAttr.get({})] * len(descriptors)
        attributes["arg_attrs"] = ir.ArrayAttr.get([*empty, *ir.ArrayAttr(attributes["arg_attrs"])])


PASS = Pass("tile-descriptor-args", "Turn descriptors into byval kernel parameters with a recipe for the host.", run)
