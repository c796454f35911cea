"""Kernel arguments from the command line: files, generated arrays, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..abi.signature import KernelSignature, MemRefArgument, ScalarArgument

KINDS = (
    "FILE.npy, zeros, iota, random:SEED, small:SEED (each with @64x128 for dynamic shapes), or a number for a scalar"
)


GAP = 0xA5
"""Byte between the elements of arrays with gaps."""


class ArgumentError(ValueError):
    """An argument does not fit the kernel; the message says which, why and what would."""


def make_arguments(signature: KernelSignature, given: Mapping[int, str]) -> list[np.ndarray | int | float]:
    """One value for each kernel argument: ``given`` by position, for the others random bytes seeded by the position.

    Arrays are writable, with the strides the kernel's memref has. Raises ``ArgumentError``.
    """
    unknown = sorted(set(given) - set(range(len(signature.arguments))))
    if unknown:
        raise ArgumentError(
            f"--arg {unknown[0]}: kernel @{signature.name} takes {len(signature.arguments)} arguments, numbered from 0"
        )
    values: list[np.ndarray | int | float] = []
    for index, argument in enumerate(signature.arguments):
        text = given.get(index)
        if isinstance(argument, ScalarArgument):
            values.append(_scalar(index, argument, text))
        else:
            values.append(_array(index, argument, text or f"random:{index}"))
    return values


def _scalar(index: int, argument: ScalarArgument, text: str | None) -> int | float:
    if text is None:
        raise ArgumentError(f"argument {index} is a number of type {argument.dtype}: give it with --arg {index}=VALUE")
    try:
        return float(text) if argument.dtype.is_float else int(text, 0)
    except ValueError:
        raise ArgumentError(f"--arg {index}={text}: argument {index} is a number of type {argument.dtype}") from None


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


def _load(index: int, argument: MemRefArgument, path: str) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"--arg {index}={path}: {error}") from None
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
