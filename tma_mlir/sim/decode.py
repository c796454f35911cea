"""Lowered MLIR to plain data. The only file of the simulator that imports MLIR."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from ..abi.types import Type, parse_type
from ..bindings import ir
from ..bindings.builds import barrier_segments
from ..diagnostics import place_of
from .errors import SimulationError, UnsupportedError
from .program import Block, Function, Global, Instruction, Module

_SKIPPED = {"gpu.binary", "llvm.comdat", "llvm.module_flags", "llvm.linker_options"}


def decode_module(module: Any, kernel: str | None = None) -> Module:
    """The functions and globals of the GPU module that holds ``kernel`` (of the only one if None).

    ``module`` is an ``ir.Module`` (or operation), or the text of one.
    """
    if isinstance(module, str):
        with _context():
            try:
                return decode_module(ir.Module.parse(_readable(module)), kernel)
            except ir.MLIRError as error:
                raise SimulationError("invalid module", f"the module does not parse: {error}") from None
    top = module.operation if hasattr(module, "operation") else module
    holders = [op for op in _body(top) if op.operation.name == "gpu.module"] or [top]
    for holder in holders:
        names = [_name(op) for op in _body(holder) if op.operation.name == "llvm.func"]
        if kernel is None or kernel in names:
            return _decode_holder(holder)
    raise SimulationError("invalid module", f"no function @{kernel} in the GPU module; lowered to the LLVM dialect?")


@functools.cache
def _context() -> ir.Context:
    """The context texts are parsed in, made once: it costs as much as decoding a small kernel."""
    context = ir.Context()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = True
    return context


_NAMED_BARRIER = re.compile(r"nvvm\.barrier(?: id = (%\S+))?(?: number_of_threads = (%\S+))?(?=\s*(?:loc\(|\n))")


def _readable(text: str) -> str:
    """``text`` with ``nvvm.barrier`` in generic form: MLIR 22 does not parse what it prints for it."""

    def generic(match: re.Match[str]) -> str:
        operands = [value for value in match.groups() if value]
        groups = (*match.groups(), None)[: barrier_segments()]
        sizes = ", ".join(str(int(value is not None)) for value in groups)
        types = ", ".join("i32" for _ in operands)
        return (
            f'"nvvm.barrier"({", ".join(operands)}) <{{operandSegmentSizes = array<i32: {sizes}>}}> : ({types}) -> ()'
        )

    return _NAMED_BARRIER.sub(generic, text) if "nvvm.barrier" in text else text


def _body(op: Any) -> list[Any]:
    return list(op.operation.regions[0].blocks[0].operations)


def _name(op: Any) -> str:
    return op.operation.attributes["sym_name"].value


def _decode_holder(holder: Any) -> Module:
    result = Module()
    for op in _body(holder):
        name = op.operation.name
        if name == "llvm.func":
            function = _Decoder().function(op.operation)
            result.functions[function.name] = function
        elif name == "llvm.mlir.global":
            variable = _global(op.operation)
            result.globals[variable.name] = variable
        elif name not in _SKIPPED:
            raise UnsupportedError(f"{name} at module level", location_of(op.operation))
    return result


def location_of(op: Any) -> str:
    """``file:line:col`` of an operation, the innermost place of fused and call-site locations; empty if unknown."""
    place = place_of(op.location)
    return str(place) if place else ""


def _type(value: Any, place: str) -> Type:
    try:
        return parse_type(str(value))
    except ValueError as error:
        raise UnsupportedError(str(error), place) from None


def _global(op: Any) -> Global:
    place = location_of(op)
    attributes = dict(_attributes(op))
    element = _type(attributes["global_type"].value, place)
    linkage = str(attributes.get("linkage", ""))
    initial = None
    if "value" in attributes:
        value = attribute_value(attributes["value"])
        if isinstance(value, np.ndarray):
            initial = np.ascontiguousarray(value).tobytes()
        elif isinstance(value, str):
            initial = value.encode("latin-1")
        elif isinstance(value, int | float) and element.dtype is not None:
            initial = np.array(value).astype(element.dtype).tobytes()
        if initial is not None and len(initial) < element.size:
            initial = initial * (element.size // max(1, len(initial)))
    return Global(
        name=attributes["sym_name"].value,
        type=element,
        space=attributes["addr_space"].value if "addr_space" in attributes else 0,
        alignment=attributes["alignment"].value if "alignment" in attributes else element.align,
        external="external" in linkage,
        value=initial,
        location=place,
    )


def attribute_value(attribute: Any) -> Any:
    """A Python value for an attribute: int, float, bool, str, list, dict or array; its text if it is none of these."""
    for kind, convert in _CONVERTERS:
        if isinstance(attribute, kind):
            return convert(attribute)
    return str(attribute)


def _integer(attribute: Any) -> int:
    value = attribute.value
    return bool(value) if str(attribute.type) == "i1" else value


def _dense(attribute: Any) -> Any:
    try:
        return np.array(attribute)
    except (TypeError, ValueError, RuntimeError):
        element = str(attribute.type)
        if "bf16" in element or "f8" in element:
            return _dense_by_text(attribute)
        return np.array([attribute_value(item) for item in attribute])


def _dense_by_text(attribute: Any) -> np.ndarray:
    """Dense floats that the bindings cannot hand to NumPy, through their text."""
    match = re.fullmatch(r"dense<(.*)>\s*:\s*(.*)", str(attribute), re.S)
    kind = parse_type(str(attribute.type.element_type))
    if match is None or kind.dtype is None:
        raise UnsupportedError(f"constant {attribute}")
    shape = tuple(attribute.type.shape)
    if match[1].lstrip().startswith("["):
        numbers = [float(x) for x in re.findall(r"[-+0-9.eE]+|nan|inf", match[1])]
        return np.array(numbers).astype(kind.dtype).reshape(shape)
    return np.full(shape, float(match[1])).astype(kind.dtype)


_CONVERTERS: list[tuple[Any, Any]] = [
    (ir.BoolAttr, lambda a: bool(a.value)),
    (ir.IntegerAttr, _integer),
    (ir.FloatAttr, lambda a: a.value),
    (ir.StringAttr, lambda a: a.value),
    (ir.FlatSymbolRefAttr, lambda a: a.value),
    (ir.TypeAttr, lambda a: str(a.value)),
    (ir.UnitAttr, lambda a: True),
    (ir.ArrayAttr, lambda a: [attribute_value(x) for x in a]),
    (ir.DictAttr, lambda a: {named.name: attribute_value(named.attr) for named in a}),
    (ir.DenseBoolArrayAttr, list),
    (ir.DenseI8ArrayAttr, list),
    (ir.DenseI16ArrayAttr, list),
    (ir.DenseI32ArrayAttr, list),
    (ir.DenseI64ArrayAttr, list),
    (ir.DenseIntElementsAttr, _dense),
    (ir.DenseFPElementsAttr, _dense),
]


class _Decoder:
    """Numbers the values and blocks of one function."""

    def __init__(self) -> None:
        self.types: list[Type] = []
        self.numbers: dict[Any, int] = {}

    def define(self, value: Any, place: str) -> int:
        number = len(self.types)
        self.numbers[value] = number
        self.types.append(_type(value.type, place))
        return number

    def function(self, op: Any) -> Function:
        place = location_of(op)
        attributes = {name: attribute_value(attr) for name, attr in _attributes(op) if name != "function_type"}
        signature = str(op.attributes["function_type"].value)
        blocks = list(op.regions[0].blocks)
        indices = {block: i for i, block in enumerate(blocks)}
        arguments = [tuple(self.define(v, place) for v in block.arguments) for block in blocks]
        pending = []
        for block in blocks:
            operations = list(block.operations)
            pending.append(operations)
            for item in operations:
                where = location_of(item.operation)
                for value in item.operation.results:
                    self.define(value, where)
        decoded = []
        for block, operations, names in zip(blocks, pending, arguments, strict=True):
            del block
            decoded.append(Block(names, [self.instruction(item.operation, indices) for item in operations]))
        name = attributes.pop("sym_name")
        attributes["function_type"] = signature
        first = tuple(self.types[v] for v in arguments[0]) if arguments else ()
        return Function(name, decoded, self.types, attributes, first, place)

    def instruction(self, op: Any, blocks: dict[Any, int]) -> Instruction:
        attributes = {name: attribute_value(attr) for name, attr in _attributes(op)}
        operands = [self.numbers[v] for v in op.operands]
        successors: list[tuple[int, tuple[int, ...]]] = []
        targets = [blocks[block] for block in op.successors]
        if targets:
            operands, per_target = _split_successors(op.name, operands, attributes, len(targets))
            successors = list(zip(targets, per_target, strict=True))
        return Instruction(
            op.name,
            tuple(operands),
            tuple(self.numbers[v] for v in op.results),
            attributes,
            location_of(op),
            tuple(successors),
        )


def _attributes(op: Any) -> list[tuple[str, Any]]:
    return [(name, op.attributes[name]) for name in op.attributes]


def _split_successors(
    name: str, operands: list[int], attributes: dict[str, Any], count: int
) -> tuple[list[int], list[tuple[int, ...]]]:
    """A terminator's operands, apart from those it forwards to each successor."""
    if name == "llvm.br":
        return [], [tuple(operands)]
    if name == "llvm.cond_br":
        sizes = attributes["operandSegmentSizes"]
        first, second = 1 + sizes[1], 1 + sizes[1] + sizes[2]
        return operands[:1], [tuple(operands[1:first]), tuple(operands[first:second])]
    if name == "llvm.switch":
        sizes = attributes["operandSegmentSizes"]
        at = 1 + sizes[1]
        forwarded = [tuple(operands[1:at])]
        for size in attributes.get("case_operand_segments", [0] * (count - 1)):
            forwarded.append(tuple(operands[at : at + size]))
            at += size
        return operands[:1], forwarded
    raise UnsupportedError(f"terminator {name}")
