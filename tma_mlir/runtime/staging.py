"""Host arrays for a launch: device copies before, results back after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np

from . import driver
from .arrays import HOST, ArrayView
from .errors import ArgumentTypeError

ALIGNMENT = 256
"""Of allocations: cuMemAlloc promises as much (driver API)."""


@dataclass
class _Copy:
    """``flat``: bytes from the first to the last element of ``array``, which is what the device gets at
    ``device_pointer``, inside the allocation ``allocated``."""

    array: np.ndarray
    readonly: bool
    flat: np.ndarray
    device_pointer: int
    allocated: int


class Staging:
    """Device memory for host arrays as long as the ``with`` block runs. The same array given twice is staged once."""

    def __init__(self, kernel: str, stream: int) -> None:
        self._kernel = kernel
        self._stream: Any = driver.cuda().CUstream(stream)
        self._copies: list[_Copy] = []

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for copy in self._copies:
            try:
                driver.call("cuMemFree", copy.allocated)
            except driver.CudaError:
                if error is None:  # else the first error is the one to show
                    raise

    def stage(self, views: Sequence[ArrayView], offsets: Sequence[int], ordinal: int) -> list[ArrayView]:
        """The same arrays with host memory replaced by device copies.

        ``offsets``: bytes between the start of each memref's allocation and the memref. It is the allocation that is
        aligned to 256 B, as plans take it to be.
        """
        pairs = zip(views, offsets, strict=True)
        return [view if view.device != HOST else self._stage(view, offset, ordinal) for view, offset in pairs]

    def _stage(self, view: ArrayView, offset: int, ordinal: int) -> ArrayView:
        array = view.host
        assert array is not None
        for copy in self._copies:
            same = copy.array.__array_interface__["data"][0] == view.pointer and copy.array.strides == array.strides
            if same and copy.array.shape == array.shape and copy.array.dtype == array.dtype:
                copy.readonly = copy.readonly and view.readonly
                return replace(view, pointer=copy.device_pointer, device=ordinal, host=None)
            if np.may_share_memory(copy.array, array):
                raise ArgumentTypeError(
                    self._kernel,
                    ["two host arrays overlap in part, and each gets a device copy of its own. Copy one of them first"],
                )
        flat = np.zeros(max(span_bytes(array), 1), np.uint8)
        _strided(flat, array)[...] = array
        lead = offset % ALIGNMENT
        allocated = int(driver.call("cuMemAlloc", lead + flat.nbytes, context=f"staging {flat.nbytes} B"))
        pointer = allocated + lead
        self._copies.append(_Copy(array, view.readonly, flat, pointer, allocated))
        driver.call("cuMemcpyHtoDAsync", pointer, flat.ctypes.data, flat.nbytes, self._stream)
        return replace(view, pointer=pointer, device=ordinal, host=None)

    def copy_back(self) -> None:
        """Waits for the stream and writes the device's contents into the arrays that may be written."""
        for copy in self._copies:
            if not copy.readonly:
                driver.call(
                    "cuMemcpyDtoHAsync", copy.flat.ctypes.data, copy.device_pointer, copy.flat.nbytes, self._stream
                )
        driver.call("cuStreamSynchronize", self._stream)
        for copy in self._copies:
            if not copy.readonly:
                copy.array[...] = _strided(copy.flat, copy.array)


def span_bytes(array: np.ndarray) -> int:
    """Bytes from the start of the first element to the end of the last (strides are not negative)."""
    if 0 in array.shape:
        return 0
    return array.itemsize + sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))


def _strided(flat: np.ndarray, like: np.ndarray) -> np.ndarray:
    return np.ndarray(like.shape, like.dtype, flat.data, strides=like.strides)
