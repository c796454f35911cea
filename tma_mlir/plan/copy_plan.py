"""The planner's answer: which instructions make one copy, and what must be checked where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..layout.expr import Expr
from .copy_request import CopyRequest
from .findings import Finding
from .tensor_map import TensorMap


@dataclass(frozen=True)
class Coordinate:
    """A start coordinate: ``numerator // denominator``, a division that is exact wherever the guards hold."""

    numerator: Expr | int
    denominator: int = 1


@dataclass(frozen=True)
class IssueGroup:
    """``prod(loops)`` instructions on one descriptor, as a loop nest.

    For loop indices ``i``: the start coordinates are ``coordinates[d] + sum(i[k] * coordinate_steps[k][d])`` (driver
    order, elements of the descriptor's data type), and the box lands at (or comes from) byte
    ``shared_offset_bytes + sum(i[k] * shared_steps_bytes[k])`` of the shared tile.

    ``mode`` is the instruction's: ``tile``, ``gather4``, ``scatter4`` (coordinates are the column and four rows, on a
    box of one row), ``im2col``, ``im2col_w``, ``im2col_w_128`` (with ``im2col_offsets`` in driver order).
    """

    tensor_map: int
    """Index into ``CopyPlan.tensor_maps``."""
    coordinates: tuple[Coordinate, ...]
    shared_offset_bytes: Expr | int = 0
    loops: tuple[int, ...] = ()
    coordinate_steps: tuple[tuple[int, ...], ...] = ()
    shared_steps_bytes: tuple[int, ...] = ()
    mode: str = "tile"
    im2col_offsets: tuple[Expr | int, ...] = ()

    @property
    def instruction_count(self) -> int:
        count = 1
        for extent in self.loops:
            count *= extent
        return count

    @property
    def boxes_per_instruction(self) -> int:
        """Four for the modes that name four rows."""
        return 4 if self.mode in ("gather4", "scatter4") else 1


@dataclass(frozen=True)
class BulkGroup:
    """``prod(loops)`` non-tensor ``cp.async.bulk`` of ``size_bytes`` each; offsets are bytes from the two bases."""

    size_bytes: int
    global_offset_bytes: Expr | int
    shared_offset_bytes: Expr | int
    loops: tuple[int, ...] = ()
    global_steps_bytes: tuple[int, ...] = ()
    shared_steps_bytes: tuple[int, ...] = ()

    @property
    def instruction_count(self) -> int:
        count = 1
        for extent in self.loops:
            count *= extent
        return count


@dataclass(frozen=True)
class Condition:
    """``value % divisor == 0`` (when ``divisor`` is set) and ``low <= value <= high`` (where set), unproven so far.

    ``finding`` says which rule asks for it. On the host it is checked before launch; in the kernel it selects the
    fallback.
    """

    value: Expr | int
    finding: Finding
    divisor: int = 1
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class Alternative:
    """A way to make the copy that was not taken: ``name``, its cost if legal, the findings that forbid it if not."""

    name: str
    instruction_count: int | None
    reason: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class CopyPlan:
    """How one copy is made.

    ``variant`` is ``tma``, ``bulk``, ``cp_async``, ``simt`` or ``empty`` (a region without elements). A ``tma`` plan
    may hold ``bulk_groups`` too, for pieces of the region that only those can reach.
    ``host_checks`` must hold before launch, ``guards`` in the kernel where the copy is issued.
    ``shared_alignment_bytes`` is what the shared tile's base needs: 128, or the swizzle's period.
    """

    variant: str
    tensor_maps: tuple[TensorMap, ...] = ()
    groups: tuple[IssueGroup, ...] = ()
    bulk_groups: tuple[BulkGroup, ...] = ()
    vector_bytes: int = 0
    """Width of one access of a ``cp_async`` or ``simt`` copy."""
    transaction_bytes: int = 0
    """Bytes the whole copy completes on its mbarrier; 0 for stores and for ``simt``."""
    shared_alignment_bytes: int = 128
    host_checks: tuple[Condition, ...] = ()
    guards: tuple[Condition, ...] = ()
    findings: tuple[Finding, ...] = ()
    alternatives: tuple[Alternative, ...] = field(default=(), compare=False)
    request: CopyRequest | None = field(default=None, compare=False, repr=False)
    """What was asked; ``explain`` plans the alternatives from it."""

    @property
    def instruction_count(self) -> int:
        """Bulk asynchronous copy instructions one execution issues (0 for ``cp_async`` and ``simt``)."""
        return sum(g.instruction_count for g in (*self.groups, *self.bulk_groups))

    def explain(self) -> str:
        """The plan in words: descriptor, instructions, conditions, and why not another way."""
        from .explain import explain_text

        return explain_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-able data."""
        from .explain import plan_dict

        return plan_dict(self)

    def check(self, symbols: dict[str, int] | None = None) -> list[str]:
        """What is wrong with the plan, by enumeration; needs the request it was made for."""
        from .check import check_plan

        if self.request is None:
            raise ValueError("the plan does not hold its request")
        return check_plan(self.request, self, symbols)
