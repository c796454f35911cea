"""Finds which pass of a pipeline MLIR rejects, and says so at its place."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from ..bindings import chosen
from . import registry
from .pipeline_steps import BoundNest, Step
from .pipeline_text import Nest, PassCall, PipelineError, split_options


def check(anchor: str, steps: Sequence[Step], text: str) -> None:
    """``PipelineError`` at the first pass, option or anchor unknown to MLIR. Needs a current context."""
    _check_anchor(anchor, text, 1)
    _check(steps, anchor, text)


def _check(steps: Sequence[Step], anchor: str, text: str) -> None:
    for step in steps:
        if isinstance(step, PassCall):
            problem = rejection(step, anchor)
            if problem:
                raise PipelineError(problem, text, step.column)
        elif isinstance(step, Nest | BoundNest):
            _check_anchor(step.anchor, text, step.column)
            _check(step.elements if isinstance(step, Nest) else step.steps, step.anchor, text)


OTHERS = "Use others that have it: pip install 'tma-mlir[mlir]', and TMA_MLIR_BINDINGS=mlir"


def rejection(call: PassCall, anchor: str) -> str:
    """Why MLIR does not take one of its own passes on ``anchor``; "" if it does."""
    from ..bindings import passmanager

    fatal = _fatal_value(call)
    if fatal:
        return fatal
    with _stderr() as stderr:
        try:
            passmanager.PassManager(anchor).add(str(call))
            return ""
        except ValueError as error:
            message = str(error).strip()
        stderr.seek(0)
        printed = stderr.read().strip()
    wrong_anchor = re.search(_WRONG_ANCHOR, message)
    if wrong_anchor:
        needed = wrong_anchor[1]
        return f"'{call.name}' runs on '{needed}', not on '{anchor}'; write {needed}({call})"
    if "does not refer to a registered pass" in message:
        if call.name in upstream_passes():
            return f"the bindings {chosen()} were built without MLIR's pass '{call.name}'. {OTHERS}"
        hint = registry.suggest(call.name, {*upstream_passes(), *(entry.argument for entry in registry.entries())})
        return f"there is no pass or pipeline '{call.name}'{hint}"
    unknown = re.search(r"no such option (\S+)", message)
    if unknown:
        return f"'{call.name}' has no option '{unknown[1]}'"
    illegal = re.search(r"for the -*(\S+) option: (.*)", printed)
    if illegal:
        return f"'{call.name}': option '{illegal[1]}': {illegal[2].rstrip('!')}"
    reason = message.splitlines()[0] if message else "rejected"
    return f"'{call}': {re.sub(r'^MLIR Textual PassPipeline Parser:[0-9:]+ error: ', '', reason)}"


_ALLOWED: dict[tuple[str, str], tuple[str, ...]] = {
    ("gpu-module-to-binary", "format"): ("offloading", "llvm", "assembly", "isa", "binary", "bin", "fatbin"),
    ("gpu-lower-to-nvvm-pipeline", "cubin-format"): ("isa", "binary", "bin", "fatbinary", "fatbin"),
    ("gpu-lower-to-nvvm-pipeline", "opt-level"): ("0", "1", "2", "3"),
    ("nvvm-attach-target", "O"): ("0", "1", "2", "3"),
}
"""Values of options by pass; MLIR 22 stops the process at any other."""


def _fatal_value(call: PassCall) -> str:
    with contextlib.suppress(PipelineError):
        for name, value, _ in split_options(call, str(call)) if call.options else ():
            allowed = _ALLOWED.get((call.name, name))
            if allowed and value not in allowed:
                return f"'{call.name}': option '{name}' is one of {', '.join(allowed)}; not '{value}'"
    return ""


_WRONG_ANCHOR = r"restricted to '([^']+)' on a PassManager"


def required_anchor(name: str) -> str | None:
    """The operation MLIR's pass ``name`` runs on, "" if on any; None when there is no such pass. Needs a context."""
    from ..bindings import passmanager

    try:
        passmanager.PassManager("builtin.module").add(name)
        return ""
    except ValueError as error:
        wrong_anchor = re.search(_WRONG_ANCHOR, str(error))
        if wrong_anchor:
            return wrong_anchor[1]
        return None if "does not refer to a registered pass" in str(error) else ""


def upstream_passes() -> dict[str, str]:
    """Summaries of MLIR 22's passes by name, for suggestions and lists; what counts is what the bindings accept."""
    return {name: summary for name, (_, summary) in _upstream_table().items()}


def class_name(name: str) -> str:
    """What MLIR calls the pass ``name`` in dumps and reports: ``CSE`` for ``cse``. A pass of ours, which has no class,
    is called as one would be: ``TilePlanCopies``."""
    known = _upstream_table().get(name, ("", ""))[0]
    return known or "".join(part.capitalize() for part in name.split("-"))


@functools.cache
def _upstream_table() -> dict[str, tuple[str, str]]:
    """Class and summary by name, as ``tools/list_upstream_passes.py`` wrote them."""
    lines = Path(__file__).with_name("upstream_passes.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t", 2) for line in lines)
    return {name: (shown, summary) for name, shown, summary in rows}


def _check_anchor(anchor: str, text: str, column: int) -> None:
    """A misspelt anchor would match nothing and run nothing."""
    from ..bindings import ir

    context = ir.Context.current
    if anchor == "any" or context is None or context.allow_unregistered_dialects:
        return
    dialect = anchor.partition(".")[0]
    try:
        context.dialects[dialect]  # loads it
    except IndexError:
        hint = "" if "." in anchor else "; an anchor is an operation, as in 'gpu.module(...)'"
        raise PipelineError(f"there is no operation '{anchor}' to run passes on{hint}", text, column) from None
    if not context.is_registered_operation(anchor):
        raise PipelineError(f"dialect '{dialect}' has no operation '{anchor}' to run passes on", text, column)


@contextlib.contextmanager
def _stderr() -> Iterator[IO[str]]:
    """The text written to file descriptor 2: LLVM prints what is wrong with an option value instead of saying it."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        sys.stderr.flush()
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(saved, 2)
            os.close(saved)
