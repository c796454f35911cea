"""Tiles in shared memory: where each element lies, and how threads reach it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .tensors import dense, size_of
from .text import SHARED, Operand, Writer, shared_memref

XOR_BITS = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
"""Address bits from bit 4 on that a swizzle XORs with those from bit 7 on (docs/hardware.md, execution rule 5)."""
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


@dataclass
class Tile:
    """One shared tile for each of ``stages``. ``atoms``: swizzle atoms of 8 rows, down the rows, then across.

    ``home`` says where it is: ``dynamic`` in dynamic shared memory at ``start``, ``global`` in a memref.global of its
    own, reached through a subview, or ``direct``, with the stage as an offset of the copy.
    """

    name: str
    element: str
    shape: tuple[int, ...]
    swizzle: str = "none"
    atoms: bool = False
    stages: int = 1
    home: str = "dynamic"
    start: int = 0

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count * size_of(self.element)

    @property
    def stage_bytes(self) -> int:
        """Bytes from one stage to the next."""
        if self.home != "dynamic":
            return self.bytes
        unit = 1024 if self.swizzle != "none" else 128
        return -(-self.bytes // unit) * unit

    @property
    def attribute(self) -> str:
        """The layout for a copy; "LAYOUT" stands for source_layout or destination_layout."""
        if self.atoms:
            return f'LAYOUT = #tile.atoms<"{self.swizzle}">'
        return f'swizzle = #tile.swizzle<"{self.swizzle}">' if self.swizzle != "none" else ""

    def addresses(self) -> np.ndarray:
        """The byte offset of each element from the tile's start, in row-major order of ``shape``."""
        size = size_of(self.element)
        flat = np.arange(self.count)
        if self.atoms:
            rows, columns, width = self._atoms()
            outer, row, column = flat // (rows * columns), flat // columns % rows, flat % columns
            flat = outer * rows * columns + column // width * (rows * width) + row * width + column % width
        address = flat * size
        return address ^ (address >> 3 & ((1 << XOR_BITS[self.swizzle]) - 1) << 4)

    def _atoms(self) -> tuple[int, int, int]:
        """Rows, columns, and columns of one atom."""
        return self.shape[-2], self.shape[-1], SPANS[self.swizzle] // size_of(self.element)

    def place_of(self, w: Writer, index: Operand) -> Operand:
        """The place of element ``index`` (row-major) among the elements as they lie in memory."""
        if self.atoms:
            rows, columns, width = self._atoms()
            row, column = w.remainder(w.divide(index, columns), rows), w.remainder(index, columns)
            outer = w.multiply(w.divide(index, rows * columns), rows * columns)
            across = w.multiply(w.divide(column, width), rows * width)
            within = w.add(w.multiply(row, width), w.remainder(column, width))
            index = w.add(w.add(outer, across), within)
        if self.swizzle == "none":
            return index
        # Of byte addresses bits 7 and up go to bits 4 and up; of elements the same, less the bits within one.
        mask = ((1 << XOR_BITS[self.swizzle]) - 1) * (16 // size_of(self.element))
        name = w.value(index)
        high = w.let(f"arith.shrui {name}, {w.value(3)} : index")
        bits = w.let(f"arith.andi {high}, {w.value(mask)} : index")
        return w.let(f"arith.xori {name}, {bits} : index")

    def declaration(self) -> str:
        if self.home == "dynamic":
            return ""
        return f'memref.global "private" @{self.name} : {shared_memref((self.stages, *self.shape), self.element)}'

    def operand(self, w: Writer, stage: Operand) -> tuple[str, str, list[Operand]]:
        """The tile as a copy's operand: name, type, and its offsets."""
        zeros: list[Operand] = [0] * len(self.shape)
        if self.home == "dynamic":
            type_ = shared_memref(self.shape, self.element)
            return self._view(w, stage, type_), type_, zeros
        whole = shared_memref((self.stages, *self.shape), self.element)
        name = w.let(f"memref.get_global @{self.name} : {whole}")
        if self.home == "direct":
            return name, whole, [stage, *zeros]
        strides = dense(self.shape)
        offset = stage * self.count if isinstance(stage, int) else "?"
        place = f", offset: {offset}" if offset else ""
        type_ = f"memref<{'x'.join(map(str, self.shape))}x{self.element}, strided<{list(strides)}{place}>, {SHARED}>"
        starts = ", ".join(map(str, [stage, *zeros]))
        sizes = ", ".join(map(str, [1, *self.shape]))
        ones = ", ".join("1" for _ in range(len(self.shape) + 1))
        return w.let(f"memref.subview {name}[{starts}] [{sizes}] [{ones}] : {whole} to {type_}"), type_, zeros

    def flat(self, w: Writer, stage: Operand, element: str = "") -> tuple[str, str, Operand]:
        """The tile as a vector of elements as they lie, for threads: name, type, and the index of the first.

        ``element``: another type of elements, in dynamic shared memory.
        """
        element = element or self.element
        if self.home == "dynamic":
            type_ = shared_memref([self.bytes // size_of(element)], element)
            return self._view(w, stage, type_), type_, 0
        whole = shared_memref((self.stages, *self.shape), self.element)
        type_ = shared_memref([self.stages * self.count], self.element)
        dims = ", ".join(map(str, range(len(self.shape) + 1)))
        name = w.let(f"memref.get_global @{self.name} : {whole}")
        flat = w.let(f"memref.collapse_shape {name} [[{dims}]] : {whole} into {type_}")
        return flat, type_, w.multiply(stage, self.count)

    def _view(self, w: Writer, stage: Operand, type_: str) -> str:
        start = w.value(w.add(w.multiply(stage, self.stage_bytes), self.start))
        return w.let(f"memref.view %ring[{start}][] : memref<?xi8, {SHARED}> to {type_}")
