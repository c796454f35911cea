"""DLPack capsules, old and versioned, read without taking them over.

Layout of the structures: dlpack.h 1.1. A capsule that nobody renames to ``used_...`` frees its tensor when it is
collected, so holding the capsule is all the ownership needed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
ON_HOST = (CPU,)
ON_GPU = (CUDA, CUDA_HOST, CUDA_MANAGED)

MOST_DIMENSIONS = 64
"""As many as NumPy has. The number tells a tensor from bytes that are none."""

_MAX_VERSION = (1, 1)
_READ_ONLY = 1

_DTYPES: dict[tuple[int, int], Any] = {
    **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (4, 16): ml_dtypes.bfloat16,
    (6, 8): np.bool_,
    (7, 8): ml_dtypes.float8_e3m4,
    (8, 8): ml_dtypes.float8_e4m3,
    (9, 8): ml_dtypes.float8_e4m3b11fnuz,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (11, 8): ml_dtypes.float8_e4m3fnuz,
    (12, 8): ml_dtypes.float8_e5m2,
    (13, 8): ml_dtypes.float8_e5m2fnuz,
    (14, 8): ml_dtypes.float8_e8m0fnu,
}
"""NumPy's dtype by (DLDataTypeCode, bits)."""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True)
class DLTensor:
    """What a capsule says. ``pointer`` has the byte offset added; strides in elements; ``dtype`` None if unnamed."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype | None
    itemsize: int
    device_type: int
    device_id: int
    readonly: bool
    owner: Any = field(repr=False, compare=False)


def export(array: Any, stream: int | None) -> DLTensor:
    """Asks ``array`` for a capsule that work on ``stream`` (None: the CPU) may use, and reads it."""
    # DLPack numbers CUDA's legacy default stream 1; 0 is not allowed.
    order = {} if stream is None else {"stream": stream or 1}
    try:
        capsule = array.__dlpack__(max_version=_MAX_VERSION, **order)
    except TypeError:  # an exporter from before DLPack 1.0
        capsule = array.__dlpack__(**order)
    return read(capsule)


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def read(capsule: Any) -> DLTensor:
    """Reads a ``dltensor`` or ``dltensor_versioned`` capsule; raises ``TypeError`` for anything else."""
    readonly = False
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != _MAX_VERSION[0]:
            raise TypeError(f"a DLPack capsule of version {versioned.major}.{versioned.minor}; this reads version 1")
        readonly, tensor = bool(versioned.flags & _READ_ONLY), versioned.tensor
    elif _is_valid(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    else:
        raise TypeError(f"__dlpack__ returned no fresh DLPack capsule but {capsule!r}")
    if not 0 <= tensor.ndim <= MOST_DIMENSIONS or (tensor.ndim and not tensor.shape):
        given = "" if tensor.shape else " and no shape"
        raise TypeError(f"a DLPack tensor of {tensor.ndim} dimensions{given}; this reads 0 to {MOST_DIMENSIONS}")
    if tensor.lanes != 1 or tensor.bits % 8 or not tensor.bits:
        raise TypeError(f"elements of {tensor.lanes} x {tensor.bits} bits are not whole bytes")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else dense_strides(shape)
    dtype = _DTYPES.get((tensor.code, tensor.bits))
    return DLTensor(
        pointer=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=strides,
        dtype=None if dtype is None else np.dtype(dtype),
        itemsize=tensor.bits // 8,
        device_type=tensor.device_type,
        device_id=tensor.device_id,
        readonly=readonly,
        owner=capsule,
    )


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def host_array(pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, owner: Any):
    """A NumPy array on host memory at ``pointer`` (strides in elements, not negative), keeping ``owner`` alive."""
    if any(stride < 0 for stride in strides):
        raise TypeError("negative strides")
    if any(extent < 0 for extent in shape):
        raise TypeError(f"an array of shape {list(shape)}")
    if 0 in shape:
        return np.empty(shape, dtype)
    if not pointer:
        raise TypeError("a null pointer. The array was freed")
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    buffer = (ctypes.c_char * (span * dtype.itemsize)).from_address(pointer)
    buffer._owner = owner  # type: ignore[attr-defined]  # NumPy keeps the buffer, the buffer keeps the owner
    return np.ndarray(shape, dtype, memoryview(buffer), strides=tuple(stride * dtype.itemsize for stride in strides))
