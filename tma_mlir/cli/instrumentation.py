"""What ``--mlir-print-ir-*`` and ``--mlir-timing`` show while passes run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any


@dataclass(frozen=True)
class PrintIR:
    """Prints the anchor operation around passes; ``names`` are their arguments, None for all of them."""

    stream: IO[str]
    before_names: frozenset[str] | None = frozenset()
    after_names: frozenset[str] | None = frozenset()
    after_failure: bool = False
    print_options: dict[str, Any] = field(default_factory=dict)

    def before(self, op: Any, path: tuple[str, ...], name: str) -> None:
        if self.before_names is None or name in self.before_names:
            self._print(op, f"Before {name}")

    def after(self, op: Any, path: tuple[str, ...], name: str, seconds: float, failed: bool) -> None:
        if failed and (self.after_failure or self.after_names is None):
            self._print(op, f"After {name} Failed")
        elif not failed and (self.after_names is None or name in self.after_names):
            self._print(op, f"After {name}")

    def _print(self, op: Any, when: str) -> None:
        text = op.get_asm(**self.print_options).rstrip("\n")
        print(f"// -----// IR Dump {when} //----- //\n{text}\n", file=self.stream)


@dataclass
class Timing:
    """Wall time by phase and pass, reported as mlir-opt does."""

    started: float = field(default_factory=time.perf_counter)
    rows: dict[tuple[str, ...], float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._add((name,), time.perf_counter() - started)

    def before(self, op: Any, path: tuple[str, ...], name: str) -> None:
        pass

    def after(self, op: Any, path: tuple[str, ...], name: str, seconds: float, failed: bool) -> None:
        # The outermost anchor is the whole module and gets no row of its own.
        for depth in range(2, len(path) + 1):
            self._add(tuple(f"'{anchor}' Pipeline" for anchor in path[1:depth]), seconds)
        self._add((*(f"'{anchor}' Pipeline" for anchor in path[1:]), name), seconds)

    def _add(self, key: tuple[str, ...], seconds: float) -> None:
        self.rows[key] = self.rows.get(key, 0.0) + seconds

    def report(self) -> str:
        total = time.perf_counter() - self.started
        known = sum(seconds for key, seconds in self.rows.items() if len(key) == 1)
        rows = [
            *((key, seconds) for key, seconds in self.rows.items()),
            (("Rest",), total - known),
            (("Total",), total),
        ]
        rule = "===" + "-" * 73 + "==="
        lines = [rule, " " * 25 + "... Execution time report ...", rule]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        for key, seconds in rows:
            share = 100 * seconds / total
            lines.append(f"  {seconds:8.4f} ({share:5.1f}%)  {'  ' * (len(key) - 1)}{key[-1]}")
        return "\n".join(lines)
