"""One launch, ready to go: grid, block, attributes and a parameter buffer that never changes."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from . import driver
from .module import Function
from .tensor_maps import SIZE, Descriptor

Dim3 = tuple[int, int, int]

MAX_STREAMS = 64
"""Streams that driver objects are kept for."""


@dataclass(frozen=True)
class LaunchAttributes:
    """``cooperative``: all blocks resident, grid-wide barriers allowed. ``programmatic``: may start before the kernel
    ahead in the stream has finished (programmatic dependent launch). ``priority``: lower runs first. None: unset."""

    cooperative: bool = False
    programmatic: bool = False
    priority: int | None = None

    @staticmethod
    def of(value: LaunchAttributes | Mapping[str, Any] | None) -> LaunchAttributes:
        if value is None or isinstance(value, LaunchAttributes):
            return value or NO_ATTRIBUTES
        known = [f.name for f in fields(LaunchAttributes)]
        unknown = sorted(set(value) - set(known))
        if unknown:
            raise TypeError(f"unknown launch attributes {', '.join(unknown)}; known: {', '.join(known)}")
        return LaunchAttributes(**value)


NO_ATTRIBUTES = LaunchAttributes()


def dim3(value: int | Sequence[int], what: str) -> Dim3:
    """One to three positive extents, x first, missing ones 1."""
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    if not 1 <= len(values) <= 3 or any(not hasattr(v, "__index__") for v in values):
        raise TypeError(f"{what} is {value!r}, needed: one to three integers")
    x, y, z = (*(v.__index__() for v in values), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise ValueError(f"{what} is {(x, y, z)}, needed: at least 1 each. Skip the launch when there is nothing to do")
    return x, y, z


@dataclass(frozen=True)
class Shape:
    """How a kernel is launched. ``shared_bytes``: dynamic shared memory."""

    grid: Dim3
    block: Dim3
    cluster: Dim3 | None = None
    shared_bytes: int = 0
    attributes: LaunchAttributes = NO_ATTRIBUTES

    @property
    def plain(self) -> bool:
        """Whether ``cuLaunchKernel`` is enough, which costs less than ``cuLaunchKernelEx``."""
        return self.cluster is None and self.attributes == NO_ATTRIBUTES


@dataclass(frozen=True)
class Parameters:
    """Kernel parameters in memory. ``address`` is the ``void**`` the driver takes; ``storage`` holds everything.

    Never changed after it is made, so any number of threads may launch with it.
    """

    address: int
    storage: Any = field(repr=False, compare=False)


@dataclass(frozen=True)
class Layout:
    """Where parameters lie: ``maps`` descriptors of 128 bytes, then one 8-byte word for each of the others, then the
    pointers to all of them."""

    maps: int
    words: int

    def fill(self, descriptors: Sequence[tuple[Descriptor, int]], words: Sequence[int]) -> Parameters:
        """``descriptors`` with the address each is for; ``words`` as unsigned 64-bit values."""
        words_at = self.maps * SIZE
        pointers_at = words_at + 8 * self.words
        count = self.maps + self.words
        storage = (ctypes.c_char * (pointers_at + 8 * count + SIZE))()
        base = -(-ctypes.addressof(storage) // SIZE) * SIZE
        skipped = base - ctypes.addressof(storage)
        for index, (descriptor, address) in enumerate(descriptors):
            descriptor.write(base + index * SIZE, address)
        struct.pack_into(
            f"<{self.words + count}Q",
            storage,
            skipped + words_at,
            *words,
            *range(base, base + words_at, SIZE),
            *range(base + words_at, base + pointers_at, 8),
        )
        return Parameters(base + pointers_at, storage)


class Prepared:
    """A launch that has only to be issued: ``issue(CUstream, address, 0)`` -> ``(CUresult,)``. Keeps no array alive."""

    __slots__ = ("_configs", "_storage", "address", "device", "function", "issue", "shape")

    def __init__(self, function: Function, shape: Shape, parameters: Parameters) -> None:
        self.function, self.shape, self.device = function, shape, function.device.ordinal
        self.address, self._storage = parameters.address, parameters.storage
        self._configs: dict[int, Any] = {}
        self.issue: Callable[[Any, int, int], tuple] = self._issue_extended
        if shape.plain:
            self.issue = functools.partial(
                driver.cuda().cuLaunchKernel, function.handle, *shape.grid, *shape.block, shape.shared_bytes
            )

    def _issue_extended(self, stream: Any, address: int, extra: int) -> tuple:
        handle = int(stream)
        config = self._configs.get(handle)
        if config is None:
            if len(self._configs) >= MAX_STREAMS:
                self._configs.clear()
            config = self._configs[handle] = _config(self.shape, stream)
        return driver.cuda().cuLaunchKernelEx(config, self.function.handle, address, extra)


def _config(shape: Shape, stream: Any) -> Any:
    """The driver's ``CUlaunchConfig``."""
    cuda = driver.cuda()
    ids, chosen = cuda.CUlaunchAttributeID, []

    def attribute(identifier: Any) -> Any:
        made = cuda.CUlaunchAttribute()
        made.id = identifier
        chosen.append(made)
        return made.value

    if shape.cluster is not None:
        value = attribute(ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = shape.cluster
    if shape.attributes.cooperative:
        attribute(ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1
    if shape.attributes.programmatic:
        value = attribute(ids.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        value.programmaticStreamSerializationAllowed = 1
    if shape.attributes.priority is not None:
        attribute(ids.CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = shape.attributes.priority
    config = cuda.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = shape.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = shape.block
    config.sharedMemBytes = shape.shared_bytes
    config.hStream = stream
    config.attrs = chosen
    config.numAttrs = len(chosen)
    return config
