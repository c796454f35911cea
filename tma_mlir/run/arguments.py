"""Kernel arguments from the command line: files, generated arrays, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..abi.signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from ..abi.values import leaves, nested
from ..dtypes import DTYPES, DType

KINDS = (
    "FILE.npy, zeros, iota, random:SEED, small:SEED (each with @64x128 for dynamic shapes, @64x128xf32 for what a "
    "pointer points to), or a number for a scalar; numbers with commas for a vector or struct"
)
"""What ``--arg`` takes."""

Value = np.ndarray | int | float | tuple[Any, ...]
"""An argument: numbers of a vector or struct are tuples."""

GAP = 0xA5
"""Byte between the elements of arrays with gaps."""


class ArgumentError(ValueError):
    """An argument does not fit the kernel; the message says which, why and what would."""


def make_arguments(signature: KernelSignature, given: Mapping[int, str]) -> list[Value]:
    """One value for each kernel argument: ``given`` by position, for the others random bytes seeded by the position.

    Arrays are writable, with the strides the kernel's memref has. Raises ``ArgumentError``.
    """
    unknown = sorted(set(given) - set(range(len(signature.arguments))))
    if unknown:
        raise ArgumentError(
            f"--arg {unknown[0]}: kernel @{signature.name} takes {len(signature.arguments)} arguments, numbered from 0"
        )
    values: list[Value] = []
    for index, argument in enumerate(signature.arguments):
        text = given.get(index)
        if isinstance(argument, ScalarArgument):
            values.append(_scalar(index, argument, text))
        elif isinstance(argument, PointerArgument):
            values.append(_memory(index, text))
        elif isinstance(argument, ValueArgument):
            values.append(_value(index, argument, text))
        else:
            values.append(_array(index, argument, text or f"random:{index}"))
    return values


def _scalar(index: int, argument: ScalarArgument, text: str | None) -> int | float:
    if text is None:
        raise ArgumentError(f"argument {index} is a number of type {argument.dtype}: give it with --arg {index}=VALUE")
    try:
        return _number(text, argument.dtype)
    except ValueError:
        raise ArgumentError(f"--arg {index}={text}: argument {index} is a number of type {argument.dtype}") from None


def _number(text: str, dtype: DType) -> int | float:
    return float(text) if dtype.is_float else int(text, 0)


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
    except ValueError:
        raise ArgumentError(f"--arg {index}={text}: {wanted}; write them in order, as in {example}") from None
    return nested(iter(numbers), argument.layout)


def _memory(index: int, text: str | None) -> np.ndarray | int:
    """What a pointer points to."""
    example = f"--arg {index}=zeros@1024xf32, or --arg {index}=FILE.npy"
    if text is None:
        raise ArgumentError(f"argument {index} is a pointer: say what it points to, as in {example}")
    kind, _, memory = text.partition("@")
    if text == "0":
        return 0
    if kind.endswith(".npy"):
        return _read(index, kind).copy()
    extents, _, name = memory.rpartition("x")
    try:
        shape = tuple(int(extent) for extent in extents.split("x"))
        dtype = DTYPES[name]
        if min(shape) < 0:
            raise ValueError
    except (ValueError, KeyError):
        raise ArgumentError(f"--arg {index}={text}: argument {index} is a pointer: write {example}") from None
    return _array(index, MemRefArgument(dtype, shape, (None,) * len(shape)), kind)


def _array(index: int, argument: MemRefArgument, text: str) -> np.ndarray:
    kind, _, shape_text = text.partition("@")
    if kind.endswith(".npy"):
        return _strided(index, argument, _load(index, argument, kind))
    shape = _shape(index, argument, shape_text)
    dtype = argument.dtype.numpy
    count = int(np.prod(shape, dtype=np.int64))
    name, _, seed = kind.partition(":")
    if name == "zeros":
        flat = np.zeros(count, dtype)
    elif name == "iota":
        flat = np.arange(count).astype(dtype)
    elif name in ("random", "small"):
        try:
            generator = np.random.default_rng(int(seed or 0))
        except ValueError:
            raise ArgumentError(f"--arg {index}={text}: {seed!r} is not a seed; write {name}:7") from None
        flat = _random(generator, count, dtype) if name == "random" else _small(generator, count, dtype)
    else:
        raise ArgumentError(f"--arg {index}={text}: {name!r} is not a kind of array. Use {KINDS}")
    return _strided(index, argument, flat.reshape(shape))


def _random(generator: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Every byte pattern can occur, except in booleans."""
    if dtype == np.bool_:
        return generator.integers(0, 2, count).astype(np.bool_)
    return generator.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)


def _small(generator: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Integers from -4 to 4 (0 to 8 where there is no sign): sums of their products are exact in any order."""
    low = 0 if dtype.kind in "ub" else -4
    return generator.integers(low, low + 9, count).astype(dtype)


def _read(index: int, path: str) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"--arg {index}={path}: {error}") from None


def _load(index: int, argument: MemRefArgument, path: str) -> np.ndarray:
    array = _read(index, path)
    wanted = argument.dtype.numpy
    if array.dtype != wanted:
        # NumPy stores types it does not know (bfloat16, float8) as raw bytes of the same width.
        if array.dtype.kind != "V" or array.dtype.itemsize != wanted.itemsize:
            raise ArgumentError(f"--arg {index}={path}: holds {array.dtype}, argument {index} is {wanted}")
        array = array.view(wanted)
    fits = len(array.shape) == len(argument.shape) and all(
        expected in (None, actual) for expected, actual in zip(argument.shape, array.shape, strict=True)
    )
    if not fits:
        raise ArgumentError(
            f"--arg {index}={path}: has shape {list(array.shape)}, argument {index} is {_memref_shape(argument.shape)}"
        )
    return array


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


def _strided(index: int, argument: MemRefArgument, array: np.ndarray) -> np.ndarray:
    """``array`` in memory with the static strides of the argument; dynamic ones become row-major."""
    strides: list[int] = []
    dense = 1
    for extent, stride in zip(reversed(array.shape), reversed(argument.strides), strict=True):
        strides.insert(0, dense if stride is None else stride)
        dense = strides[0] * max(extent, 1)
    if argument.offset not in (0, None):
        raise ArgumentError(f"argument {index} has offset {argument.offset}: tma-run passes arrays that start at 0")
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(array.shape, strides, strict=True) if extent)
    # What lies between the rows is watched too: a copy must not touch it.
    storage = np.full(max(span, 1) * array.itemsize, GAP, np.uint8)
    view = np.ndarray(array.shape, array.dtype, storage, strides=[stride * array.itemsize for stride in strides])
    view[...] = array
    return view


def load_path(text: str) -> Path:
    """Where ``--out I=FILE`` writes; the folder must exist."""
    path = Path(text)
    if not path.parent.is_dir():
        raise ArgumentError(f"--out {text}: the folder {path.parent} does not exist")
    return path
