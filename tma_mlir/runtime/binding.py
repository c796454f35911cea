"""User arguments against a signature: checks, symbol values, and the numbers the kernel's parameters get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compile.signature import KernelSignature, MemRefArgument, ScalarArgument
from ..dtypes import DType
from . import scalars
from .arrays import ArrayView, is_array, view
from .errors import ArgumentTypeError

Value = ArrayView | bytes
"""A user argument after conversion: the memory of a tensor, or the bytes of a scalar."""


def describe(argument: MemRefArgument | ScalarArgument) -> str:
    """``8x256xf16, strides [256, 1]``, or ``i32`` for a scalar."""
    if isinstance(argument, ScalarArgument):
        return str(argument.dtype)
    shape = "x".join(_number(extent) for extent in argument.shape)
    text = f"{shape}x{argument.dtype}" if shape else f"{argument.dtype} (rank 0)"
    return f"{text}, strides [{', '.join(map(_number, argument.strides))}]" if shape else text


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


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


def memref_problems(argument: MemRefArgument, array: ArrayView) -> list[str]:
    """What keeps ``array`` from being passed as ``argument``, each with the value and the remedy."""
    if argument.dtype.packed:
        return [
            f"packed elements ({argument.dtype}), which the launcher does not pass: what the driver makes of them was "
            "not measured. Copy the bytes as i8, or launch the cubin yourself"
        ]
    problems = []
    if not accepts(argument.dtype, array):
        problems.append(
            f"elements are {array.dtype_name}, needed: {argument.dtype} ({argument.dtype.numpy}). Convert the array, "
            "or compile the kernel for its type"
        )
    if len(array.shape) != len(argument.shape):
        problems.append(
            f"rank {len(array.shape)} (shape {list(array.shape)}), needed: rank {len(argument.shape)} "
            f"({describe(argument)}). Reshape the array"
        )
        return problems
    for d, (found, needed) in enumerate(zip(array.shape, argument.shape, strict=True)):
        if needed is not None and found != needed:
            problems.append(f"dimension {d} has {found} elements, needed: {needed} ({describe(argument)})")
    for d, (found, needed) in enumerate(zip(array.strides, argument.strides, strict=True)):
        # Where no element follows another, frameworks report any stride.
        if needed is not None and found != needed and array.shape[d] > 1 and 0 not in array.shape:
            problems.append(
                f"dimension {d} has stride {found} elements, needed: {needed} ({describe(argument)}). Make the array "
                "contiguous, or compile the kernel for this stride"
            )
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


def pointer_of(argument: MemRefArgument, array: ArrayView) -> int:
    """Address of element 0 of the memref's allocation: the array is the memref, so its offset lies before it."""
    return array.pointer - (argument.offset or 0) * argument.dtype.bytes


def symbol_values(signature: KernelSignature, values: Sequence[Value]) -> dict[str, int]:
    """Values of ``arg<i>.dim<d>``, ``arg<i>.stride<d>``, ``arg<i>.offset`` in elements, and of scalars ``arg<i>``."""
    symbols: dict[str, int] = {}
    for index, (argument, value) in enumerate(zip(signature.arguments, values, strict=True)):
        if isinstance(value, bytes):
            if not argument.dtype.is_float:
                symbols[f"arg{index}"] = int.from_bytes(value, "little", signed=argument.dtype.name[0] != "u")
            continue
        assert isinstance(argument, MemRefArgument)
        for d, (extent, stride) in enumerate(strided(argument, value)):
            symbols[f"arg{index}.dim{d}"] = extent
            symbols[f"arg{index}.stride{d}"] = stride
        symbols[f"arg{index}.offset"] = argument.offset or 0
    return symbols


def strided(argument: MemRefArgument, array: ArrayView) -> list[tuple[int, int]]:
    """(extent, stride in elements) of each dimension, the signature's stride where it is static."""
    return [
        (extent, found if needed is None else needed)
        for extent, found, needed in zip(array.shape, array.strides, argument.strides, strict=True)
    ]


def parameter_words(argument: MemRefArgument, array: ArrayView, bare: bool) -> list[int]:
    """The 64-bit kernel parameters a tensor becomes (see ``KernelSignature``)."""
    pointer = pointer_of(argument, array)
    if bare:
        return [pointer]
    dims = strided(argument, array)
    return [pointer, pointer, argument.offset or 0, *(extent for extent, _ in dims), *(stride for _, stride in dims)]
