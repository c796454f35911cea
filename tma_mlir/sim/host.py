"""NumPy arguments as global memory: the bytes of an array and of the allocation it is a view of."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..abi.arguments import shape_problems
from ..abi.signature import MemRefArgument
from .errors import SimulationError
from .memory import GlobalMemory, Region


@dataclass(frozen=True)
class HostArray:
    """A tensor argument: ``pointer`` is the simulated address of its first element; the rest in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def host_array(memory: GlobalMemory, index: int, spec: MemRefArgument, value: Any) -> HostArray:
    """Place argument ``index`` in global memory.

    Views of one array share its allocation. The array's data is not copied: writes appear in it.
    """
    if not isinstance(value, np.ndarray):
        raise SimulationError(
            "arguments", f"argument {index} is a tensor; give a NumPy array, not {type(value).__name__}"
        )
    size = value.dtype.itemsize
    if size != spec.dtype.numpy.itemsize:
        raise SimulationError(
            "arguments", f"argument {index} has {value.dtype} elements, the kernel takes {spec.dtype.name}"
        )
    if any(s % size for s in value.strides):
        raise SimulationError("arguments", f"argument {index}: strides {value.strides} are not whole elements")
    strides = tuple(s // size for s in value.strides)
    problems = shape_problems(spec, value.shape, strides)
    if problems:
        raise SimulationError("arguments", f"argument {index}: {'; '.join(problems)}")
    return HostArray(_place(memory, index, value), value.shape, strides)


def host_memory(memory: GlobalMemory, index: int, value: Any) -> HostArray | bytes:
    """What argument ``index`` points to, in global memory; a null pointer is a number here as well."""
    if isinstance(value, np.ndarray):
        return HostArray(_place(memory, index, value), value.shape, value.strides)
    if value.__class__ is int and value == 0:
        return bytes(8)
    raise SimulationError(
        "arguments",
        f"argument {index} is an address, of which the simulator has its own: give the NumPy array it points to, "
        f"not {value!r}",
    )


def _place(memory: GlobalMemory, index: int, value: np.ndarray) -> int:
    """The simulated address of the array's first element."""
    owner = _owner(value)
    start, end = _byte_bounds(owner)
    region = _region(memory, f"argument {index}", owner, start, end)
    return region.base + (_start(value) - start if value.size else 0)


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
    # A strided array that is not a view: its bytes, gaps included.
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
