"""Arrays of ``.npy`` files, with the element types that such files do not name."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..dtypes import DType
from .array_spec import ArgumentError, ArraySpec


def load_array(flag: str, spec: ArraySpec) -> np.ndarray:
    """What the file of ``spec`` holds, all of it, with bytes in this machine's order. Raises ``ArgumentError``."""
    try:
        with open(spec.file, "rb") as file:
            array = _read(file)
    except OSError as error:
        raise ArgumentError(f"{flag}={spec.text}: cannot open {spec.file!r}: {error.strerror or error}") from None
    except (ValueError, SyntaxError, EOFError, struct.error, KeyError) as error:
        raise ArgumentError(
            f"{flag}={spec.text}: {spec.file!r} is not a .npy file that can be read ({error}). Write it with numpy.save"
        ) from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


_NO_NUMPY_FLOAT = re.compile(r"[<|=]f1")
"""What ``numpy.save`` writes as the type of some 8-bit floats of ml_dtypes, and ``numpy.load`` refuses."""


def _read(file: BinaryIO) -> np.ndarray:
    version = np.lib.format.read_magic(file)  # np.load makes other things of other files
    size = "<H" if version < (2, 0) else "<I"
    (length,) = struct.unpack(size, file.read(struct.calcsize(size)))
    header = ast.literal_eval(file.read(length).decode("latin1").strip())
    if isinstance(header["descr"], str) and _NO_NUMPY_FLOAT.fullmatch(header["descr"]):
        flat = np.frombuffer(file.read(), "V1")
        return flat.reshape(header["shape"], order="F" if header["fortran_order"] else "C")
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
        with open(path, "wb") as file:
            np.save(file, np.ascontiguousarray(array).reshape(array.shape))
    except OSError as error:
        raise ArgumentError(f"{flag}={path}: cannot write {str(path)!r}: {error.strerror or error}") from None
