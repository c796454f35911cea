"""Which registers each segment needs: what lanes waiting there must keep while other lanes run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Flow:
    """One segment's reads and writes. ``arguments``: registers that jumps into it assign. ``successors``: segments."""

    arguments: tuple[int, ...] = ()
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    successors: list[int] = field(default_factory=list)

    def read(self, registers) -> None:
        """Reads in program order: only those not written before in this segment count."""
        self.reads.update(v for v in registers if v not in self.writes)


def live_registers(flows: list[Flow]) -> list[frozenset[int]]:
    """Per segment, the registers a front at its start still needs (the segment's arguments included)."""
    live: list[set[int]] = [set(flow.reads) for flow in flows]
    changed = True
    while changed:
        changed = False
        for index in range(len(flows) - 1, -1, -1):
            flow = flows[index]
            needed = set(flow.reads)
            for target in flow.successors:
                needed |= live[target] - set(flows[target].arguments) - flow.writes
            if needed != live[index]:
                live[index] = needed
                changed = True
    return [frozenset(registers) for registers in live]
