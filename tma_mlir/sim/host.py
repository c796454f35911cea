"""NumPy arguments as global memory: the bytes of an array and of the allocation it is a view of."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compile.signature import MemRefArgument
from .errors import SimulationError
from .memory import GlobalMemory, Region


@dataclass(frozen=True)
class HostArray:
    """``address`` is that of the memref's allocation (element ``-offset``); shape, strides and offset in elements."""

    address: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def host_array(memory: GlobalMemory, index: int, spec: MemRefArgument, value: Any, known: dict[str, int]) -> HostArray:
    """Place argument ``index`` in global memory and record its symbols ``arg<i>.dim<d>`` ... in ``known``.

    Views of one array share its allocation. The array's data moves neither: writes appear in it.
    """
    if not isinstance(value, np.ndarray):
        raise SimulationError(
            "arguments", f"argument {index} is a tensor; give a NumPy array, not {type(value).__name__}"
        )
    if spec.dtype.packed:
        found = f"argument {index} has packed elements ({spec.dtype}), which are not simulated"
        raise SimulationError("arguments", found)
    size = value.dtype.itemsize
    if size != spec.dtype.numpy.itemsize:
        raise SimulationError(
            "arguments", f"argument {index} has {value.dtype} elements, the kernel takes {spec.dtype.name}"
        )
    _check_shape(index, spec, value)
    if any(s % size for s in value.strides):
        raise SimulationError("arguments", f"argument {index}: strides {value.strides} are not whole elements")
    owner = _owner(value)
    start, end = _byte_bounds(owner)
    region = _region(memory, f"argument {index}", owner, start, end)
    strides = tuple(s // size for s in value.strides)
    offset = spec.offset if spec.offset is not None else 0
    first = region.base + (value.__array_interface__["data"][0] - start if value.size else 0)
    known[f"arg{index}.offset"] = offset
    for dimension, (extent, stride) in enumerate(zip(value.shape, strides, strict=True)):
        known[f"arg{index}.dim{dimension}"] = extent
        known[f"arg{index}.stride{dimension}"] = stride
    return HostArray(first - offset * size, offset, value.shape, strides)


def _check_shape(index: int, spec: MemRefArgument, value: np.ndarray) -> None:
    if len(spec.shape) != value.ndim or any(
        want is not None and want != have for want, have in zip(spec.shape, value.shape, strict=True)
    ):
        wanted = "x".join("?" if n is None else str(n) for n in spec.shape)
        raise SimulationError("arguments", f"argument {index} has shape {value.shape}, the kernel takes {wanted}")
    size = value.dtype.itemsize
    for dimension, (want, have) in enumerate(zip(spec.strides, value.strides, strict=True)):
        if want is not None and want * size != have and value.shape[dimension] > 1:
            raise SimulationError(
                "arguments",
                f"argument {index} has stride {have / size:g} in dimension {dimension}, the kernel takes {want}",
            )


def _owner(value: np.ndarray) -> np.ndarray:
    """The array whose memory ``value`` is a view of."""
    while isinstance(value.base, np.ndarray):
        value = value.base
    return value


def _region(memory: GlobalMemory, name: str, owner: np.ndarray, start: int, end: int) -> Region:
    for region in memory.regions:
        if region.kind == "global" and region.data.size == end - start and _start(region.data) == start:
            return region
    if end == start:
        return memory.add(name, np.zeros(1, np.uint8))
    flat = owner if owner.flags.c_contiguous or not owner.flags.f_contiguous else owner.T
    if flat.flags.c_contiguous:
        return memory.add(name, flat.reshape(-1).view(np.uint8))
    # A strided array that is nobody's view: its bytes, gaps included.
    memory.owners.append(owner)
    return memory.add(name, np.ctypeslib.as_array((ctypes.c_uint8 * (end - start)).from_address(start)))


def _byte_bounds(value: np.ndarray) -> tuple[int, int]:
    """First byte's address and one past the last, whatever the signs of the strides."""
    first = last = _start(value)
    if value.size == 0:
        return first, first
    for extent, stride in zip(value.shape, value.strides, strict=True):
        if stride < 0:
            first += (extent - 1) * stride
        else:
            last += (extent - 1) * stride
    return first, last + value.dtype.itemsize


def _start(data: np.ndarray) -> int:
    return data.__array_interface__["data"][0]
