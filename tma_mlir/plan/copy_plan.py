"""The planner's answer: which instructions make one copy, and what must be checked where."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..layout.expr import Expr
from .copy_request import CopyRequest
from .enums import InstructionMode, Variant
from .findings import Finding
from .hashing import hash_once
from .tensor_map import TensorMap


@dataclass(frozen=True)
class Coordinate:
    """A start coordinate: ``numerator // denominator``, a division that is exact wherever the guards hold."""

    DATA_IS_FIRST_FIELD = True

    numerator: Expr | int
    denominator: int = 1


@dataclass(frozen=True)
class Loop:
    """``extent`` times the same instruction. From one to the next its start moves by ``steps``: coordinates in driver
    order, or the bytes of a copy without a tensor map; and its place in the shared tile by ``shared_step_bytes``."""

    extent: int
    steps: tuple[int, ...]
    shared_step_bytes: int


@dataclass(frozen=True)
class IssueGroup:
    """Instructions on one descriptor, as a nest of ``loops``, outermost first.

    For loop indices ``i``: the start coordinates are ``coordinates[d] + sum(i[k] * loops[k].steps[d])`` (driver
    order, elements of the descriptor's data type), and the box lands at (or comes from) byte
    ``shared_offset_bytes + sum(i[k] * loops[k].shared_step_bytes)`` of the shared tile.

    Of a gather or scatter the coordinates are the column and four rows, on a box of one row; ``im2col_offsets`` are the
    filter offsets of an im2col copy in driver order.
    """

    tensor_map: int
    """Index into ``CopyPlan.tensor_maps``."""
    coordinates: tuple[Coordinate, ...]
    shared_offset_bytes: Expr | int = 0
    loops: tuple[Loop, ...] = ()
    mode: InstructionMode = InstructionMode.TILE
    im2col_offsets: tuple[Expr | int, ...] = ()

    @property
    def instruction_count(self) -> int:
        return math.prod(loop.extent for loop in self.loops)


@dataclass(frozen=True)
class BulkGroup:
    """Non-tensor ``cp.async.bulk`` of ``size_bytes`` each, as a loop nest; offsets are bytes from the two bases."""

    size_bytes: int
    global_offset_bytes: Expr | int
    shared_offset_bytes: Expr | int
    loops: tuple[Loop, ...] = ()

    @property
    def instruction_count(self) -> int:
        return math.prod(loop.extent for loop in self.loops)


@dataclass(frozen=True)
class Condition:
    """``value % divisor == 0`` (when ``divisor`` is set) and ``low <= value <= high`` (where set), unproven so far.

    It is met too where ``or_value`` is a multiple of ``or_divisor`` (0: no such way).

    ``finding`` says which rule asks for it. On the host it is checked before launch; in the kernel it selects the
    fallback.
    """

    value: Expr | int
    finding: Finding
    divisor: int = 1
    low: int | None = None
    high: int | None = None
    or_value: Expr | int = 1
    or_divisor: int = 0

    @property
    def is_of_host(self) -> bool:
        """Whether the host can decide it before the launch."""
        values = (self.value, self.or_value)
        return all(symbol.host for each in values if isinstance(each, Expr) for symbol in each.symbols())


@dataclass(frozen=True)
class Alternative:
    """A way to make the copy that was not taken: ``name``, its cost if legal, the findings that forbid it if not."""

    name: str
    instruction_count: int | None
    reason: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class ThreadPlan:
    """A copy by threads: ``variant`` is ``cp_async`` or ``simt``, ``vector_bytes`` the width of one access."""

    variant: Variant
    vector_bytes: int


@dataclass(frozen=True)
class CopyPlan:
    """How one copy is made.

    A ``tma`` plan may hold ``bulk_groups`` too, for pieces of the region that only those can reach.
    ``host_checks`` must hold before launch, ``guards`` in the kernel where the copy is issued; where a guard fails,
    threads copy as ``fallback`` says (None where they cannot make this copy).
    ``shared_alignment_bytes`` is what the shared tile's base needs: 128, or the swizzle's period.
    ``request`` is what was asked, the chip included: the plan is right for that copy and no other.
    """

    variant: Variant
    request: CopyRequest
    tensor_maps: tuple[TensorMap, ...] = ()
    groups: tuple[IssueGroup, ...] = ()
    bulk_groups: tuple[BulkGroup, ...] = ()
    vector_bytes: int = 0
    """Width of one access of a ``cp_async`` or ``simt`` copy."""
    transaction_bytes: int = 0
    """Bytes the whole copy completes on its mbarrier; 0 for stores and for copies by threads."""
    shared_alignment_bytes: int = 128
    host_checks: tuple[Condition, ...] = ()
    guards: tuple[Condition, ...] = ()
    fallback: ThreadPlan | None = None
    findings: tuple[Finding, ...] = field(default=(), compare=False)
    """Every rule's answer. Not part of the attribute or of a saved kernel."""

    def __hash__(self) -> int:
        return hash_once(self)

    @property
    def spares_descriptors(self) -> bool:
        """Whether the kernel may find that it does not use its descriptors, for a tensor that can have none."""
        return any(guard.is_of_host for guard in self.guards)

    @property
    def instruction_count(self) -> int:
        """Bulk asynchronous copy instructions one execution issues (0 for ``cp_async`` and ``simt``)."""
        return sum(g.instruction_count for g in (*self.groups, *self.bulk_groups))

    def explain(self) -> str:
        """The plan in words: descriptor, instructions, conditions, and why not another way."""
        from .explain import explain_text

        return explain_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-able data, from which ``codec.from_data`` makes the plan again."""
        from .explain import plan_data

        return plan_data(self)

    def check(self, symbols: dict[str, int] | None = None) -> list[str]:
        """What is wrong with the plan, by enumeration."""
        from .check import check_plan

        return check_plan(self.request, self, symbols)
