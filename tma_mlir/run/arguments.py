"""Kernel arguments from the command line: files, generated arrays, numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..abi import scalars
from ..abi import values as by_value
from ..abi.arguments import describe, shape_problems
from ..abi.parameters import offset_of
from ..abi.signature import Argument, KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from ..abi.values import leaves, nested
from ..dtypes import DTYPES, DType
from .array_files import check_memory, load_array, part_of, typed
from .array_spec import KINDS, ArgumentError, ArraySpec, read_spec

Value = np.ndarray | int | float | tuple[Any, ...]
"""An argument: numbers of a vector or struct are tuples."""

MOST_DIMENSIONS = 32
"""Of an array, in every version of NumPy."""

GAP = 0xA5
"""Byte between the elements of arrays with gaps."""


def make_arguments(signature: KernelSignature, given: Mapping[int, str]) -> list[Value]:
    """One value for each kernel argument: ``given`` by position, for the others random bytes seeded by the position.

    Arrays are writable, with the strides the kernel's memref has. Raises ``ArgumentError``.
    """
    unknown = sorted(set(given) - set(range(len(signature.arguments))))
    if unknown:
        raise ArgumentError(
            f"--arg {unknown[0]}: kernel @{signature.name} takes {len(signature.arguments)} arguments, numbered from 0"
        )
    return [_made(index, argument, given.get(index)) for index, argument in enumerate(signature.arguments)]


def _made(index: int, argument: Argument, text: str | None) -> Value:
    if isinstance(argument, ScalarArgument):
        return _scalar(index, argument, text)
    if isinstance(argument, ValueArgument):
        return _value(index, argument, text)
    try:
        if isinstance(argument, PointerArgument):
            return _memory(index, text)
        return _array(index, argument, text or f"random:{index}")
    except (MemoryError, OverflowError) as error:
        raise ArgumentError(f"--arg {index}={text}: the array does not fit into memory: {error}") from None


def _scalar(index: int, argument: ScalarArgument, text: str | None) -> int | float:
    if text is None:
        raise ArgumentError(f"argument {index} is a number of type {argument.dtype}: give it with --arg {index}=VALUE")
    example = "it as 2.5, 1e-3, inf or nan" if argument.dtype.is_float else "it as 7, -7 or 0x1f"
    if argument.dtype.name == "i1":
        example = "0, 1, false or true"
    wanted = f"argument {index} is a number of type {argument.dtype}; write {example}"
    try:
        value = _number(text, argument.dtype)
    except OverflowError as error:
        raise ArgumentError(f"--arg {index}={text}: {error}") from None
    except ValueError:
        raise ArgumentError(f"--arg {index}={text}: {wanted}") from None
    return _fitting(index, text, value, lambda: scalars.to_bytes(value, argument.dtype))


def _number(text: str, dtype: DType) -> int | float:
    """Raises ``ValueError`` for what is not a number, ``OverflowError`` for one that Python's float does not reach."""
    if not text.isascii():
        raise ValueError
    if dtype.name == "i1" and text in ("true", "false"):
        return int(text == "true")
    if not dtype.is_float:
        return int(text, 0)
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise OverflowError(f"{text} does not fit {dtype}. Write inf for infinity")
    return value


def _fitting(index: int, text: str, value: Any, convert: Callable[[], bytes]) -> Any:
    """``value`` if it can be passed, which ``convert`` finds out."""
    try:
        convert()
    except TypeError as error:
        raise ArgumentError(f"--arg {index}={text}: {error}") from None
    return value


def _value(index: int, argument: ValueArgument, text: str | None) -> Any:
    kinds = list(leaves(argument.layout))
    listing = ", ".join(str(kind) for kind in kinds[:4]) + (", ..." if len(kinds) > 4 else "")
    wanted = f"argument {index} is {argument.text}, {len(kinds)} numbers ({listing})"
    example = ",".join(map(str, range(1, min(len(kinds), 4) + 1))) + (",..." if len(kinds) > 4 else "")
    if text is None:
        raise ArgumentError(f"{wanted}: give them in order, as in --arg {index}={example}")
    parts = text.split(",")
    try:
        if len(parts) != len(kinds):
            raise ValueError
        numbers = [_number(part, kind) for part, kind in zip(parts, kinds, strict=True)]
    except OverflowError as error:
        raise ArgumentError(f"--arg {index}={text}: {error}") from None
    except ValueError:
        raise ArgumentError(f"--arg {index}={text}: {wanted}; write them in order, as in {example}") from None
    value = nested(iter(numbers), argument.layout)
    return _fitting(index, text, value, lambda: by_value.to_bytes(value, argument.layout))


def _memory(index: int, text: str | None) -> np.ndarray | int:
    """What a pointer points to."""
    example = f"--arg {index}=zeros@1024xf32, or --arg {index}=FILE.npy"
    if text is None:
        raise ArgumentError(f"argument {index} is a pointer: say what it points to, as in {example}")
    if text == "0":
        return 0
    spec = read_spec(f"--arg {index}", text, ())
    if spec.window is not None:
        raise ArgumentError(
            f"--arg {index}={text}: argument {index} is a pointer, which points to all of a file. Save the part by "
            "itself"
        )
    if spec.file:
        return load_array(f"--arg {index}", spec).copy()
    extents, _, name = spec.shape.rpartition("x")
    try:
        shape = tuple(int(extent) for extent in extents.split("x"))
        dtype = DTYPES[name]
        if min(shape) < 0:
            raise ValueError
    except (ValueError, KeyError):
        raise ArgumentError(f"--arg {index}={text}: argument {index} is a pointer: write {example}") from None
    return _generated(index, spec, dtype, shape)


def _array(index: int, argument: MemRefArgument, text: str) -> np.ndarray:
    spec = read_spec(f"--arg {index}", text, ("pitch",))
    pitch = _pitch(index, spec)
    if not spec.file:
        shape = _shape(index, argument, spec.shape)
        return in_memory(index, argument, _generated(index, spec, argument.dtype, shape), pitch)
    array = load_array(f"--arg {index}", spec)
    array = typed(f"--arg {index}", spec, array, index, argument.dtype)
    if spec.window is None:
        _check_shape(index, spec, argument, array.shape)
        return in_memory(index, argument, array, pitch)
    return _window(index, argument, spec, array, pitch)


def _window(index: int, argument: MemRefArgument, spec: ArraySpec, array: np.ndarray, pitch: int | None) -> np.ndarray:
    """A part of a file's array, in the memory of all of it."""
    rank = array.ndim
    whole = MemRefArgument(argument.dtype, (None,) * rank, (None,) * rank, argument.offset)
    part = part_of(f"--arg {index}", spec, in_memory(index, whole, array, pitch))
    _check_shape(index, spec, argument, part.shape)
    strides = [stride // part.itemsize for stride in part.strides]
    if problems := shape_problems(argument, part.shape, strides):
        raise ArgumentError(f"--arg {index}={spec.text}: {'; '.join(problems)}")
    return part


def _generated(index: int, spec: ArraySpec, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    count = math.prod(shape)
    if count * dtype.numpy.itemsize >> 63 or len(shape) > MOST_DIMENSIONS:
        raise ArgumentError(f"--arg {index}={spec.text}: there is no array of shape {list(shape)}. Write a smaller one")
    check_memory(f"--arg {index}", spec, count, dtype.numpy.itemsize)
    name, _, seed = spec.kind.partition(":")
    if name == "zeros":
        flat = np.zeros(count, dtype.numpy)
    elif name == "iota":
        flat = np.arange(count).astype(dtype.numpy)
    elif name in ("random", "small"):
        try:
            generator = np.random.default_rng(int(seed or 0))
        except ValueError:
            raise ArgumentError(f"--arg {index}={spec.text}: {seed!r} is not a seed; write {name}:7") from None
        make = _random if name == "random" else _small
        flat = make(generator, count, dtype.numpy)
    else:
        raise ArgumentError(f"--arg {index}={spec.text}: {name!r} is not a kind of array. Use {KINDS}")
    return flat.reshape(shape)


def _pitch(index: int, spec: ArraySpec) -> int | None:
    text = spec.options.get("pitch")
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentError(
            f"--arg {index}={spec.text}: pitch is {text!r}, needed: bytes from row to row, as pitch=784"
        )
    return int(text)


def _random(generator: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Every byte pattern can occur, except in booleans."""
    if dtype == np.bool_:
        return generator.integers(0, 2, count).astype(np.bool_)
    return generator.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)


def _small(generator: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Integers from -4 to 4 (0 to 8 where there is no sign): sums of their products are exact in any order."""
    low = 0 if dtype.kind in "ub" else -4
    return generator.integers(low, low + 9, count).astype(dtype)


def _check_shape(index: int, spec: ArraySpec, argument: MemRefArgument, shape: tuple[int, ...]) -> None:
    fits = len(shape) == len(argument.shape) and all(
        expected in (None, actual) for expected, actual in zip(argument.shape, shape, strict=True)
    )
    if not fits:
        raise ArgumentError(
            f"--arg {index}={spec.text}: has shape {list(shape)}, argument {index} is {_memref_shape(argument.shape)}"
        )


def _shape(index: int, argument: MemRefArgument, text: str) -> tuple[int, ...]:
    if not text:
        if None in argument.shape:
            raise ArgumentError(
                f"argument {index} is {_memref_shape(argument.shape)}: give its shape, for example "
                f"--arg {index}=random:1@{'x'.join(str(extent or 64) for extent in argument.shape)}"
            )
        return tuple(extent for extent in argument.shape if extent is not None)
    try:
        shape = tuple(int(part) for part in text.split("x"))
    except ValueError:
        raise ArgumentError(f"--arg {index}=...@{text}: write a shape as 64x128") from None
    fits = len(shape) == len(argument.shape) and all(
        expected in (None, actual) for expected, actual in zip(argument.shape, shape, strict=True)
    )
    if not fits or min(shape, default=1) < 0:
        raise ArgumentError(f"--arg {index}=...@{text}: argument {index} is {_memref_shape(argument.shape)}")
    return shape


def _memref_shape(shape: Sequence[int | None]) -> str:
    return "x".join("?" if extent is None else str(extent) for extent in shape)


def in_memory(index: int, argument: MemRefArgument, array: np.ndarray, pitch: int | None = None) -> np.ndarray:
    """``array`` in memory with the static strides of the argument. Dynamic ones become row-major, with ``pitch`` bytes
    from row to row if given, whatever order ``array`` has. Raises ``ArgumentError`` for a pitch that does not fit."""
    row = None if pitch is None else _row_stride(index, argument, array, pitch)
    strides: list[int] = []
    dense = 1
    for d in reversed(range(array.ndim)):
        known = argument.strides[d]
        if row is not None and d == array.ndim - 2:
            known = row
        strides.insert(0, dense if known is None else known)
        dense = strides[0] * max(array.shape[d], 1)
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(array.shape, strides, strict=True) if extent)
    start = offset_of(argument) * array.itemsize
    # What lies between the rows is watched too: a copy must not touch it.
    storage = np.full(start + max(span, 1) * array.itemsize, GAP, np.uint8)
    view = np.ndarray(array.shape, array.dtype, storage, start, [stride * array.itemsize for stride in strides])
    view[...] = array
    return view


def _row_stride(index: int, argument: MemRefArgument, array: np.ndarray, pitch: int) -> int:
    """``pitch`` in elements."""
    given, size = f"--arg {index}: pitch={pitch}", array.itemsize
    if array.ndim < 2:
        raise ArgumentError(f"{given} is from row to row, and argument {index} has rank {array.ndim}. Drop it")
    if pitch % size:
        raise ArgumentError(f"{given} is not a multiple of the element size {size} B")
    known, inner = argument.strides[-2], argument.strides[-1]
    if known is not None and known * size != pitch:
        raise ArgumentError(
            f"{given}, but rows of argument {index} are {known * size} B apart ({describe(argument)}). Drop it, or "
            "compile the kernel for a dynamic stride: strided<[?, 1]>"
        )
    least = ((array.shape[-1] - 1) * (1 if inner is None else inner) + 1) * size
    if pitch < least:
        raise ArgumentError(f"{given}, and a row has {least} B. Make it {least} or more")
    return pitch // size


def output_path(index: int, text: str) -> Path:
    """Where ``--out I=FILE`` writes; the folder must exist."""
    path = Path(text)
    if not path.parent.is_dir():
        raise ArgumentError(f"--out {index}={text}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise ArgumentError(f"--out {index}={text}: this is a folder; needed: a file")
    return path
