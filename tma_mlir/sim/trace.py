"""A timeline of a run in the Trace Event format that Perfetto opens: waits per warp, copies in flight, phases.

Time is the simulator's step count (one microsecond a step); a CTA is a process, a warp a thread.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import write_whole

if TYPE_CHECKING:
    from .machine import Front, Machine, Warp
    from .mbarrier import MBarrier
    from .transfer import Transfer


class Trace:
    """Collects events; ``write`` saves them."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.events: list[dict[str, Any]] = []
        self.named: dict[tuple[int, int, int], int] = {}
        self.threads: set[tuple[int, int]] = set()
        self.reasons: dict[tuple[int, int], tuple[str, str]] = {}
        self.waits: dict[tuple[int, int], tuple[int, str, str]] = {}

    def _process(self, block_id: tuple[int, int, int]) -> int:
        number = self.named.get(block_id)
        if number is None:
            number = self.named[block_id] = len(self.named) + 1
            self._meta(number, 0, "process_name", f"CTA {block_id}")
        return number

    def _meta(self, process: int, thread: int, name: str, value: str) -> None:
        self.events.append({"ph": "M", "pid": process, "tid": thread, "name": name, "args": {"name": value}})

    def _thread(self, w: Warp) -> tuple[int, int]:
        process = self._process(w.cta.block_id)
        key = (process, w.number)
        if key not in self.threads:
            self.threads.add(key)
            self._meta(process, w.number, "thread_name", f"warp {w.number}")
        return key

    def ran(self, w: Warp, start: int) -> None:
        """The warp had a turn from step ``start`` to now; it may have waited all the time."""
        key = self._thread(w)
        now = self.machine.steps
        if now > start:
            wait = self.waits.pop(key, None)
            if wait is not None and start > wait[0]:
                self._slice(*key, f"wait: {wait[1]}", wait[0], start - wait[0], {"source": wait[2]})
            self._slice(*key, "run", start, now - start, {})
        reason = self.reasons.pop(key, None)
        if reason is not None and key not in self.waits:
            self.waits[key] = (now, *reason)

    def blocked(self, w: Warp, front: Front) -> None:
        """The warp starts, or goes on, to wait."""
        if front.waiting is not None:
            self.reasons[self._thread(w)] = (front.waiting.what, front.waiting.location)

    def issue(self, transfer: Transfer) -> None:
        process, thread = self._thread(transfer.issuer)
        self._instant(process, thread, f"issue {transfer.what}", {"source": transfer.location})

    def complete(self, transfer: Transfer) -> None:
        process = self._process(transfer.issuer.cta.block_id)
        arguments = {"bytes": transfer.bytes_per_cta, "source": transfer.location, "shared": transfer.shared_region}
        identity = transfer.number
        for phase, time in (("b", transfer.issue_step), ("e", self.machine.steps)):
            self.events.append(
                {"ph": phase, "cat": "copy", "id": identity, "pid": process, "tid": 1000, "ts": time,
                 "name": f"{transfer.what} in flight", "args": arguments}
            )  # fmt: skip
        self._instant(process, transfer.issuer.number, f"complete {transfer.what}", arguments)

    def phase(self, barrier: MBarrier) -> None:
        process = self._process(barrier.cta.block_id)
        self._instant(process, 1001, f"{barrier.name()} phase {barrier.phase}", {"source": barrier.init_location})

    def _slice(self, process: int, thread: int, name: str, start: int, length: int, arguments: dict) -> None:
        self.events.append(
            {"ph": "X", "pid": process, "tid": thread, "ts": start, "dur": length, "name": name, "args": arguments}
        )

    def _instant(self, process: int, thread: int, name: str, arguments: dict) -> None:
        self.events.append(
            {"ph": "i", "s": "t", "pid": process, "tid": thread, "ts": self.machine.steps, "name": name,
             "args": arguments}
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {"traceEvents": self.events, "displayTimeUnit": "ns"}

    def write(self, path: str | Path) -> None:
        """Save as JSON for https://ui.perfetto.dev or chrome://tracing."""
        write_whole(path, json.dumps(self.to_json()).encode())
