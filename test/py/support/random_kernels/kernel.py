"""One random kernel from a seed: text, arguments and what they are after it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from . import choices
from .body import Body
from .choices import Dice
from .drains import Drain
from .frame import Frame, Multicast
from .starts import Start
from .streams import Load
from .tensors import FLOATS, NUMPY, Tensor
from .tiles import Tile

BUDGET_BYTES = 1024
"""Of one tile: simulating a kernel takes milliseconds."""


@dataclass
class RandomKernel:
    """``arguments`` are tensors and numbers, in order. ``family`` names the schedule and what else is special."""

    seed: int
    text: str
    arguments: list[Tensor | int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    family: str
    features: list[str] = field(default_factory=list)

    def arrays(self) -> tuple[list[np.ndarray], list[np.ndarray | int]]:
        """Fresh memory of the tensors, and the arguments on it."""
        memories = [tensor.memory.copy() for tensor in self.tensors]
        views = iter(tensor.array(memory) for tensor, memory in zip(self.tensors, memories, strict=True))
        return memories, [next(views) if isinstance(each, Tensor) else each for each in self.arguments]

    @property
    def tensors(self) -> list[Tensor]:
        return [each for each in self.arguments if isinstance(each, Tensor)]

    def differences(self, memories: list[np.ndarray]) -> list[str]:
        """Where ``memories`` are not what the kernel means; empty if they are."""
        found = []
        for tensor, memory in zip(self.tensors, memories, strict=True):
            wrong = np.flatnonzero(memory != tensor.expected)
            if wrong.size:
                at = int(wrong[0])
                found.append(
                    f"{tensor.name} : {tensor.type}: {wrong.size} of {memory.size} bytes differ, first byte {at} "
                    f"(element {at // tensor.element_bytes}): found {memory[at]:#x}, expected {tensor.expected[at]:#x}"
                )
        return found


def random_kernel(seed: int, attempt: int = 0) -> RandomKernel:
    """The kernel of ``seed``: the same for the same version of this package and of NumPy. ``attempt``: another one."""
    dice = Dice(np.random.default_rng([seed, attempt]))
    frame = _frame(dice)
    loads, drains = _parts(dice, frame)
    return _assemble(dice, seed, frame, loads, drains)


def _frame(dice: Dice) -> Frame:
    frame = Frame()
    frame.cluster = dice.one_of(1, 1, 1, 1, 2, 4)
    frame.schedule = dice.one_of("plain", "plain", "multistage", "ring", "ring")
    frame.stages = 1 if frame.schedule == "plain" else dice.between(2, 4)
    frame.steps = dice.between(1, 3) if frame.schedule == "plain" else dice.between(1, 9)
    frame.grid = (frame.cluster * dice.one_of(1, 1, 2), dice.one_of(1, 1, 1, 2))
    frame.steps_argument = dice.chance(0.3)
    if frame.steps_argument and dice.chance(0.1):
        frame.steps = 0
    if frame.cluster > 1 and dice.chance(0.7):
        frame.multicast = _multicast(dice, frame.cluster)
    if frame.multicast is None and frame.steps > 1 and dice.chance(0.2):
        frame.fewer = 1
    frame.cluster_barriers = frame.multicast is not None or dice.chance(0.5)
    if frame.schedule == "ring":
        frame.block = (32 * dice.between(2, 4), 1)
    else:
        frame.block = dice.one_of((32, 1), (64, 1), (96, 1), (128, 1), (32, 2), (16, 4))
    frame.counters = dice.one_of("remainder", "carried")
    frame.wait = dice.one_of("tile.wait", "tile.wait", "try_wait")
    scopes = {"plain": ("thread", "warp", "cta"), "multistage": ("thread", "warp", "cta"), "ring": ("thread", "warp")}
    frame.scope = dice.one_of(*scopes[frame.schedule])
    frame.announce = dice.one_of("attribute", "attribute", "each", "before", "after")
    if frame.multicast is not None:
        # Every CTA announces what arrives, whoever issues it.
        frame.announce = dice.one_of("before", "after")
        if frame.multicast.split and not frame.multicast.by_all and dice.chance(0.5):
            # Each CTA executes one copy of each load, under conditions unless all share it: nothing can be merged.
            frame.announce = "attribute" if frame.multicast.split == frame.cluster else "each"
    frame.features |= {each for each in ("explicit fence", "final wait") if dice.chance(0.6)}
    return frame


def _multicast(dice: Dice, cluster: int) -> Multicast:
    """Who loads for whom: one CTA for any others, groups of CTAs with one that loads for each, or CTAs that share."""
    kind = dice.one_of("one", "one", "split", "split", "groups")
    ranks = [int(rank) for rank in dice.rng.permutation(cluster)]
    argument = dice.chance(0.3)
    if kind == "split":
        split = cluster if dice.chance(0.4) else 2
        mask = sum(1 << rank for rank in ranks[:split])
        masks = tuple(mask if rank in ranks[:split] else 0 for rank in range(cluster))
        return Multicast(masks, split, dice.chance(0.3), argument)
    if kind == "one":
        mask = dice.between(1, (1 << cluster) - 1)
        return Multicast(tuple(mask if rank == ranks[0] else 0 for rank in range(cluster)), argument=argument)
    masks = [0] * cluster
    while ranks:
        group, ranks = ranks[: (size := dice.between(1, len(ranks)))], ranks[size:]
        masks[group[0]] = sum(1 << rank for rank in group)
    return Multicast(tuple(masks))


def _parts(dice: Dice, frame: Frame) -> tuple[list[Load], list[Drain]]:
    loads: list[Load] = []
    drains: list[Drain] = []
    if frame.schedule == "plain" and frame.multicast is None and dice.chance(0.3):
        drains.append(_drain(dice, frame, 0, None, exact=False))
        return [], _settled(dice, frame, [], drains)
    budget = BUDGET_BYTES if frame.schedule == "plain" else BUDGET_BYTES // 2
    for index in range(1 if dice.chance(0.65) else 2):
        kind = "load"
        multicast = frame.multicast is not None and (index == 0 or dice.chance(0.5))
        if not multicast and dice.chance(0.06):
            kind = "im2col"
        exact = multicast or kind == "im2col" or dice.chance(0.3)
        element = dice.one_of(*NUMPY)
        tile = choices.random_tile(dice, element, exact=exact, stages=frame.stages, budget=budget, name=f"tile{index}")
        if kind == "im2col":
            width = {"none": 64, "32B": 32, "64B": 64, "128B": 128}[tile.swizzle]
            columns = width // np.dtype(NUMPY[element]).itemsize
            tile = dataclasses.replace(tile, atoms=False, home="dynamic", shape=(8 * dice.between(1, 2), columns))
            load = choices.random_im2col(dice, frame, tile, f"%a{index}")
        else:
            if multicast and frame.multicast is not None and frame.multicast.split:
                tile = _divisible(tile, frame.multicast.split)
            load = choices.random_load(
                dice, frame, tile, f"%a{index}", exact=exact, by_cluster=multicast, nan=not dice.chance(0.3)
            )
        load.multicast = multicast
        load.hint = dice.chance(0.1)
        load.prefetched = dice.chance(0.15) and not any(start.argument for start in load.starts)
        loads.append(load)
        drains.append(_drain(dice, frame, index, load, exact=exact))
    if len(loads) == 1 and frame.multicast is None and dice.chance(0.12):
        loads[0].predicate = choices.random_condition(dice, frame)
        frame.announce = dice.one_of("before", "after")
    return loads, _settled(dice, frame, loads, drains)


def _divisible(tile: Tile, parts: int) -> Tile:
    """``tile`` with rows that ``parts`` CTAs share evenly, each part whole periods of its swizzle."""
    size = np.dtype(NUMPY[tile.element]).itemsize
    inner = {"none": 32, "32B": 32, "64B": 64, "128B": 128}[tile.swizzle]
    period = 1024 if tile.swizzle == "128B" else inner * 8
    shape = (period // inner * parts, inner // size)
    return dataclasses.replace(tile, shape=shape, atoms=False, home="dynamic")


def _drain(dice: Dice, frame: Frame, index: int, load: Load | None, *, exact: bool) -> Drain:
    """What becomes of ``load``, or a tile that threads fill if there is none. Also settles the tensors' bytes."""
    filled = load is None
    reduce = ""
    if load is None:
        element = dice.one_of(*NUMPY)
        reduce = choices.reduction_for(dice, element) if dice.chance(0.5) else ""
        tile = choices.random_tile(
            dice, element, exact=bool(reduce), stages=1, budget=BUDGET_BYTES, name=f"tile{index}"
        )
    else:
        tile = load.tile
        if dice.chance(0.25) and exact and not (load.nan or load.tf32 or load.im2col):
            reduce = choices.reduction_for(dice, tile.element)
    numbers = 0
    if reduce and tile.element in FLOATS:
        numbers = 3  # sums of 80 of them are exact even in bf16
    if filled or reduce or dice.chance(0.4):
        drain = choices.random_store(
            dice, frame, tile, f"%b{index}", reduce=reduce, filled=filled, in_name=f"%a{index}"
        )
        assert drain.target is not None
        if filled and numbers:
            assert drain.out is not None
            drain.element, drain.vectors = tile.element, False
            count = tile.count
            drain.out = Tensor(drain.out.name, tile.element, (frame.rows, count), (count, 1))
        drain.target.allocate(dice.rng, numbers)
    else:
        drain = choices.random_out(dice, frame, tile, f"%b{index}")
    if drain.out is not None:
        drain.out.allocate(dice.rng, numbers)
    if load is not None:
        load.tensor.allocate(dice.rng, numbers)
    return drain


def _settled(dice: Dice, frame: Frame, loads: list[Load], drains: list[Drain]) -> list[Drain]:
    """Chooses what depends on all parts: how stores are issued, stages are freed, and copies are made."""
    storing = [drain for drain in drains if drain.target is not None]
    scope = dice.one_of("thread", "thread", "warp", *(["cta"] if frame.schedule != "ring" else []))
    for drain in storing:
        drain.scope = scope
        drain.hint = dice.chance(0.1)
        drain.attributes += _options(dice, drain.hint)
    frame.release = "leader" if storing or frame.multicast else dice.one_of("leader", "all", "warps")
    lags = bool(storing) and frame.schedule == "ring" and not any(load.predicate for load in loads)
    frame.store_lag = lags and dice.chance(0.3)
    if frame.scope != "thread" and frame.multicast is not None:
        frame.scope = "thread"
    for load in loads:
        load.attributes += _options(dice, load.hint)
        _force(dice, load)
    if any(load.im2col for load in loads) and frame.announce == "each" and len(loads) == 1:
        frame.announce = "attribute"
    return drains


def _options(dice: Dice, hint: bool) -> list[str]:
    found = []
    if not hint and dice.chance(0.15):
        policy = dice.one_of("evict_first", "evict_last", "evict_normal", "evict_unchanged", "evict_first:0.5")
        found.append(f'cache = "{policy}"')
    if dice.chance(0.15):
        found.append(f"l2_promotion = {dice.one_of(0, 64, 128, 256)} : i64")
    return found


def _force(dice: Dice, load: Load) -> None:
    """Asks for one way of copying where it should be legal."""
    if load.multicast or load.im2col or load.tf32:
        return
    tensor, tile = load.tensor, load.tile
    size = tensor.element_bytes
    plain = not any(start.argument for start in load.starts)
    ways = ["simt"]
    if size >= 4 and not load.nan:
        ways.append("cp_async")
    inside = "in_bounds" in load.attributes
    aligned = all(
        value * size % 16 == 0
        for value in (*tensor.strides[:-1], tensor.offset, tile.shape[-1], *_last_numbers(load.starts[-1]))
    )
    static = not any(tensor.dynamic_strides) and not any(tensor.dynamic_shape)
    simple = tile.swizzle == "none" and not tile.atoms and tensor.strides[-1] == 1
    if inside and aligned and plain and static and simple and tile.home == "dynamic" and not tensor.dynamic_offset:
        ways.append("bulk")
    if aligned and plain and static and simple and tile.home == "dynamic":
        ways.append("tma")
    if dice.chance(0.25):
        load.attributes.append(f'variant = "{dice.one_of(*ways)}"')


def _last_numbers(start: Start) -> tuple[int, ...]:
    return start.base, start.per_x, start.per_y, start.per_cluster, start.per_step, start.value


def _assemble(dice: Dice, seed: int, frame: Frame, loads: list[Load], drains: list[Drain]) -> RandomKernel:
    arguments: list[Tensor | int] = []
    parameters: list[str] = []

    def add_tensor(tensor: Tensor | None) -> None:
        if tensor is not None:
            arguments.append(tensor)
            parameters.append(f"{tensor.name}: {tensor.type}")

    for load in loads:
        add_tensor(load.tensor)
    for drain in drains:
        add_tensor(drain.out)
        add_tensor(drain.target)
    for part in (*loads, *drains):
        for d, start in enumerate(part.starts):
            if start.argument:
                name = f"%n{len(arguments)}"
                part.starts[d] = dataclasses.replace(start, argument=name)
                arguments.append(start.value)
                parameters.append(f"{name}: index")
    if any(load.multicast for load in loads) and frame.multicast is not None and frame.multicast.argument:
        arguments.append(frame.multicast.mask)
        parameters.append("%mask: i16")
    if frame.steps_argument:
        arguments.append(frame.steps)
        parameters.append("%steps: index")
    shared_bytes = 0
    for drain in drains:
        tile = drain.tile
        if tile.home == "dynamic":
            unit = 128 if tile.swizzle == "none" else 1024
            tile.start = -(-shared_bytes // unit) * unit
            shared_bytes = tile.start + tile.stages * tile.stage_bytes
    body = Body(frame, loads, drains)
    lines = body.write()
    declarations = [each for drain in drains if (each := drain.tile.declaration())]
    if loads and body.remote:
        declarations.append(
            f'memref.global "private" @empty : memref<{frame.stages}xi64, #gpu.address_space<workgroup>>'
            " {alignment = 8 : i64}"
        )
    known = [f"known_block_size = array<i32: {frame.block[0]}, {frame.block[1]}, 1>"]
    if dice.chance(0.7) or frame.cluster > 1:
        known.append(f"known_grid_size = array<i32: {frame.grid[0]}, {frame.grid[1]}, 1>")
    if frame.cluster > 1:
        known.append(f"known_cluster_size = array<i32: {frame.cluster}, 1, 1>")
    if shared_bytes:
        known.append(f"tile.dynamic_shared_bytes = {shared_bytes} : i64")
    text = "\n".join(
        [
            "!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>"
            + (f", num_barriers = {frame.stages}>" if frame.stages > 1 else ">"),
            "!token = !nvgpu.mbarrier.token",
            "module attributes {gpu.container_module} {",
            "  gpu.module @kernels {",
            *("    " + each for each in declarations),
            f"    gpu.func @k({', '.join(parameters)}) kernel",
            f"        attributes {{{', '.join(known)}}} {{",
            *lines,
            "      gpu.return",
            "    }",
            "  }",
            "}",
            "",
        ]
    )
    _define(frame, loads, drains)
    family, features = _family(frame, loads), _features(frame, loads, drains)
    return RandomKernel(seed, text, arguments, (*frame.grid, 1), (*frame.block, 1), family, features)


def _define(frame: Frame, loads: list[Load], drains: list[Drain]) -> None:
    """What the tensors are after the kernel, step by step."""
    for position, row in frame.positions():
        if any(load.predicate is not None and not load.predicate.at(position) for load in loads):
            continue
        for index, drain in enumerate(drains):
            tile = np.full(drain.tile.bytes, 0xCD, np.uint8)
            if loads:
                loads[index].arrive(tile, position)
            drain.apply(tile, position, row)


def _family(frame: Frame, loads: list[Load]) -> str:
    parts = [frame.schedule if loads else "fill"]
    if frame.cluster > 1:
        parts.append("multicast" if frame.multicast else "cluster")
    return " ".join(parts)


def _features(frame: Frame, loads: list[Load], drains: list[Drain]) -> list[str]:
    found = {f"cluster {frame.cluster}", f"{frame.stages} stages", f"scope {frame.scope}"}
    for load in loads:
        found |= {load.tensor.element, f"swizzle {load.tile.swizzle}", f"rank {len(load.tensor.shape)}"}
        found |= {each for each in ("tf32", "nan", "im2col", "predicate", "multicast") if getattr(load, each)}
    for drain in drains:
        found.add(f"reduce {drain.reduce}" if drain.reduce else "store" if drain.target is not None else "out")
        found |= {"atoms"} if drain.tile.atoms else set()
        found |= {"predicate"} if drain.predicate else set()
    found |= {"no steps"} if not frame.steps else set()
    if frame.multicast is not None and "multicast" in found:
        found |= {f"split {frame.multicast.split}"} if frame.multicast.split else set()
        found |= {"mask argument"} if frame.multicast.argument else set()
        found |= {"executed outside the mask"} if frame.multicast.by_all else set()
    return sorted(found)
