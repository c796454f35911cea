"""What becomes of a tile: threads change it, write it out, or a copy stores it or reduces it into a tensor."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .copies import copy_async
from .starts import Condition, Point, Position, Start
from .streams import EVICT_FIRST
from .tensors import FLOATS, NUMPY, Tensor, box
from .text import Operand, Writer
from .tiles import Tile


@dataclass(frozen=True)
class Change:
    """What threads do to each element: nothing, or ``operation`` with ``number``."""

    operation: str = ""
    number: int = 0

    def text(self, w: Writer, value: str, type_: str) -> str:
        if not self.operation:
            return value
        if self.operation == "addf":
            number = w.let(f"arith.constant {self.number}.0 : {type_}")
        else:
            number = w.value(self.number, type_)
        return w.let(f"arith.{self.operation} {value}, {number} : {type_}")

    def of(self, tile: np.ndarray, element: str) -> np.ndarray:
        """The bytes of all of ``tile`` after the change, which takes elements of type ``element``."""
        if not self.operation:
            return tile.copy()
        kind = np.dtype(NUMPY[element])
        if self.operation == "addf":
            with np.errstate(all="ignore"):
                return (tile.view(kind) + kind.type(self.number)).astype(kind).view(np.uint8)
        kind = np.dtype(f"u{kind.itemsize}")
        number = np.array(self.number & (1 << 8 * kind.itemsize) - 1, kind)
        old = tile.view(kind)
        with np.errstate(over="ignore"):
            return (old ^ number if self.operation == "xori" else old + number).view(np.uint8)


@dataclass
class Drain:
    """``element``: type that threads read the tile with. ``logical``: they undo layout and swizzle.

    ``out``: where threads write what they read, a row for each step of each CTA. ``filled``: there is no load, and
    threads fill the tile from ``out``. ``target``: where a copy puts the tile after that.
    """

    tile: Tile
    element: str
    change: Change = Change()
    logical: bool = False
    vectors: bool = False
    out: Tensor | None = None
    filled: bool = False
    target: Tensor | None = None
    sizes: tuple[int, ...] = ()
    starts: list[Start] = field(default_factory=list)
    reduce: str = ""
    attributes: list[str] = field(default_factory=list)
    scope: str = "thread"
    predicate: Condition | None = None
    hint: bool = False

    @property
    def touches(self) -> bool:
        """Whether threads read or write the tile at all."""
        return self.out is not None or bool(self.change.operation)

    def by_threads(self, w: Writer, at: Point, row: Operand, thread: str, team: int) -> None:
        """The part that ``team`` threads do together."""
        if not self.touches:
            return
        width = 4 if self.vectors else 1
        size = np.dtype(NUMPY[self.element]).itemsize
        count = self.tile.bytes // size
        name, type_, base = self.tile.flat(w, at.stage, "" if self.element == self.tile.element else self.element)
        first = w.multiply(thread, width)
        with w.loop(first, count, team * width) as i:
            place = w.value(w.add(base, self.tile.place_of(w, i) if self.logical else i))
            value_type = f"vector<4x{self.element}>" if self.vectors else self.element

            def load(name: str, index: str, type_: str) -> str:
                if self.vectors:
                    return w.let(f"vector.load {name}[{index}] : {type_}, {value_type}")
                return w.let(f"memref.load {name}[{index}] : {type_}")

            def store(value: str, name: str, index: str, type_: str) -> None:
                kind = f", {value_type}" if self.vectors else ""
                w.line(f"{'vector' if self.vectors else 'memref'}.store {value}, {name}[{index}] : {type_}{kind}")

            if self.filled:
                assert self.out is not None
                value = load(self.out.name, f"{w.value(row)}, {i}", self.out.type)
                store(self._changed(w, value), name, place, type_)
            else:
                value = self._changed(w, load(name, place, type_))
                if self.out is not None:
                    store(value, self.out.name, f"{w.value(row)}, {i}", self.out.type)
                else:
                    store(value, name, place, type_)

    def _changed(self, w: Writer, value: str) -> str:
        if not self.vectors or not self.change.operation:
            return self.change.text(w, value, self.element)
        type_ = f"vector<4x{self.element}>"
        number = w.let(f"arith.constant dense<{self.change.number}> : {type_}")
        return w.let(f"arith.{self.change.operation} {value}, {number} : {type_}")

    def store(self, w: Writer, at: Point) -> None:
        assert self.target is not None
        target = self.target.name, self.target.type, [start.text(w, at) for start in self.starts]
        attributes = [*self.attributes, self.tile.attribute]
        attributes += [f'reduce = "{self.reduce}"'] if self.reduce else []
        attributes += [f'scope = "{self.scope}"'] if self.scope != "thread" else []
        predicate = self.predicate.text(w, at) if self.predicate else None
        hint = w.value(EVICT_FIRST, "i64") if self.hint else None
        copy_async(w, self.tile.operand(w, at.stage), target, self.sizes, attributes, predicate=predicate, hint=hint)

    def apply(self, tile: np.ndarray, at: Position, row: int) -> None:
        """What the step does to the tensors, by definition; ``tile``: its bytes as they lie, which change too."""
        size = np.dtype(NUMPY[self.element]).itemsize
        places = self.tile.addresses() if self.logical else np.arange(0, self.tile.bytes, size)
        lanes = places[:, None] + np.arange(size)
        if self.filled:
            assert self.out is not None
            tile[lanes] = self.out.memory.reshape(self.out.shape[0], -1)[row].reshape(-1, size)
        if self.touches:
            changed = self.change.of(tile, self.element)
            if self.out is not None and not self.filled:
                self.out.expected.reshape(self.out.shape[0], -1)[row] = changed[lanes].reshape(-1)
            else:
                tile[:] = changed
        if self.target is not None and (self.predicate is None or self.predicate.at(at)):
            values = tile[self.tile.addresses()[:, None] + np.arange(self.target.element_bytes)]
            index = box([start.at(at) for start in self.starts], self.sizes)
            self.target.write(index, values, self.reduce)


def arithmetic_of(element: str) -> str:
    """The integer type of the same width, on which threads can work whatever the elements are."""
    return f"i{8 * np.dtype(NUMPY[element]).itemsize}"


def has_float_arithmetic(element: str) -> bool:
    return element in FLOATS
