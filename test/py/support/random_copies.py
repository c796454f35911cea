"""Random kernels that make one copy, random arguments for them, and what the copy means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tma_mlir.dtypes import dtype
from tma_mlir.sim.definition import CopyOperands, Elements, elements, fill_bytes

from .random_kernels.tensors import COMBINE

FILL = 0xCD
"""Every byte of shared memory before a load."""

DYNAMIC = -9223372036854775808
TYPES = ("i8", "f8E4M3FN", "f8E5M2", "i16", "f16", "bf16", "i32", "ui32", "f32", "i64", "f64")
NAN_TYPES = ("f16", "bf16", "f32", "f64")
SWIZZLES = {"none": None, "32B": (1, 4, 3), "64B": (2, 4, 3), "128B": (3, 4, 3)}
"""Bits, base and shift of the XOR on byte addresses (PTX ISA, swizzling modes)."""

REDUCTIONS = {
    "add": ("ui32", "i32", "f16", "bf16", "f32", "f64"),
    "min": ("ui32", "i32", "i64", "f16", "bf16"),
    "max": ("ui32", "i32", "i64", "f16", "bf16"),
    "and": ("ui32", "i32"), "or": ("ui32", "i32"), "xor": ("ui32", "i32"),
    "inc": ("ui32",), "dec": ("ui32",),
}  # fmt: skip
"""Element types of each reduction; those that an H200 executes."""


@dataclass(frozen=True)
class Copy:
    """One kernel. ``tile``: sizes of the copy, in elements. ``aligned``: start offsets are promised to be multiples of
    16 bytes; otherwise the kernel has to look, and may copy by threads."""

    element: str
    tile: tuple[int, ...]
    swizzle: str = "none"
    atoms: bool = False
    store: bool = False
    reduce: str = ""
    nan: bool = False
    aligned: bool = True

    @property
    def element_bytes(self) -> int:
        return dtype(self.element).bytes

    @property
    def unit(self) -> int:
        """Elements in 16 bytes."""
        return 16 // self.element_bytes

    @property
    def words(self) -> int:
        """32-bit words of the shared tile."""
        return math.prod(self.tile) * self.element_bytes // 4

    @cached_property
    def attributes(self) -> dict:
        """What ``sim.definition`` reads."""
        extents, strides = self.tile, _dense(self.tile)
        if self.atoms:
            rows, width = self.tile[-2], 128 // self.element_bytes
            extents, strides = (rows, self.tile[-1] // width, width), (width, rows * width, 1)
        return {
            "direction": "store" if self.store else "load", "element_bytes": self.element_bytes, "sizes": self.tile,
            "shared_sizes": self.tile, "shared_shape": self.tile, "shared_extents": extents, "shared_strides": strides,
            "swizzle": SWIZZLES[self.swizzle], "mode": "tile", "fill": "nan" if self.nan else "zero",
        }  # fmt: skip

    def text(self) -> str:
        """The kernel ``copy(tensor, words of shared memory, start offsets...)``."""
        rank = len(self.tile)
        tensor = f"memref<{'?x' * rank}{self.element}, strided<[{'?, ' * (rank - 1)}1]>>"
        tile = f"memref<{'x'.join(map(str, self.tile))}x{self.element}, #gpu.address_space<workgroup>>"
        given = [f"%o{d}" for d in range(rank)]
        # Stores never start below zero; where the kernel does not check it, the text shows it.
        starts = [f"%s{d}" for d in range(rank)] if self.store and self.aligned else given
        bounded = "".join(
            f"{start} = arith.maxsi {number}, %c0 : index\n      "
            for start, number in zip(starts, given, strict=True)
            if start != number
        )
        dynamic, zeros = ", ".join([str(DYNAMIC)] * rank), ", ".join("0" * rank)
        extra = [f"sizes = array<i64: {', '.join(map(str, self.tile))}>"]
        if self.atoms:
            extra.append(f'{"source" if self.store else "destination"}_layout = #tile.atoms<"{self.swizzle}">')
        elif self.swizzle != "none":
            extra.append(f'swizzle = #tile.swizzle<"{self.swizzle}">')
        if self.aligned:
            side = "destination" if self.store else "source"
            divisors = ", ".join(map(str, [1] * (rank - 1) + [self.unit]))
            extra.append(f"assume = {{{side}_offsets = [{divisors}]}}")
        if self.reduce:
            extra.append(f'reduce = "{self.reduce}"')
        if self.nan:
            extra.append('oob = "nan"')
        if self.store:
            body = f"""
      scf.for %i = %thread to %words step %threads {{
        %word = memref.load %flat[%i] : memref<{self.words}xi32>
        memref.store %word, %shared[%i] : memref<{self.words}xi32, #gpu.address_space<workgroup>>
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      gpu.barrier
      scf.if %leader {{
        "tile.copy_async"(%tile, %tensor, {", ".join(starts)}) {{
          static_source_offsets = array<i64: {zeros}>, static_destination_offsets = array<i64: {dynamic}>,
          {", ".join(extra)}, operandSegmentSizes = array<i32: 1, 1, 0, {rank}, 0, 0, 0, 0, 0>
        }} : ({tile}, {tensor}{", index" * rank}) -> ()
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }}"""
        else:
            body = f"""
      %barrier = nvgpu.mbarrier.create -> !barrier
      scf.if %leader {{
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }}
      scf.for %i = %thread to %words step %threads {{
        memref.store %fill, %shared[%i] : memref<{self.words}xi32, #gpu.address_space<workgroup>>
      }}
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      gpu.barrier
      scf.if %leader {{
        "tile.copy_async"(%tensor, %tile, {", ".join(starts)}, %barrier, %c0) {{
          static_source_offsets = array<i64: {dynamic}>, static_destination_offsets = array<i64: {zeros}>, expect_tx,
          {", ".join(extra)}, operandSegmentSizes = array<i32: 1, 1, {rank}, 0, 1, 1, 0, 0, 0>
        }} : ({tensor}, {tile}{", index" * rank}, !barrier, index) -> ()
      }}
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %phase, %ticks : !barrier
      scf.for %i = %thread to %words step %threads {{
        %word = memref.load %shared[%i] : memref<{self.words}xi32, #gpu.address_space<workgroup>>
        memref.store %word, %flat[%i] : memref<{self.words}xi32>
      }}"""
        return f"""!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @copy(%tensor: {tensor}, %flat: memref<{self.words}xi32>,
                   {", ".join(f"{each}: index" for each in given)}) kernel
        attributes {{known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>,
                    tile.dynamic_shared_bytes = {4 * self.words} : i64}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %threads = arith.constant 32 : index
      %words = arith.constant {self.words} : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      {bounded}%fill = arith.constant {int.from_bytes(bytes([FILL] * 4), "little", signed=True)} : i32
      %thread = gpu.thread_id x
      %leader = arith.cmpi eq, %thread, %c0 : index
      %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to {tile}
      %shared = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
        to memref<{self.words}xi32, #gpu.address_space<workgroup>>
{body}
      gpu.return
    }}
  }}
}}
"""


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def random_copy(rng: np.random.Generator) -> Copy:
    """Any legal kernel of up to 16 KiB."""
    reduce = str(rng.choice(list(REDUCTIONS))) if rng.random() < 0.25 else ""
    element = str(rng.choice(REDUCTIONS[reduce] if reduce else TYPES))
    swizzle = str(rng.choice(list(SWIZZLES)))
    size, rank = dtype(element).bytes, int(rng.integers(1, 6))
    store = bool(reduce) or rng.random() < 0.4
    span = {"none": 256, "32B": 32, "64B": 64, "128B": 128}[swizzle]
    atoms = swizzle == "128B" and rank == 2 and rng.random() < 0.5
    if atoms:
        tile = [8 * int(rng.integers(1, 5)), 128 // size * int(rng.integers(1, 4))]
    else:
        # The XOR is on whole rows of the tile, so that rows are as long as its span.
        tile = [(span if swizzle != "none" else 16 * int(rng.integers(1, 17))) // size]
        room = 16384 // (tile[0] * size)
        for _ in range(rank - 1):
            tile.insert(0, int(rng.integers(1, min(room, 9) + 1)))
            room //= tile[0]
    nan = not store and element in NAN_TYPES and rng.random() < 0.4
    # Reductions have no other way than TMA to take.
    aligned = bool(reduce) or rng.random() < 0.6
    return Copy(element, tuple(tile), swizzle, atoms, store, reduce, nan, aligned)


@dataclass
class Arguments:
    """``tensor`` lies in ``memory`` with gaps between its rows; ``flat``: the words of shared memory."""

    memory: np.ndarray
    tensor: np.ndarray
    flat: np.ndarray
    starts: tuple[int, ...]

    def copy(self) -> Arguments:
        memory = self.memory.copy()
        offset = self.tensor.__array_interface__["data"][0] - self.memory.__array_interface__["data"][0]
        tensor = np.ndarray(self.tensor.shape, self.tensor.dtype, memory.data, offset, self.tensor.strides)
        return Arguments(memory, tensor, self.flat.copy(), self.starts)

    @property
    def all(self) -> tuple:
        return self.tensor, self.flat, *self.starts


def random_arguments(copy: Copy, rng: np.random.Generator) -> Arguments:
    """A tensor of up to a few tiles and a start in or around it."""
    size, unit, kind = copy.element_bytes, copy.unit, dtype(copy.element).numpy
    shape = [int(rng.integers(1, 3 * extent + 2)) for extent in copy.tile]
    if copy.store:
        shape[-1] = -(-shape[-1] // unit) * unit  # a store writes whole 16 bytes (rule: store clip granularity)
    strides = [size]
    pitch = -(-shape[-1] * size // 16) * 16
    for extent in reversed(shape[1:] if len(shape) > 1 else []):
        strides.insert(0, pitch + 16 * int(rng.integers(0, 3)))
        pitch = strides[0] * max(shape[len(shape) - len(strides)], 1)
        del extent
    starts = []
    for d, (extent, tile) in enumerate(zip(shape, copy.tile, strict=True)):
        step = unit if d == len(shape) - 1 and (copy.aligned or rng.random() < 0.5) else 1
        low = 0 if copy.store else -(tile - 1)
        starts.append(
            int(rng.integers(low // step, (extent + tile) // step + 1)) * step if extent > 1 or tile > 1 else 0
        )
        starts[-1] = max(starts[-1], 0) if copy.store else starts[-1]
    span = size + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    # NumPy aligns to 16 bytes or more; a device copy is aligned anyway.
    memory = _bytes(copy, rng, span)
    tensor = np.ndarray(tuple(shape), kind, memory.data, 0, tuple(strides))
    flat = _bytes(copy, rng, 4 * copy.words).view(np.int32) if copy.store else np.zeros(copy.words, np.int32)
    return Arguments(memory, tensor, flat, tuple(starts))


def _bytes(copy: Copy, rng: np.random.Generator, count: int) -> np.ndarray:
    """Random bytes, for sums and comparisons of floats those of small whole numbers."""
    kind = dtype(copy.element)
    if not (copy.reduce and kind.is_float):
        return rng.integers(0, 256, count, np.uint8)
    numbers = rng.integers(-50, 50, -(-count // kind.bytes)).astype(np.float64).astype(kind.numpy)
    return numbers.view(np.uint8)[:count].copy()


def apply(copy: Copy, arguments: Arguments) -> None:
    """The copy by its definition: changes the arguments as the kernel must."""
    size = copy.element_bytes
    tensor = arguments.tensor
    base = tensor.__array_interface__["data"][0] - arguments.memory.__array_interface__["data"][0]
    operands = CopyOperands(
        base, 0, None, tensor.shape, tuple(step // size for step in tensor.strides), arguments.starts,
        (0,) * len(copy.tile),
    )  # fmt: skip
    found: Elements = elements(copy.attributes, operands)
    lanes = np.arange(size)
    outside = np.flatnonzero(~found.inside)
    inside = np.flatnonzero(found.inside)
    in_memory = found.global_addresses[inside, None] + lanes
    shared = arguments.flat.view(np.uint8)
    if not copy.store:
        shared[:] = FILL
        shared[found.shared_addresses[inside, None] + lanes] = arguments.memory[in_memory]
        shared[found.shared_addresses[outside, None] + lanes] = fill_bytes(copy.attributes)
        return
    new = shared[found.shared_addresses[inside, None] + lanes]
    if copy.reduce:
        kind = dtype(copy.element).numpy
        old = arguments.memory[in_memory].view(kind)
        with np.errstate(over="ignore"):
            new = np.ascontiguousarray(COMBINE[copy.reduce](old, new.view(kind)).astype(kind)).view(np.uint8)
    arguments.memory[in_memory] = new
