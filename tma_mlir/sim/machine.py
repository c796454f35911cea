"""The machine: warps with diverging fronts, CTAs with their shared memory, clusters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .accesses import AccessLog, Facts
from .clock import COMPONENTS, Clock
from .errors import SimulationError, warp_text
from .memory import LANE_IDS, LANES, SHARED_RESERVED, GlobalMemory, Region

if TYPE_CHECKING:
    from .compile import Kernel
    from .engine import BoundTensorMap
    from .mbarrier import LastWait, MBarrier
    from .profile import Profile
    from .trace import Trace
    from .transfer import AsyncGroups, Transfer

BLOCKED = -1
EXIT = -2
SPLIT = -3

CODE_SHIFT = 20
"""Shadow entries are ``epoch << CODE_SHIFT | location id``."""


APART = 0.3
"""Share of the warps whose lanes run apart, under random schedules: such warps take up to twice as long or more."""


class Front:
    """Lanes of a warp at one place. ``token`` is set while they have arrived at a barrier and wait; ``waiting`` says
    for what when they could not go on, at the cluster's event ``blocked_at``. ``passed``: segments that they have
    executed while the warp was diverged. ``ran``: its latest turn that ended while it could go on."""

    __slots__ = ("_lanes", "all", "blocked_at", "count", "first", "full", "last", "mask", "passed", "ran", "segment",
                 "token", "waiting")  # fmt: skip

    def __init__(self, segment: int, mask: np.ndarray):
        self.segment = segment
        self.token: Any = None
        self.waiting: Wait | None = None
        self.blocked_at = -1
        self.passed: set[int] = set()
        self.ran = 0
        self.set_mask(mask)

    def set_mask(self, mask: np.ndarray) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))
        self.all = self.count == LANES
        self.first = int(mask.argmax())
        self.last = LANES - 1 - int(mask[::-1].argmax())
        self.full = False
        self._lanes: list[int] | None = None

    @property
    def lanes(self) -> list[int]:
        """Numbers of the lanes, found once."""
        lanes = self._lanes
        if lanes is None:
            lanes = self._lanes = np.flatnonzero(self.mask).tolist()
        return lanes


@dataclass
class Wait:
    """What a front waits for: ``what`` in words, ``location``, the barrier if it is one, the lanes of its warp that are
    ``missing`` if it waits for those."""

    what: str
    location: str
    barrier: MBarrier | None = None
    parity: int = 0
    kind: str = "wait"
    polling: bool = False
    missing: np.ndarray | None = None


class Warp:
    """32 lanes. ``registers`` hold uniform values as Python scalars, others as arrays with the lanes last."""

    def __init__(self, cta: Cta, number: int, threads: int):
        self.cta = cta
        self.cluster = cta.cluster
        self.machine = cta.machine
        self.number = number
        self.index = cta.rank * cta.warps_per_cta + number
        self.component = 1 + self.index
        alive = threads - number * LANES > LANE_IDS
        self.alive = alive
        self.alive_count = int(alive.sum())
        self.registers: list[Any] = [None] * cta.kernel.register_count
        self.fronts = [Front(0, alive.copy())]
        self.fronts[0].full = True
        self.clock = Clock(cta.cluster.clock_size)
        self.clock.seen[self.component] = 1
        self.code_base = 1 << CODE_SHIFT
        self.last_waits: dict[int, LastWait] = {}
        self.shared_facts, self.global_facts = Facts(), Facts()
        self.groups: dict[Any, AsyncGroups] = {}
        self.protected: frozenset[int] = frozenset()
        self.split: tuple[int, np.ndarray, int, np.ndarray] | None = None
        self.blocked_at = -1
        self.unlocked = False
        self.budget = 0
        self.polled: str | None = None
        self.turns = 0
        self.cluster_arrivals = np.full(LANES, -1)
        """The generation of the cluster barrier at which each lane arrived last."""
        random = self.machine.random
        self.apart = random is not None and random.random() < APART
        """Its lanes that took different paths run in any order."""
        self.ended: list[tuple[np.ndarray, set[int]]] = []
        self.mask, self.all, self.full = alive, bool(alive.all()), True
        self.first, self.last = 0, self.alive_count - 1
        self.front = self.fronts[0]
        self.lane_numbers64 = LANE_IDS.astype(np.int64)
        self.local: Region | None = None
        self.local_bytes = cta.kernel.local_bytes
        self.elected: tuple[int, str] | None = None

    @property
    def epoch(self) -> int:
        return int(self.clock.seen[self.component])

    def release(self) -> None:
        """Start a new epoch: what follows is not covered by what was just released."""
        self.clock.seen[self.component] += 1
        self.code_base += 1 << CODE_SHIFT

    def poll(self, location: str) -> None:
        """The warp looked at memory and changed nothing: others run now, since one of them may be what it waits for."""
        self.polled = location
        self.budget = 0

    def local_memory(self) -> Region:
        """Private memory of the lanes, one after the other."""
        if self.local is None:
            self.local = Region("local", "local", 0, np.zeros(LANES * max(16, self.local_bytes), np.uint8))
        return self.local

    def use_mask(self, mask: np.ndarray) -> bool:
        """Make ``mask`` the active lanes; whether there is any."""
        count = int(np.count_nonzero(mask))
        self.mask, self.all = mask, count == LANES
        if count:
            self.first = int(mask.argmax())
            self.last = LANES - 1 - int(mask[::-1].argmax())
        return count > 0

    @contextmanager
    def narrowed(self) -> Iterator[Callable[[Any], bool]]:
        """For predicated operations: ``narrow(condition)`` leaves only the front's lanes where it holds, until the
        ``with`` ends; it says whether any is left."""
        front = self.front
        saved = (front.count, front.mask)

        def narrow(condition: Any) -> bool:
            mask = saved[1] & np.broadcast_to(condition, (LANES,))
            front.count = int(np.count_nonzero(mask))
            return self.use_mask(mask)

        try:
            yield narrow
        finally:
            front.count = saved[0]
            self.use_mask(saved[1])

    def describe(self) -> str:
        """``warp 1 of CTA (0, 0, 0)`` with the active lanes if they are not all."""
        return warp_text(self.number, self.cta.block_id, None if self.full else self.mask)

    def active_lanes(self) -> list[int]:
        return self.front.lanes if self.mask is self.front.mask else np.flatnonzero(self.mask).tolist()

    def lane_value(self, value: Any, lane: int) -> int:
        """Lane ``lane`` of an integer operand as a Python int."""
        return int(value[lane]) if isinstance(value, np.ndarray) else int(value)

    def uniform(self, value: Any, what: str, location: str) -> int:
        """An operand that must be the same in all active lanes."""
        if not isinstance(value, np.ndarray):
            return int(value)
        active = value[self.mask]
        if not (active == active[0]).all():
            raise SimulationError("divergent operand", f"{what} differs between lanes of {self.describe()}", location)
        return int(active[0])


class NamedBarrier:
    """A CTA barrier resource: arrivals of one generation."""

    __slots__ = ("arrived", "clock", "generation", "locations", "released")

    def __init__(self, size: int):
        self.arrived = 0
        self.generation = 0
        self.clock = Clock(size)
        self.released = Clock(size)
        self.locations: list[str] = []


class Cta:
    """One thread block: shared memory, mbarriers by address, named barriers, warps."""

    def __init__(self, cluster: Cluster, rank: int, block_id: tuple[int, int, int]):
        self.cluster = cluster
        self.machine = cluster.machine
        self.kernel = cluster.machine.kernel
        self.rank = rank
        self.block_id = block_id
        x, y, _ = cluster.machine.grid
        self.number = block_id[0] + x * (block_id[1] + y * block_id[2])
        self.made_descriptors = 0
        threads = cluster.machine.threads
        self.threads = threads
        self.warps_per_cta = -(-threads // LANES)
        self.shared = self.machine.new_shared(rank)
        self.shared_start = SHARED_RESERVED
        self.barriers: dict[int, MBarrier] = {}
        self.named: dict[int, NamedBarrier] = {}
        self.warps: list[Warp] = []
        self.live_threads = threads

    def start(self) -> None:
        self.warps = [Warp(self, i, self.threads) for i in range(self.warps_per_cta)]

    def named_barrier(self, number: int) -> NamedBarrier:
        barrier = self.named.get(number)
        if barrier is None:
            barrier = self.named[number] = NamedBarrier(self.cluster.clock_size)
        return barrier

    def shared_symbol(self, address: int) -> str:
        """``@ring+0x400`` for a shared address."""
        best = None
        for name, (start, size) in self.machine.shared_layout.items():
            if start <= address < start + max(size, 1) and (best is None or start > best[1]):
                best = (name, start)
        if best is None:
            return f"{address:#x}"
        return f"@{best[0]}" + (f"+{address - best[1]:#x}" if address != best[1] else "")


class Cluster:
    """The CTAs of one cluster. Clock components: 0 is always known, then one per warp, then barriers and groups.

    ``event`` counts what may wake a waiting warp: arrivals, exits, copies completed. ``in_flight``: copies that its
    threads issued."""

    def __init__(self, machine: Machine, block_ids: list[tuple[int, int, int]]):
        self.machine = machine
        self.size = len(block_ids)
        self.event = 0
        self.in_flight: list[Transfer] = []
        self.issued: dict[Any, tuple[Warp, int]] = {}
        """The warp that issued a store last, by its place and operands, and its epoch then."""
        warps = self.size * -(-machine.threads // LANES)
        self.components = 1 + warps
        self.clock_size = max(COMPONENTS, self.components + 64)
        self.arrived = 0
        self.generation = 0
        self.clock = Clock(self.clock_size)
        self.released = Clock(self.clock_size)
        self.key = block_ids[0]
        """The cluster in the numbers of the race checks."""
        self.shared_accesses = AccessLog(shared=True)
        self.ctas = [Cta(self, rank, block_id) for rank, block_id in enumerate(block_ids)]
        for cta in self.ctas:
            cta.start()
        self.live_threads = sum(cta.threads for cta in self.ctas)
        self.live = self.warps

    def new_component(self) -> int:
        number = self.components
        self.components += 1
        return number

    @property
    def warps(self) -> list[Warp]:
        return [w for cta in self.ctas for w in cta.warps]


@dataclass
class Machine:
    """Everything one launch shares. ``changes`` counts stores and atomics that changed memory."""

    kernel: Kernel
    memory: GlobalMemory
    descriptors: dict[int, BoundTensorMap]
    parameters: Region
    """Kernel parameters that a kernel can read: its descriptors."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster_shape: tuple[int, int, int]
    threads: int
    shared_layout: dict[str, tuple[int, int]]
    shared_bytes: int
    dynamic_shared_bytes: int
    random: np.random.Generator | None
    check: bool = True
    profile: Profile | None = None
    trace: Trace | None = None
    made_descriptors: dict[tuple[int, int], BoundTensorMap] = field(default_factory=dict)
    """The parameters' tensor maps, by (0, number), and those that a block makes of them, by (its number + 1, count)."""
    changes: int = 0
    steps: int = 0
    transfers: int = 0
    transfer_bytes: int = 0
    issued: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Copies and bytes by place and kind."""
    findings: dict[Any, Any] = field(default_factory=dict)
    taken: dict[Any, Any] = field(default_factory=dict)
    bulk_waits: dict[str, None] = field(default_factory=dict)

    @property
    def cluster_count(self) -> int:
        """Clusters of the grid."""
        return math.prod(self.grid) // math.prod(self.cluster_shape)

    def new_shared(self, rank: int) -> Region:
        """Shared memory of one CTA; its bytes are noise until written."""
        data = np.full(self.shared_bytes, 0xCD, np.uint8)
        return Region("shared", "shared", 0, data)

    def note_issue(self, transfer: Transfer, size: int) -> None:
        """Count a copy that moves ``size`` bytes."""
        key = transfer.location, transfer.what
        count, total = self.issued.get(key, (0, 0))
        self.issued[key] = count + 1, total + size

    def trace_phase(self, barrier: MBarrier) -> None:
        if self.trace is not None:
            self.trace.phase(barrier)

    def note_election(self, w: Warp, leader: int, location: str) -> None:
        """Remember the lane elect.sync chose."""
        w.elected = (leader, location)

    def note_elected_branch(self, place: str, w: Warp, front: Front, taken: int, others: int | None = None) -> None:
        """A condition that depends on an election was evaluated by a warp: ``taken`` lanes satisfy it.

        ``others``: lanes that satisfy the rest of the condition. If no warp ever satisfies it although lanes other than
        the elected one would, the elected thread is outside the set that should act (reported at the end).
        """
        if taken:
            self.taken[place] = None
            return
        if self.taken.get(place, 0) is None or w.elected is None:
            return
        outside = not front.mask[w.elected[0]] if others is None else others > 0
        if outside:
            self.taken[place] = (w.describe(), w.elected)

    def warn(self, kind: str, message: str, location: str, notes: tuple = ()) -> None:
        """Keep a warning, once for each kind and place."""
        from .errors import Finding

        key = (kind, location)
        if key not in self.findings:
            self.findings[key] = Finding(kind, "warning", message, location, notes)
