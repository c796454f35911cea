"""Textual pass pipelines that mix Python passes with MLIR's own, at any nesting.

MLIR's bindings cannot register a Python pass under a name, so the text is parsed here: rows of MLIR's passes are
handed on unchanged (one ``PassManager.add`` each), Python passes are bound to their options, and a nested anchor that
holds a Python pass becomes a pass that runs its own pass manager on each child.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from . import registry
from .pipeline_check import check
from .pipeline_steps import BoundNest, BoundPass, Step
from .pipeline_text import Element, Nest, PassCall, PipelineError, join, parse_anchored, parse_elements
from .pipeline_text import split_options as _split_options

if TYPE_CHECKING:
    from ..bindings import ir, passmanager


class Instrumentation(Protocol):
    """Told of every pass as it runs; ``path`` is its anchors from the outside in, ``name`` its argument."""

    def before(self, op: ir.Operation, path: tuple[str, ...], name: str) -> None: ...

    def after(self, op: ir.Operation, path: tuple[str, ...], name: str, seconds: float, failed: bool) -> None: ...


@dataclass(frozen=True)
class ParsedPipeline:
    """A pipeline ready to run. ``str()`` gives its text, with named pipelines expanded."""

    anchor: str
    steps: tuple[Step, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.anchor}({join(self.steps)})"

    def add_to(self, pm: passmanager.PassManager, verify: bool = True) -> None:
        """Append the passes to ``pm``, whose anchor must be this pipeline's.

        ``verify`` is whether IR is verified after each pass inside nested anchors and, by ``tile-verify``, after each
        Python pass; set it as ``pm``'s own verifier is. ``PipelineError`` if MLIR does not know a pass or an option.
        """
        anchor = str(pm).partition("(")[0]
        if self.anchor not in (anchor, "any"):
            raise PipelineError(f"cannot add to a pass manager for '{anchor}'", self.text, 1)
        try:
            _add(pm, self.steps, verify)
        except PipelineError:
            raise
        except ValueError as error:
            check(self.anchor, self.steps, self.text)
            raise PipelineError(str(error).strip(), self.text, 1) from None

    def run(
        self,
        op: ir.Operation,
        verify: bool = True,
        instrumentation: Sequence[Instrumentation] = (),
        configure: Callable[[passmanager.PassManager], None] | None = None,
    ) -> None:
        """Run on ``op``, as ``run_pipeline``. ``configure`` sets up the pass manager."""
        from ..bindings import passmanager

        op = _operation(op)
        if self.anchor not in (op.name, "any"):
            raise PipelineError(f"the pipeline runs on '{self.anchor}', but this is '{op.name}'", self.text, 1)
        with op.context:
            if instrumentation:
                _run_one_by_one(op, (self.anchor,), self.steps, verify, instrumentation, configure)
                return
            pm = passmanager.PassManager(self.anchor)
            pm.enable_verifier(verify)
            if configure:
                configure(pm)
            self.add_to(pm, verify)
            _load_nested_dialects(self.steps)
            pm.run(op)


def parse_pipeline(text: str) -> ParsedPipeline:
    """Read ``anchor(...)``. ``PipelineError`` says where the text is wrong.

    Names of MLIR's own passes are checked when the pipeline is added to a pass manager.
    """
    if not isinstance(text, str):
        raise TypeError(f"a pipeline is a text, as builtin.module(cse), not {type(text).__qualname__}")
    tree = parse_anchored(text)
    return ParsedPipeline(tree.anchor, tuple(_bind(tree.elements, tree.anchor, text, ())), text)


def run_pipeline(
    op: ir.Operation | ir.OpView | ir.Module,
    pipeline: str | ParsedPipeline,
    verify: bool = True,
    instrumentation: Sequence[Instrumentation] = (),
) -> None:
    """Run a pipeline on ``op``, which must be its anchor.

    With ``instrumentation`` every pass has a pass manager of its own. Raises ``MLIRError`` when a pass fails (with the
    errors, unless ``diagnostics.collecting`` has them), ``PipelineError`` for wrong text, ``PassCrash`` for a bug,
    ``TypeError`` for anything but an operation, ``ValueError`` for one that was erased.
    """
    parsed = pipeline if isinstance(pipeline, ParsedPipeline) else parse_pipeline(pipeline)
    parsed.run(op, verify, instrumentation)


def _operation(given: Any) -> ir.Operation:
    """The operation of a module, a view or an operation that still exists."""
    from ..bindings import ir

    if not isinstance(given, ir.Operation | ir.OpView | ir.Module):
        raise TypeError(f"a pipeline runs on an operation or a module, not on {type(given).__qualname__}")
    try:
        op = given.operation
        op.name  # noqa: B018  (asks whether it exists)
    except RuntimeError as error:
        raise ValueError(f"a pipeline cannot run: {error}") from None
    return op


class PassCrash(RuntimeError):
    """A Python pass raised what it should not have; the cause is chained."""

    def __init__(self, argument: str, error: Exception):
        super().__init__(f"pass '{argument}' raised {type(error).__name__}: {error}")
        self.argument = argument


def _bind(elements: Sequence[Element], anchor: str, text: str, inside: tuple[str, ...]) -> Iterator[Step]:
    """``elements`` with Python passes bound and Python pipelines expanded (``inside`` names those open)."""
    for element in elements:
        if isinstance(element, Nest):
            steps = tuple(_bind(element.elements, element.anchor, text, inside))
            upstream = tuple(step for step in steps if isinstance(step, PassCall | Nest))
            if len(upstream) == len(steps):
                yield Nest(element.anchor, upstream, element.column)
            else:
                yield BoundNest(element.anchor, steps, element.column)
            continue
        entry = registry.find(element.name)
        if entry is None:
            yield element
            continue
        if entry.anchor and anchor not in (entry.anchor, "any"):
            message = f"'{entry.argument}' runs on '{entry.anchor}', not on '{anchor}'"
            raise PipelineError(message, text, element.column)
        options = _bind_options(entry, element, text)
        if isinstance(entry, registry.Pass):
            yield BoundPass(entry, options, element.column)
        else:
            yield from _expand(entry, options, element, anchor, text, inside)


def _bind_options(entry: registry.Pass | registry.Pipeline, call: PassCall, text: str) -> dict[str, Any]:
    given = list(_split_options(call, text))
    for name, value, column in given:
        try:
            registry.bind(entry, [(name, value)])
        except ValueError as error:
            raise PipelineError(str(error), text, column) from None
    return registry.bind(entry, [(name, value) for name, value, _ in given])


def _expand(
    entry: registry.Pipeline,
    options: Mapping[str, Any],
    call: PassCall,
    anchor: str,
    text: str,
    inside: tuple[str, ...],
) -> Iterator[Step]:
    if entry.argument in inside:
        raise PipelineError(f"pipeline '{entry.argument}' contains itself", text, call.column)
    try:
        row = entry.build(options)
    except ValueError as error:
        raise PipelineError(f"'{entry.argument}': {error}", text, call.column) from None
    try:
        for step in _bind(parse_elements(row), anchor, row, (*inside, entry.argument)):
            yield _moved(step, call.column)
    except PipelineError as error:
        raise PipelineError(f"in pipeline '{entry.argument}': {error.message}", text, call.column) from error


def _moved(step: Any, column: int) -> Any:
    """``step`` and all inside it at ``column``: what is wrong in an expansion is shown where the pipeline is named."""
    changes: dict[str, Any] = {"column": column}
    for inner in ("elements", "steps"):
        if hasattr(step, inner):
            changes[inner] = tuple(_moved(each, column) for each in getattr(step, inner))
    return replace(step, **changes)


def _is_upstream(step: Step) -> bool:
    return isinstance(step, PassCall | Nest)


def _add(pm: passmanager.PassManager, steps: Sequence[Step], verify: bool) -> None:
    from ..diagnostics import failing

    for upstream, row in itertools.groupby(steps, _is_upstream):
        if upstream:
            pm.add(join(list(row)))
            continue
        for step in row:
            if isinstance(step, BoundPass):
                run = failing(_python_pass(step, verify))
                pm.add(run, name=step.entry.argument, argument=str(step), description=step.entry.summary)
            elif isinstance(step, BoundNest):
                pm.add(_nest_pass(step, verify), name=step.anchor, argument=str(step))


def _python_pass(step: BoundPass, verify: bool) -> Any:
    def run(op: ir.Operation) -> None:
        from ..errors import TileError, TileErrors
        from . import tile_verify

        try:
            step.entry.run(op, step.options)
            if verify and step.entry.argument != "tile-verify":
                tile_verify.run(op, tile_verify.WITHOUT_PLANS)
        except (TileError, TileErrors):
            raise
        except Exception as error:
            from ..bindings import ir

            if isinstance(error, ir.MLIRError):
                raise
            from ..analysis.unreadable import unreadable_attribute

            raise unreadable_attribute(op) or PassCrash(step.entry.argument, error) from error

    return run


def _nest_pass(nest: BoundNest, verify: bool) -> Any:
    def run(op: ir.Operation, external_pass: Any) -> None:
        from ..bindings import passmanager

        for child in _children(op, nest.anchor):
            pm = passmanager.PassManager(nest.anchor)
            pm.enable_verifier(verify)
            _add(pm, nest.steps, verify)
            pm.run(child)

    return run


def _load_nested_dialects(steps: Sequence[Step]) -> None:
    """Loads the dialects that MLIR's passes inside nests with Python passes depend on.

    Those run in a pass manager of their own while the outer one runs, and MLIR aborts when a dialect is loaded then.
    A run on an empty module loads them beforehand.
    """
    from ..bindings import ir, passmanager

    for text in _nested_upstream(steps):
        with ir.Location.unknown():
            passmanager.PassManager.parse(f"builtin.module({text})").run(ir.Module.create().operation)


def _nested_upstream(steps: Sequence[Step]) -> Iterator[str]:
    """MLIR's own passes inside nests that also hold Python passes, with the anchors around them."""
    for step in steps:
        if isinstance(step, BoundNest):
            upstream = [each for each in step.steps if _is_upstream(each)]
            if upstream:
                yield f"{step.anchor}({join(upstream)})"
            yield from (f"{step.anchor}({text})" for text in _nested_upstream(step.steps))


def _children(op: ir.Operation, anchor: str) -> list[ir.Operation]:
    """Operations directly inside ``op`` that a pipeline on ``anchor`` runs on."""
    inside = [child.operation for region in op.regions for block in region for child in block]
    if anchor != "any":
        return [child for child in inside if child.name == anchor]
    return [child for child in inside if _is_isolated(child)]


def _is_isolated(op: ir.Operation) -> bool:
    """Whether passes may be scheduled on ``op``. The bindings have no query for the trait, so one is scheduled."""
    from ..bindings import ir, passmanager

    pm = passmanager.PassManager("any")
    pm.enable_verifier(False)
    pm.add(lambda op, external_pass: None)
    with op.context.attach_diagnostic_handler(lambda diagnostic: True):
        try:
            pm.run(op)
        except ir.MLIRError:
            return False
    return True


def _run_one_by_one(
    op: ir.Operation,
    path: tuple[str, ...],
    steps: Sequence[Step],
    verify: bool,
    instrumentation: Sequence[Instrumentation],
    configure: Callable[[passmanager.PassManager], None] | None,
) -> None:
    from ..bindings import passmanager

    for step in steps:
        if isinstance(step, Nest | BoundNest):
            inner = step.elements if isinstance(step, Nest) else step.steps
            for child in _children(op, step.anchor):
                _run_one_by_one(child, (*path, step.anchor), inner, verify, instrumentation, configure)
            continue
        pm = passmanager.PassManager(path[-1])
        pm.enable_verifier(verify)
        if configure:
            configure(pm)
        _add(pm, (step,), verify)
        parts = parse_anchored(str(pm)).elements if isinstance(step, PassCall) else ()
        if len(parts) > 1:  # one of MLIR's own pipelines: show what is in it
            _run_one_by_one(op, path, parts, verify, instrumentation, configure)
            continue
        name = step.name if isinstance(step, PassCall) else step.entry.argument
        for each in instrumentation:
            each.before(op, path, name)
        started = time.perf_counter()
        failed = True
        try:
            pm.run(op)
            failed = False
        finally:
            seconds = time.perf_counter() - started
            for each in instrumentation:
                each.after(op, path, name, seconds, failed)
