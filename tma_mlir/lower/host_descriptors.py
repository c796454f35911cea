"""Descriptors made by host code in the same module: ``nvgpu.tma.create.descriptor`` in front of each launch.

Upstream's runtime wrapper for that operation takes the memref's aligned pointer and ignores its offset, knows few
element types, and only prints errors. So a tensor map that needs more than that is refused here, with the parameter
route as the remedy. The descriptor lies in global memory, so the kernel fences it before use.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..abi.signature import TensorMapArgument
from ..abi.tensor_maps import PITCH_BYTES
from ..analysis.host_launches import kernel_operands
from ..analysis.ir_access import attribute_names, function_inputs
from ..bindings import ir
from ..bindings.dialects import arith, builtin, memref
from ..dialect.plan_attr import read_tensor_map
from ..dialect.tile import CreateDescriptorOp
from ..dtypes import NVGPU_ENCODES
from ..errors import TileError
from ..layout.expr import Expr, exact_div, known_divisor
from ..plan.tensor_map import TensorMap
from . import nvgpu_ops as nvgpu
from .copy_context import plan_value
from .descriptors import nvgpu_says
from .index_builder import constant, materialize


def pass_from_host(
    function: ir.Operation, launches: Sequence[ir.Operation], descriptors: Sequence[CreateDescriptorOp]
) -> None:
    """Appends descriptor parameters to a kernel and creates what each launch passes for them."""
    maps = [(ir.BlockArgument(each.tensor).arg_number, each, read_tensor_map(each.map)) for each in descriptors]
    for _, each, recipe in maps:
        _check(each, recipe.tensor_map)
    for launch in launches:
        with launch.context, launch.location, ir.InsertionPoint(launch):
            _extend_launch(launch, [_create(launch, argument, each, recipe) for argument, each, recipe in maps])
    _extend_kernel(function, descriptors)


def _check(op: CreateDescriptorOp, map_: TensorMap) -> None:
    element = str(ir.MemRefType(op.tensor.type).element_type)
    problem = ""
    if not nvgpu_says(map_, element):
        problem = f"a {map_.data_type} tensor map with swizzle {map_.swizzle.label} on a memref of {element}"
    elif element not in NVGPU_ENCODES:
        problem = f"element type {element}, which nvgpu cannot encode"
    elif map_.base_offset_bytes != 0:
        problem = f"a base {map_.base_offset_bytes} bytes into the memref, which upstream's runtime ignores"
    if problem:
        raise TileError(
            op.operation.location,
            f"descriptor needs {problem}, and the module's host code launches the kernel. Launch it through "
            "tma_mlir.runtime, which passes descriptors as parameters, and drop the host function",
        )


def _create(launch: ir.Operation, argument: int, op: CreateDescriptorOp, recipe: TensorMapArgument) -> ir.Value:
    """The descriptor of ``recipe`` on the launch's operand, as the pointer the kernel takes."""
    tensor = kernel_operands(launch)[argument]
    view = _view(tensor, recipe)
    element = str(ir.MemRefType(tensor.type).element_type)
    unranked = memref.cast(ir.Type.parse(f"memref<*x{element}>"), view)
    box = [constant(each) for each in reversed(recipe.tensor_map.box)]
    descriptor = nvgpu.tma_create_descriptor(op.descriptor.type, unranked, box)
    return builtin.unrealized_conversion_cast([ir.Type.parse("!llvm.ptr")], [descriptor])


def _view(tensor: ir.Value, recipe: TensorMapArgument) -> ir.Value:
    """The tensor as the descriptor sees it: its dims and strides, in memref order."""
    map_, size = recipe.tensor_map, recipe.tensor_map.element_bytes
    whole = PITCH_BYTES // size if recipe.spare else 1
    shape = [_number(tensor, each) for each in reversed(map_.dims)]
    strides = [*(_rounded(_number(tensor, _elements(each, size)), whole) for each in reversed(map_.strides_bytes)), 1]
    dynamic = ir.ShapedType.get_dynamic_size()
    static_shape = [each if isinstance(each, int) else dynamic for each in shape]
    static_strides = [each if isinstance(each, int) else dynamic for each in strides]
    text = "x".join(str(each) if isinstance(each, int) else "?" for each in shape)
    stride_text = ", ".join(str(each) if isinstance(each, int) else "?" for each in strides)
    element = str(ir.MemRefType(tensor.type).element_type)
    return memref.ReinterpretCastOp(
        ir.Type.parse(f"memref<{text}x{element}, strided<[{stride_text}]>>"),
        tensor,
        [],
        [each for each in shape if not isinstance(each, int)],
        [each for each in strides if not isinstance(each, int)],
        [0],
        static_shape,
        static_strides,
    ).result


def _elements(stride_bytes: Expr | int, size: int) -> Expr | int:
    assert known_divisor(stride_bytes) % size == 0, "a stride is a whole number of the memref's elements"
    return exact_div(stride_bytes, size)


def _number(tensor: ir.Value, expr: Expr | int) -> int | ir.Value:
    value = plan_value(expr, {}, tensor)
    return value if isinstance(value, int) else materialize(value)


def _rounded(stride: int | ir.Value, whole: int) -> int | ir.Value:
    """Up to a multiple of ``whole``, as in ``abi.tensor_maps.evaluated``: the kernel does without such descriptors."""
    if isinstance(stride, int) or whole == 1:
        return stride
    return arith.muli(arith.ceildivui(stride, constant(whole)), constant(whole))


def _extend_launch(launch: ir.Operation, descriptors: Sequence[ir.Value]) -> None:
    """A copy of the launch with more kernel operands; the old one is erased."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    operands = list(launch.operands)
    end = sum(segments[:-1])
    operands[end:end] = descriptors
    segments[-2] += len(descriptors)
    attributes = {name: launch.attributes[name] for name in attribute_names(launch)}
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
    replacement = ir.Operation.create(
        launch.name, results=[each.type for each in launch.results], operands=operands, attributes=attributes
    )
    for old, new in zip(launch.results, replacement.results, strict=True):
        old.replace_all_uses_with(new)
    launch.erase()


def _extend_kernel(function: ir.Operation, descriptors: Sequence[CreateDescriptorOp]) -> None:
    """Pointer parameters after the user's, each fenced at the top of the kernel."""
    block = function.regions[0].blocks[0]
    inputs = function_inputs(function)
    pointer = ir.Type.parse("!llvm.ptr")
    attributions = list(block.arguments)[len(inputs) :]
    parameters = [block.add_argument(pointer, each.operation.location) for each in descriptors]
    # Attributions follow the parameters: append copies and erase the first set.
    for attribution in attributions:
        attribution.replace_all_uses_with(block.add_argument(attribution.type, function.location))
    count = len(attributions)
    del attributions
    with function.context, function.location, ir.InsertionPoint.at_block_begin(block):
        for descriptor, parameter in zip(descriptors, parameters, strict=True):
            value = builtin.unrealized_conversion_cast([descriptor.descriptor.type], [parameter])
            nvgpu.tma_fence_descriptor(value)
            descriptor.descriptor.replace_all_uses_with(value)
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([*inputs, *[pointer] * len(descriptors)], [])
        )
    for descriptor in descriptors:
        descriptor.operation.erase()
    for _ in range(count):
        block.erase_argument(len(inputs))
