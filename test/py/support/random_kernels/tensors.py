"""Tensors in global memory: their types, their NumPy arrays, and reading and writing them by plain index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

NUMPY = {
    "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "ui16": np.uint16, "i32": np.int32, "ui32": np.uint32,
    "i64": np.int64, "ui64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip
"""Element types by MLIR's name."""
FLOATS = ("f16", "bf16", "f32", "f64")
"""Those with arithmetic and a NaN fill."""


def size_of(element: str) -> int:
    return np.dtype(NUMPY[element]).itemsize


@dataclass
class Tensor:
    """One memref argument. ``shape``, ``strides`` and ``offset`` are in elements; ``dynamic_*`` say which of them the
    type leaves open. ``memory``: the bytes of the allocation before the kernel; ``expected``: after it.
    """

    name: str
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    dynamic_shape: tuple[bool, ...] = ()
    dynamic_strides: tuple[bool, ...] = ()
    dynamic_offset: bool = False
    memory: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    expected: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))

    @property
    def element_bytes(self) -> int:
        return size_of(self.element)

    @property
    def type(self) -> str:
        shape = "x".join(_open(self.shape, self.dynamic_shape)) + "x" if self.shape else ""
        if not (self.offset or self.dynamic_offset or any(self.dynamic_strides)) and self.strides == dense(self.shape):
            return f"memref<{shape}{self.element}>"
        strides = ", ".join(_open(self.strides, self.dynamic_strides))
        place = f", offset: {'?' if self.dynamic_offset else self.offset}" if self.offset or self.dynamic_offset else ""
        return f"memref<{shape}{self.element}, strided<[{strides}]{place}>>"

    def array(self, memory: np.ndarray) -> np.ndarray:
        """The memref as a view of ``memory``."""
        size = self.element_bytes
        strides = tuple(stride * size for stride in self.strides)
        return np.ndarray(self.shape, NUMPY[self.element], memory.data, self.offset * size, strides)

    def allocate(self, rng: np.random.Generator, numbers: int = 0) -> None:
        """Random bytes, or whole numbers from ``-numbers`` to ``numbers`` in each element."""
        last = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        count = self.offset + last + 1
        if numbers:
            values = rng.integers(-numbers, numbers + 1, count)
            self.memory = values.astype(NUMPY[self.element]).view(np.uint8)
        else:
            self.memory = rng.integers(0, 256, count * self.element_bytes, np.uint8)
        self.expected = self.memory.copy()

    def places(self, index: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Which elements at ``index`` (an array for each dimension) are inside, and the byte address of those."""
        inside = np.ones(len(index[0]), bool)
        for each, extent in zip(index, self.shape, strict=True):
            inside &= (each >= 0) & (each < extent)
        flat = np.full(len(inside), self.offset)
        for each, stride in zip(index, self.strides, strict=True):
            flat += each * stride
        return inside, flat[inside] * self.element_bytes

    def read(self, index: Sequence[np.ndarray], fill: bytes) -> np.ndarray:
        """The bytes of each element at ``index``, a row each; ``fill`` for those outside."""
        inside, addresses = self.places(index)
        found = np.empty((len(inside), self.element_bytes), np.uint8)
        found[~inside] = np.frombuffer(fill, np.uint8)
        found[inside] = self.memory[addresses[:, None] + np.arange(self.element_bytes)]
        return found

    def write(self, index: Sequence[np.ndarray], values: np.ndarray, reduce: str = "") -> None:
        """Puts rows of bytes where ``index`` is inside; with ``reduce`` combined with what is there."""
        inside, addresses = self.places(index)
        lanes = addresses[:, None] + np.arange(self.element_bytes)
        new = np.ascontiguousarray(values[inside])
        if reduce and len(new):
            kind = NUMPY[self.element]
            old = np.ascontiguousarray(self.expected[lanes]).view(kind)
            with np.errstate(all="ignore"):
                new = np.ascontiguousarray(COMBINE[reduce](old, new.view(kind)).astype(kind)).view(np.uint8)
        self.expected[lanes] = new.reshape(lanes.shape)


COMBINE = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, new: np.where(old >= new, 0, old + 1),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
}  # fmt: skip
"""What each reduction makes of the old and the new value (PTX ISA, cp.reduce.async.bulk.tensor)."""

REDUCTIONS = {
    "ui32": ("add", "min", "max", "inc", "dec", "and", "or", "xor"),
    "i32": ("add", "min", "max", "and", "or", "xor"),
    "ui64": ("add", "min", "max", "and", "or", "xor"),
    "i64": ("min", "max"),
    "f16": ("add", "min", "max"),
    "bf16": ("add", "min", "max"),
    "f32": ("add",),
    "f64": ("add",),
}
"""Those that an H200 executes, by element type (docs/hardware.md, execution rule 9)."""


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def box(starts: Sequence[int], sizes: Sequence[int]) -> list[np.ndarray]:
    """For each dimension the index of every element of a box, row-major."""
    grids = np.indices(tuple(sizes)).reshape(len(sizes), -1)
    return [start + grid for start, grid in zip(starts, grids, strict=True)]


def _open(numbers: Sequence[int], is_open: Sequence[bool]) -> list[str]:
    flags = is_open or (False,) * len(numbers)
    return ["?" if flag else str(number) for number, flag in zip(numbers, flags, strict=True)]
