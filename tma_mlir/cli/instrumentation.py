"""What ``--mlir-print-ir-*`` and ``--mlir-timing`` show while passes run."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

from ..isolation.noting import Noting
from ..passes.pipeline_check import class_name
from .guard import diagnosing
from .opt_print import print_options
from .pass_flags import known_passes
from .source import InputError

if TYPE_CHECKING:
    from ..passes.pipeline import Instrumentation


def instrumentation(options: SimpleNamespace, timing: Timing) -> list[Instrumentation]:
    """What has to watch the passes. Needs a current context; ``UsageError`` for a pass that does not exist."""
    if diagnosing():
        return [Noting()]
    wanted: list[Instrumentation] = [timing] if options.mlir_timing else []
    before = known_passes("--mlir-print-ir-before", options.mlir_print_ir_before)
    after = known_passes("--mlir-print-ir-after", options.mlir_print_ir_after)
    all_after = options.mlir_print_ir_after_all or options.mlir_print_ir_after_failure
    printer = PrintIR(
        sys.stderr,
        None if options.mlir_print_ir_before_all else before,
        None if all_after else after,
        only_failure=options.mlir_print_ir_after_failure,
        only_change=options.mlir_print_ir_after_change,
        whole_module=options.mlir_print_ir_module_scope,
        folder=options.mlir_print_ir_tree_dir,
        without_module=options.no_implicit_module,
        print_options=print_options(options),
    )
    if printer.before_names != frozenset() or printer.after_names != frozenset():
        wanted.append(printer)
    return wanted


@dataclass
class PrintIR:
    """Prints the anchor operation around passes, as MLIR's own printer does; ``names`` are their arguments, None for
    all of them. ``folder``: print into files there, one for each time. ``without_module``: the outermost module is none
    of the program's."""

    stream: IO[str]
    before_names: frozenset[str] | None = frozenset()
    after_names: frozenset[str] | None = frozenset()
    only_failure: bool = False
    only_change: bool = False
    whole_module: bool = False
    folder: str | None = None
    without_module: bool = False
    print_options: dict[str, Any] = field(default_factory=dict)
    _was: str = ""
    _printed: Counter[int] = field(default_factory=Counter)

    def before(self, op: Any, path: tuple[str, ...], name: str) -> None:
        if self.before_names is None or name in self.before_names:
            self._print(op, f"Before {class_name(name)} ({name})", name)
        if self.only_change:
            self._was = _state(op)

    def after(self, op: Any, path: tuple[str, ...], name: str, seconds: float, failed: bool) -> None:
        if self.after_names is not None and name not in self.after_names:
            return
        if failed:
            self._print(op, f"After {class_name(name)} Failed ({name})", name)
        elif not self.only_failure and not (self.only_change and self._was == _state(op)):
            self._print(op, f"After {class_name(name)} ({name})", name)

    def _print(self, op: Any, when: str, name: str) -> None:
        above = _parents(op)[self.without_module :]
        options = self.print_options
        if self.whole_module:
            symbol = f": @{_symbol(op)}" if _symbol(op) else ""
            when, shown = f"{when} ('{op.name}' operation{symbol})", above[0]
        else:
            shown = op
            if len(above) > 1:  # as MLIR does: aliases stand at the end of a module
                options = {**options, "use_local_scope": True}
        program = shown.get_asm(**options)
        if shown == above[0] and not program.endswith("\n"):  # as MLIR ends what is not inside of anything
            program += "\n"
        text = f"// -----// IR Dump {when} //----- //\n{program}\n\n"
        if self.folder is None:
            self.stream.write(text)
        else:
            self._write(above, name, text)

    def _write(self, above: list[Any], name: str, text: str) -> None:
        op = above[-1]
        self._printed[hash(op)] += 1
        counts = [max(self._printed.setdefault(hash(each), 1) - 1, 0) for each in above]
        folder = Path(str(self.folder)).joinpath(*(_file_name(each) for each in above))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{'_'.join(map(str, counts))}_{name}.mlir").write_text(text, "utf-8", "surrogateescape")
        except OSError as error:
            raise InputError(f"cannot write into '{folder}': {error.strerror or error}") from None


def _state(op: Any) -> str:
    return op.get_asm(print_generic_op_form=True, enable_debug_info=True)


def _parents(op: Any) -> list[Any]:
    """The operations around ``op`` from the outside in, and ``op`` itself."""
    found = [op]
    while found[0].parent:
        found.insert(0, found[0].parent.operation)
    return found


def _symbol(op: Any) -> str:
    return op.attributes["sym_name"].value if "sym_name" in op.attributes else ""


def _file_name(op: Any) -> str:
    return f"{op.name.replace('.', '_')}_{_symbol(op) or 'no-symbol-name'}".replace("/", "_")


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
        self._add((*(f"'{anchor}' Pipeline" for anchor in path[1:]), class_name(name)), seconds)

    def _add(self, key: tuple[str, ...], seconds: float) -> None:
        self.rows[key] = self.rows.get(key, 0.0) + seconds

    def report(self, display: str) -> str:
        """``display``: "tree", or "list" for rows without their places, the slowest first."""
        total = time.perf_counter() - self.started
        known = sum(seconds for key, seconds in self.rows.items() if len(key) == 1)
        rows = [("  " * (len(key) - 1) + key[-1], seconds) for key, seconds in self.rows.items()]
        if display == "list":
            by_name: Counter[str] = Counter()
            for key, seconds in self.rows.items():
                by_name[key[-1]] += seconds  # type: ignore[assignment]
            rows = by_name.most_common()
        rows += [("Rest", total - known), ("Total", total)]
        rule = "===" + "-" * 73 + "==="
        lines = [rule, " " * 25 + "... Execution time report ...", rule]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += [f"  {seconds:8.4f} ({100 * seconds / total:5.1f}%)  {name}" for name, seconds in rows]
        return "\n".join(lines)
