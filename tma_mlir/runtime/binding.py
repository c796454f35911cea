"""User arguments against a signature: read, checked, and turned into what can be passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..abi import scalars
from ..abi import values as by_value
from ..abi.arguments import describe, shape_problems
from ..abi.parameters import ADDRESS
from ..abi.signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from ..dtypes import DType
from .arrays import ArrayView, is_array, view
from .errors import ArgumentTypeError

Value = ArrayView | bytes
"""A user argument after conversion: the memory of an array, or the bytes of what goes by value."""


def convert(signature: KernelSignature, arguments: Sequence[Any], stream: int = 0) -> list[Value]:
    """Reads all arguments and checks them; raises ``ArgumentTypeError`` with every problem at once."""
    wanted = signature.arguments
    if len(arguments) != len(wanted):
        listing = "; ".join(f"{i}: {describe(argument)}" for i, argument in enumerate(wanted)) or "none"
        raise ArgumentTypeError(
            signature.name, [f"{len(arguments)} arguments given, needed: {len(wanted)} ({listing}). "
                             "Tensor maps are made by the runtime and not passed"]
        )  # fmt: skip
    values: list[Value] = []
    problems: list[str] = []
    for index, (argument, given) in enumerate(zip(wanted, arguments, strict=True)):
        try:
            if isinstance(argument, ScalarArgument):
                if is_array(given):
                    raise TypeError(f"an array is given, needed: a number of type {argument.dtype}. Pass array.item()")
                values.append(scalars.to_bytes(given, argument.dtype))
            elif isinstance(argument, ValueArgument):
                if is_array(given) and not isinstance(given, np.ndarray):
                    raise TypeError(f"an array is given, needed: a value of type {argument.text}. Pass array.tolist()")
                values.append(by_value.to_bytes(given, argument.layout))
            elif isinstance(argument, PointerArgument):
                values.append(_memory(given, stream))
            else:
                if not is_array(given):
                    raise TypeError(f"{type(given).__qualname__} is given, needed: an array of {describe(argument)}")
                array = view(given, stream)
                problems += [f"argument {index}: {text}" for text in memref_problems(argument, array)]
                values.append(array)
        except (TypeError, BufferError) as error:
            problems.append(f"argument {index}: {error}")
    if problems:
        raise ArgumentTypeError(signature.name, problems)
    return values


def _memory(given: Any, stream: int) -> Value:
    """What a pointer points to: an array, or an address as a number."""
    if not is_array(given):
        if not hasattr(given, "__index__"):
            raise TypeError(
                f"{type(given).__qualname__} is given, needed: an address. Pass an array, for the address of its first "
                "element, or an int"
            )
        return scalars.to_bytes(given, ADDRESS)
    array = view(given, stream)
    if any(stride < 0 for stride in array.strides):
        raise TypeError(f"negative strides {list(array.strides)}. Copy the array")
    return array


def memref_problems(argument: MemRefArgument, array: ArrayView) -> list[str]:
    """What keeps ``array`` from being passed as ``argument``, each with the value and the remedy."""
    problems = []
    if not accepts(argument.dtype, array):
        problems.append(
            f"elements are {array.dtype_name}, needed: {argument.dtype} ({argument.dtype.numpy}). Convert the array, "
            "or compile the kernel for its type"
        )
    problems += shape_problems(argument, array.shape, array.strides)
    if len(array.shape) != len(argument.shape):
        return problems
    if any(stride < 0 for stride in array.strides):
        problems.append(f"negative strides {list(array.strides)}. Copy the array")
    if array.pointer == 0 and 0 not in array.shape:
        problems.append("a null pointer. The array was freed, or is empty")
    if array.itemsize and array.pointer % array.itemsize:
        problems.append(f"address {array.pointer:#x} is not a multiple of the element size {array.itemsize} B")
    return problems


def accepts(dtype: DType, array: ArrayView) -> bool:
    """Whether elements of ``array`` are ``dtype``: signless ``iN`` takes both signs, unnamed elements match by size."""
    if array.dtype is None:
        return array.itemsize == dtype.bytes
    if array.dtype == dtype.numpy:
        return True
    if dtype.name == "i1":
        return array.dtype.kind in "iu" and array.itemsize == 1
    return dtype.name.startswith("i") and array.dtype.kind == "u" and array.itemsize == dtype.bytes
