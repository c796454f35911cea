"""One launch, ready to go: grid, block, attributes and a parameter buffer that never changes."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..abi.extents import Dim3
from ..abi.scalars import shown
from ..hardware import DESCRIPTOR_BYTES
from . import driver
from .module import Function
from .streams import MAX_STREAMS
from .tensor_maps import DescriptorBlock

SLAB_BUFFERS = 16
"""Parameter buffers made at a time."""


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
        if not isinstance(value, Mapping):
            raise TypeError(f"attributes is {shown(value)}, needed: LaunchAttributes or a dictionary")
        known = [f.name for f in fields(LaunchAttributes)]
        unknown = sorted(str(name) for name in value if name not in known)
        if unknown:
            raise TypeError(f"unknown launch attributes {', '.join(unknown)}; known: {', '.join(known)}")
        return LaunchAttributes(**value)

    def __post_init__(self) -> None:
        for name in ("cooperative", "programmatic"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"the launch attribute {name} is {shown(getattr(self, name))}, needed: True or False")
        least, most = -(1 << 31), (1 << 31) - 1
        if self.priority is not None and not (isinstance(self.priority, int) and least <= self.priority <= most):
            raise TypeError(f"the launch attribute priority is {shown(self.priority)}, needed: an integer, or None")


NO_ATTRIBUTES = LaunchAttributes()


@dataclass(frozen=True)
class Shape:
    """How a kernel is launched. ``shared_bytes``: dynamic shared memory."""

    grid: Dim3
    block: Dim3
    cluster: Dim3 | None = None
    shared_bytes: int = 0
    attributes: LaunchAttributes = NO_ATTRIBUTES

    @property
    def empty(self) -> bool:
        """Whether the grid has no blocks."""
        return 0 in self.grid

    @property
    def plain(self) -> bool:
        """Whether ``cuLaunchKernel`` is enough, which costs less than ``cuLaunchKernelEx``."""
        return self.cluster is None and self.attributes == NO_ATTRIBUTES


class Prepared:
    """A launch that has only to be issued: ``issue(CUstream, address, 0)`` -> ``(CUresult,)``.

    ``address`` is the ``void**`` of the parameters, in ``storage``. Nothing of it changes after it is made, so any
    number of threads may launch with it. Keeps no array alive.
    """

    __slots__ = ("address", "device", "issue", "shape", "storage")

    def __init__(self, launcher: Launcher, address: int, storage: Any) -> None:
        self.address, self.storage = address, storage
        self.issue, self.device, self.shape = launcher.issue, launcher.device, launcher.shape


class Launcher:
    """Launches of ``function`` with one shape; makes their parameter buffers.

    A buffer holds ``maps`` descriptors of 128 bytes, ``words`` parameters of 8 bytes, the ``values``, and the pointers
    to all of them. Values are parameters of any size: (position among the parameters after the descriptors, bytes).
    Buffers are cut from slabs, since making one in ctypes takes longer than encoding a descriptor.
    """

    def __init__(
        self, function: Function, shape: Shape, maps: int, words: int, values: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.shape, self.device = shape, function.device.ordinal
        self.function, self._configs = function, {}
        self._words_at = maps * DESCRIPTOR_BYTES
        end = self._words_at + 8 * words
        self._offsets = [*range(0, self._words_at, DESCRIPTOR_BYTES), *range(self._words_at, end, 8)]
        self._values_at = []
        for position, size in values:
            self._values_at.append(end)
            self._offsets.insert(maps + position, end)
            end += -(-size // 8) * 8
        self._pointers_at = end
        self._pack = struct.Struct(f"<{words}Q").pack_into
        self._free: list[tuple[memoryview, int, int]] = []
        self.issue: Callable[[Any, int, int], tuple] = self._issue_extended
        if shape.plain:
            self.issue = functools.partial(
                driver.cuda().cuLaunchKernel, function.handle, *shape.grid, *shape.block, shape.shared_bytes
            )

    def prepare(
        self,
        descriptors: DescriptorBlock,
        addresses: Sequence[int],
        words: Sequence[int],
        values: Sequence[bytes] = (),
    ) -> Prepared:
        """``addresses`` of the descriptors; ``words`` as unsigned 64-bit values; the bytes of the ``values``."""
        try:
            storage, position, base = self._free.pop()
        except IndexError:
            storage, position, base = self._new_slab()
        if addresses:
            descriptors.write(storage, position, base + position, addresses)
        self._pack(storage, position + self._words_at, *words)
        if values:
            for at, data in zip(self._values_at, values, strict=True):
                storage[position + at : position + at + len(data)] = data
        return Prepared(self, base + position + self._pointers_at, storage)

    def _new_slab(self) -> tuple[memoryview, int, int]:
        """Room for more buffers; returns one of them as memory, position in it, address of the memory's start."""
        step = (self._pointers_at + 8 * len(self._offsets)) // DESCRIPTOR_BYTES * DESCRIPTOR_BYTES + DESCRIPTOR_BYTES
        raw = (ctypes.c_char * ((SLAB_BUFFERS + 1) * step))()
        start = ctypes.addressof(raw)
        storage = memoryview(raw).cast("B")
        first = -start % DESCRIPTOR_BYTES
        positions = range(first, first + SLAB_BUFFERS * step, step)
        if self._offsets:
            shape, strides = (SLAB_BUFFERS, len(self._offsets)), (step, 8)
            pointers = np.ndarray(shape, np.uint64, storage, first + self._pointers_at, strides)
            pointers[...] = np.add.outer(np.asarray(positions) + start, np.asarray(self._offsets))
        slots = [(storage, position, start) for position in positions]
        self._free += slots[1:]
        return slots[0]

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
