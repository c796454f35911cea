"""Random tiles, loads and drains, each legal by the rules of docs/hardware.md and docs/dialect.md.

``exact`` asks for what only TMA can do (multicast, reductions, rounding to tf32, im2col), so that every rule of TMA has
to hold provably; otherwise odd pitches, widths and starts are as likely, and the planner finds another way.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from .drains import Change, Drain, arithmetic_of, has_float_arithmetic
from .frame import Frame
from .starts import Condition, Start
from .streams import Im2col, Load
from .tensors import FLOATS, NUMPY, REDUCTIONS, Tensor, dense, size_of
from .tiles import SPANS, Tile

SWIZZLES = ("none", "32B", "64B", "128B")


class Dice:
    """Choices from one generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one_of(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def between(self, low: int, high: int) -> int:
        """Both ends included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)


def random_tile(dice: Dice, element: str, *, exact: bool, stages: int, budget: int, name: str) -> Tile:
    """At most ``budget`` bytes a stage."""
    size, rank = size_of(element), dice.one_of(1, 2, 2, 2, 3, 3, 4, 5)
    if dice.chance(0.15):
        swizzle = dice.one_of(*SWIZZLES[1:])
        width = SPANS[swizzle] // size
        rows, columns = 8 * dice.between(1, 2), width * dice.between(1, 3)
        while rows * columns * size > budget:
            rows, columns = 8, width * max(1, columns // width // 2)
            if columns == width:
                break
        outer = [2] if dice.chance(0.2) and 2 * rows * columns * size <= budget else []
        tile = Tile(name, element, (*outer, rows, columns), swizzle, atoms=True)
    else:
        swizzle = dice.one_of("none", "none", "none", *SWIZZLES)
        tile = Tile(name, element, _plain_shape(dice, size, rank, swizzle, exact, budget), swizzle)
    tile.stages = stages
    period = 128 if swizzle == "none" else 1024
    if dice.chance(0.4) and (stages == 1 or tile.bytes % period == 0 or (not exact and swizzle == "none")):
        tile.home = dice.one_of("global", "direct")
    return tile


def _plain_shape(dice: Dice, size: int, rank: int, swizzle: str, exact: bool, budget: int) -> tuple[int, ...]:
    span = SPANS[swizzle]
    if span:
        if exact:  # each box begins at a multiple of 128 bytes
            inner = span * 2 if span == 128 and dice.chance(0.2) else span
        else:
            inner = span if dice.chance(0.7) else 16 * dice.between(1, span // 8)
    elif exact or dice.chance(0.65):
        inner = 16 * dice.between(1, 8)
    else:
        inner = size * dice.between(1, 40)
    shape, room = [inner // size], budget // inner
    for left in range(rank - 1, 0, -1):
        most = max(1, min(room, 12 if left == rank - 1 else 4))
        shape.insert(0, dice.between(1, most))
        room //= shape[0]
    if span:  # the XOR must not leave the tile
        while math.prod(shape) * size % 128:
            if rank == 1:
                shape[-1] = 128 // size
            else:
                shape[0] += 1
    return tuple(shape)


def with_unit_sizes(dice: Dice, tile: Tile) -> tuple[int, ...]:
    """Sizes of a copy for ``tile``, perhaps with more dimensions of size one."""
    sizes = list(tile.shape)
    while len(sizes) < 5 and tile.home != "direct" and dice.chance(0.15):
        sizes.insert(dice.between(0, len(sizes) - 1), 1)
    return tuple(sizes)


def moves(dice: Dice, frame: Frame, sizes: Sequence[int], by_cluster: bool = False) -> list[dict[str, int]]:
    """For each dimension how far steps of each kind move, so that no two positions overlap."""
    x = ("per_cluster", frame.grid[0] // frame.cluster) if by_cluster else ("per_x", frame.grid[0])
    order = [x, ("per_y", frame.grid[1]), ("per_step", frame.steps)]
    dice.rng.shuffle(order)
    found: list[dict[str, int]] = [{} for _ in sizes]
    reach = list(sizes)
    for kind, count in order:
        if int(count) > 1:
            d = dice.between(0, len(sizes) - 1)
            found[d][str(kind)] = reach[d]
            reach[d] *= int(count)
    return found


def start_of(base: int, moves: dict[str, int]) -> Start:
    return dataclasses.replace(Start(base), **moves)


def reach_of(frame: Frame, starts: Sequence[Start], sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """The lowest start and the highest end in each dimension."""
    found = [[start.at(position) for start in starts[: len(sizes)]] for position, _ in frame.positions()]
    found = found or [[start.base for start in starts]]
    low = [min(each) for each in zip(*found, strict=True)]
    high = [max(each) + size for each, size in zip(zip(*found, strict=True), sizes, strict=True)]
    return low, high


def random_tensor(dice: Dice, name: str, element: str, shape: list[int], *, exact: bool, odd: bool) -> Tensor:
    """Strides, offset and what of it the type leaves open. ``odd``: nothing has to be a multiple of 16 bytes."""
    size = size_of(element)
    unit = 1 if odd else 16 // size
    strides, step = [1], -(-shape[-1] // unit) * unit
    for extent in reversed(shape[1:] if len(shape) > 1 else []):
        del extent
        d = len(shape) - len(strides) - 1
        if dice.chance(0.3):
            step += unit * dice.between(1, 3)
        strides.insert(0, step)
        step *= shape[d]
    tensor = Tensor(name, element, tuple(shape), tuple(strides))
    rank = len(shape)
    if not exact and dice.chance(0.06) and rank == 2:
        tensor.strides = (1, shape[0])
    elif dice.chance(0.2):
        tensor.offset = unit * dice.between(1, 9)
    if dice.chance(0.35):
        tensor.dynamic_shape = tuple(dice.chance(0.6) and (not odd or d < rank - 1) for d in range(rank))
        strided = tensor.strides != dense(tensor.shape) or tensor.offset != 0 or dice.chance(0.4)
        if odd and tensor.strides == dense(tensor.shape):
            # The strides follow from the sizes, and would have to be multiples of 16 bytes at the launch.
            tensor.dynamic_shape = tuple(each and d == 0 < rank - 1 for d, each in enumerate(tensor.dynamic_shape))
        elif strided and not odd and tensor.strides[-1] == 1:
            tensor.dynamic_strides = (*(dice.chance(0.6) for _ in range(rank - 1)), False)
            tensor.dynamic_offset = tensor.offset == 0 and dice.chance(0.3)
        elif not strided:
            # Without a layout the strides are those of a dense tensor.
            tensor.strides = dense(tensor.shape)
    return tensor


def random_load(dice: Dice, frame: Frame, tile: Tile, name: str, *, exact: bool, by_cluster: bool, nan: bool) -> Load:
    element, size = tile.element, size_of(tile.element)
    unit = 16 // size
    sizes = with_unit_sizes(dice, tile)
    odd = not exact and (tile.shape[-1] * size % 16 != 0 or dice.chance(0.3))
    starts = []
    for d, step in enumerate(moves(dice, frame, sizes, by_cluster)):
        last = d == len(sizes) - 1
        if dice.chance(0.3):  # other distances: overlapping, or with gaps
            step = {kind: max(1, far + dice.between(-2, 2)) for kind, far in step.items()}
        grain = unit if last and not (odd and dice.chance(0.5)) else 1
        if last and grain > 1:
            step = {kind: max(unit, far // unit * unit) for kind, far in step.items()}
        base = grain * dice.between(-(sizes[d] - 1) // grain // 2, 3) if dice.chance(0.4) else 0
        starts.append(start_of(base, step))
    load = Load(Tensor(name, element, (), ()), tile, sizes, starts)
    _give_argument(dice, load.starts, load.attributes, "source", unit, exact=exact, odd=odd)
    low, high = reach_of(frame, starts, sizes)
    inside = all(each >= 0 for each in low) and dice.chance(0.6)
    shape = []
    for extent, end in zip(sizes, high, strict=True):
        end = max(end, 1)
        shape.append(end + dice.between(0, 3) if inside else max(1, end + dice.between(-extent, 3)))
    load.tensor = random_tensor(dice, name, element, shape, exact=exact, odd=odd)
    provable = inside and all(e <= s for e, s in zip(high, load.tensor.shape, strict=True))
    if provable and dice.chance(0.3):
        load.attributes.append("in_bounds")
    if nan and element in FLOATS and dice.chance(0.3):
        load.nan = True
        load.attributes.append('oob = "nan"')
    elif exact and element == "f32" and dice.chance(0.4) and not by_cluster:
        load.tf32 = True
        load.attributes.append("tf32")
    return load


def _give_argument(
    dice: Dice, starts: list[Start], attributes: list[str], side: str, unit: int, *, exact: bool, odd: bool
) -> None:
    """Makes one start depend on a kernel argument; where all has to be proven, with a promise of its divisor."""
    if not dice.chance(0.15 if exact else 0.3):
        return
    d = dice.between(0, len(starts) - 1)
    last = d == len(starts) - 1
    step = unit if last and (exact or dice.chance(0.6)) else 1
    start = starts[d]
    clamped = exact and side == "destination"
    starts[d] = Start(
        start.base, start.per_x, start.per_y, start.per_cluster, start.per_step, "ARGUMENT", step * dice.between(0, 4),
        clamped,
    )  # fmt: skip
    if last and step > 1 and not odd and (exact or dice.chance(0.5)):
        divisors = [1] * (len(starts) - 1) + [unit]
        aligned = all(
            number % unit == 0 for number in (start.base, start.per_x, start.per_y, start.per_cluster, start.per_step)
        )
        if aligned:
            attributes.append(f"assume = {{{side}_offsets = {divisors}}}")


def random_im2col(dice: Dice, frame: Frame, tile: Tile, name: str) -> Load:
    """Pixels in rows of channels; ``tile`` has rank 2."""
    element = tile.element
    unit = 16 // size_of(element)
    pixel_count, channels = tile.shape
    spatial = dice.between(1, 3)
    extents = [dice.between(2, 5) for _ in range(spatial)]
    lower = [dice.between(-2, 1) for _ in range(spatial)]
    upper = [max(dice.between(-2, 1), low - extent + 1) for low, extent in zip(lower, extents, strict=True)]
    strides = [dice.one_of(1, 1, 1, 2) for _ in range(spatial)]
    shape = [dice.between(1, 3), *extents, channels + unit * dice.between(0, 2)]
    moving = [Start(0, per_x=1 if frame.grid[0] > 1 else 0, per_step=1 if frame.steps > 1 else 0)]
    starts = [*moving, *(Start(low) for low in lower), Start(unit * dice.between(0, 1))]
    starts += [Start(dice.between(0, 3)) for _ in range(spatial)]
    tensor = Tensor(name, element, tuple(shape), dense(tuple(shape)))
    box_text = f"{{lower_corner = {lower}, upper_corner = {upper}, traversal_strides = {strides}}}"
    attributes = ['mode = "im2col"', f"im2col = {box_text}"]
    load = Load(tensor, tile, (pixel_count, channels), starts, attributes)
    load.im2col = Im2col(tuple(lower), tuple(upper), tuple(strides))
    return load


def random_out(dice: Dice, frame: Frame, tile: Tile, name: str, *, filled: bool = False) -> Drain:
    """Threads write the tile to an array of all steps, or fill it from one."""
    dynamic = tile.home == "dynamic"
    word = dynamic and tile.bytes % 16 == 0 and dice.chance(0.4)
    drain = Drain(tile, "i32" if word else tile.element, filled=filled)
    if word:
        drain.vectors = dice.chance(0.6)
    else:
        drain.logical = dice.chance(0.6)
        if dynamic and dice.chance(0.5):
            drain.element = arithmetic_of(tile.element)
    if drain.element in ("i8", "i16", "i32", "i64") and dice.chance(0.6):
        drain.change = Change(dice.one_of("xori", "addi"), dice.between(1, 100))
    count = tile.bytes // np.dtype(NUMPY[drain.element]).itemsize
    drain.out = Tensor(name, drain.element, (frame.rows, count), (count, 1))
    return drain


def random_store(dice: Dice, frame: Frame, tile: Tile, name: str, *, reduce: str, filled: bool, in_name: str) -> Drain:
    """A copy out of the tile, after threads changed or filled it."""
    element, size = tile.element, size_of(tile.element)
    unit = 16 // size
    if filled:
        drain = random_out(dice, frame, tile, in_name, filled=True)
        if reduce:
            drain.change = Change()
    else:
        drain = Drain(tile, element)
        dynamic = tile.home == "dynamic"
        if has_float_arithmetic(element) and reduce:
            drain.change = Change("addf", 1) if dice.chance(0.4) else Change()
        elif dice.chance(0.5) and (dynamic or element in ("i8", "i16", "i32", "i64")):
            drain.element = arithmetic_of(element) if dynamic else element
            drain.change = Change(dice.one_of("xori", "addi"), dice.between(1, 100))
    drain.reduce = reduce
    drain.sizes = sizes = with_unit_sizes(dice, tile)
    exact = bool(reduce)
    odd = not exact and (tile.shape[-1] * size % 16 != 0 or dice.chance(0.25))
    together = reduce and reduce not in ("inc", "dec") and dice.chance(0.3)
    found: list[dict[str, int]] = [{} for _ in sizes] if together else moves(dice, frame, sizes)
    starts = []
    for d, step in enumerate(found):
        last = d == len(sizes) - 1
        grain = unit if last and not (odd and dice.chance(0.5)) else 1
        starts.append(start_of(grain * dice.between(0, 3) if dice.chance(0.4) else 0, step))
    drain.starts = starts
    _give_argument(dice, starts, drain.attributes, "destination", unit, exact=exact, odd=odd)
    _, high = reach_of(frame, starts, sizes)
    shape = []
    for d, (extent, end) in enumerate(zip(sizes, high, strict=True)):
        found_extent = max(1, end + dice.between(-extent, 3) if dice.chance(0.5) else end)
        if d == len(sizes) - 1 and not odd:
            found_extent = max(2, -(-found_extent // unit) * unit)
        shape.append(found_extent)
    drain.target = random_tensor(dice, name, element, shape, exact=exact, odd=odd)
    if dice.chance(0.15):
        drain.predicate = random_condition(dice, frame)
    return drain


def random_condition(dice: Dice, frame: Frame) -> Condition:
    """One that is not false everywhere: the compiler would see it, and the simulator say that nothing is stored."""
    found = Condition(dice.between(0, 3), dice.between(2, 4))
    if any(found.at(position) for position, _ in frame.positions()):
        return found
    return Condition(found.first + 1, found.period)


def reduction_for(dice: Dice, element: str) -> str:
    return dice.one_of(*REDUCTIONS[element]) if element in REDUCTIONS else ""
