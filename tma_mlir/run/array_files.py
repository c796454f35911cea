"""Arrays of ``.npy`` files, with the element types that such files do not name."""

from __future__ import annotations

import ast
import io
import math
import os
import re
import stat
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..dtypes import DType
from ..files import write_whole
from .array_spec import ArgumentError, ArraySpec


def load_array(flag: str, spec: ArraySpec) -> np.ndarray:
    """What the file of ``spec`` holds, all of it, with bytes in this machine's order. Raises ``ArgumentError``."""
    try:
        with open(spec.file, "rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            array = _read(flag, spec, file if regular else io.BytesIO(file.read()))
    except ArgumentError:
        raise
    except OSError as error:
        raise ArgumentError(f"{flag}={spec.text}: cannot open {spec.file!r}: {error.strerror or error}") from None
    except _UNREADABLE as error:
        raise ArgumentError(
            f"{flag}={spec.text}: {spec.file!r} is not a .npy file that can be read ({error}). Write it with numpy.save"
        ) from None
    if not array.itemsize:
        raise ArgumentError(f"{flag}={spec.text}: holds {array.dtype}, elements without bytes")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_memory(flag: str, spec: ArraySpec, count: int, element_bytes: int) -> None:
    """Raises ``ArgumentError`` for an array that is larger than this machine's memory: the system might end the process
    where the array is filled."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if count * element_bytes > there:
        raise ArgumentError(
            f"{flag}={spec.text}: {count} elements are {count * element_bytes / 2**30:.0f} GiB, and this machine has "
            f"{there / 2**30:.0f} GiB. Use a smaller array"
        )


def part_of(flag: str, spec: ArraySpec, array: np.ndarray) -> np.ndarray:
    """The part of ``array``, which is what the file holds, that ``spec`` names. Raises ``ArgumentError``."""
    if spec.window is None:
        return array
    try:
        return np.asarray(array[spec.window])
    except IndexError as error:
        raise ArgumentError(f"{flag}={spec.text}: {error} (the file has shape {list(array.shape)})") from None


_UNREADABLE = (
    ValueError, SyntaxError, EOFError, struct.error, KeyError, TypeError, OverflowError, MemoryError, RecursionError
)  # fmt: skip
"""What Python and NumPy raise for headers of other content, nesting or size."""

_NO_NUMPY_FLOAT = re.compile(r"[<|=]f1")
"""What ``numpy.save`` writes as the type of some 8-bit floats of ml_dtypes, and ``numpy.load`` refuses."""


def _read(flag: str, spec: ArraySpec, file: BinaryIO) -> np.ndarray:
    version = np.lib.format.read_magic(file)  # np.load makes other things of other files
    size = "<H" if version < (2, 0) else "<I"
    (length,) = struct.unpack(size, file.read(struct.calcsize(size)))
    header = ast.literal_eval(file.read(length).decode("latin1").strip())
    shape, kind = header["shape"], header["descr"]
    unnamed = isinstance(kind, str) and _NO_NUMPY_FLOAT.fullmatch(kind) is not None
    element_bytes = 1 if unnamed else np.lib.format.descr_to_dtype(kind).itemsize  # type: ignore[arg-type]
    count = math.prod(shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    at = file.tell()
    there = file.seek(0, os.SEEK_END) - file.seek(at)
    if there < count * element_bytes:
        raise ValueError(f"it ends early: {there} of {count * element_bytes} bytes are there")
    check_memory(flag, spec, count, element_bytes)
    if unnamed:
        flat = np.frombuffer(file.read(count), "V1")
        return flat.reshape(shape, order="F" if header["fortran_order"] else "C")
    file.seek(0)
    return np.load(file, allow_pickle=False)


def typed(flag: str, spec: ArraySpec, array: np.ndarray, argument: int, wanted: DType) -> np.ndarray:
    """``array`` with elements of ``wanted``, which is the type of ``argument``.

    Files do not know bfloat16 and the 8-bit floats: NumPy saves them as raw bytes (``V2``, ``V1``), and people save
    views of them as unsigned integers. Both are taken for what the kernel says. Raises ``ArgumentError``.
    """
    if array.dtype == wanted.numpy:
        return array
    raw = "Vu" if wanted.is_float and wanted.numpy.isbuiltin != 1 else "V"
    if array.dtype.kind in raw and array.dtype.names is None and array.dtype.itemsize == wanted.numpy.itemsize:
        return array.view(wanted.numpy)
    if wanted.name == "i1" and array.dtype.kind in "iu" and array.dtype.itemsize == 1:
        return array.view(np.uint8) != 0
    if wanted.name.startswith("i") and array.dtype.kind == "u" and array.dtype.itemsize == wanted.numpy.itemsize:
        return array.view(wanted.numpy)
    raise ArgumentError(
        f"{flag}={spec.text}: holds {array.dtype}, argument {argument} is {wanted.numpy}. Convert it with "
        f".astype({_in_numpy(wanted)}) before numpy.save"
    )


def _in_numpy(wanted: DType) -> str:
    return f"numpy.{wanted.numpy}" if wanted.numpy.isbuiltin == 1 else f"ml_dtypes.{wanted.numpy}"


def save_array(flag: str, path: Path, array: np.ndarray) -> None:
    """Writes exactly the file ``path``, whatever its name ends with. Raises ``ArgumentError``."""
    try:
        content = io.BytesIO()
        np.save(content, np.ascontiguousarray(array).reshape(array.shape))
        write_whole(path, content.getbuffer())
    except OSError as error:
        raise ArgumentError(f"{flag}={path}: cannot write {str(path)!r}: {error.strerror or error}") from None
