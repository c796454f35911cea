"""Passes as flags: ``--canonicalize --tile-plan-copies='option=value'`` becomes a pipeline on the module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .opt_flags import PROGRAM, UNSUPPORTED, own_flags
from .program import UsageError

if TYPE_CHECKING:
    from ..passes.pipeline import ParsedPipeline

_MODULE = "builtin.module"


def pipeline_of(text: str | None, flags: Sequence[str], anchor: str = _MODULE) -> ParsedPipeline | None:
    """The checked pipeline of ``--pass-pipeline``, or of single-pass flags on ``anchor``; None when neither is given.

    A pass restricted to another operation than ``anchor`` is nested in it, as mlir-opt does. Needs a current context.
    ``PipelineError`` or ``UsageError`` says what is wrong.
    """
    from ..passes.pipeline import parse_pipeline
    from ..passes.pipeline_check import check

    elements = [_element(flag, anchor) for flag in flags]
    if text is not None and flags:
        raise UsageError(f"--pass-pipeline cannot be combined with the flag '{flags[0]}'")
    if flags:
        text = f"{anchor}({','.join(elements)})"
    if text is None:
        return None
    pipeline = parse_pipeline(text)
    check(pipeline.anchor, pipeline.steps, pipeline.text)
    return pipeline


def known_passes(flag: str, values: Sequence[str]) -> frozenset[str]:
    """The passes named by ``values``; ``UsageError`` for an unknown one."""
    names = frozenset(name.strip() for name in values)
    for name in sorted(names):
        if _anchor(name) is None:
            raise UsageError(f"{flag}: there is no pass '{name}'{_hint(name)}")
    return names


def _element(flag: str, outer: str) -> str:
    name, _, options = flag.removeprefix("--").partition("=")
    if name in UNSUPPORTED:
        raise UsageError(
            f"{PROGRAM} has no --{name}, because MLIR's Python bindings do not offer it. Use mlir-opt, which reads the "
            "tile dialect with --irdl-file and the path that tma_mlir.irdl_path() gives"
        )
    anchor = _anchor(name)
    if anchor is None:
        raise UsageError(f"unknown flag or pass '{flag}'{_hint(name)}")
    element = f"{name}{{{options}}}" if options else name
    return element if anchor in ("", outer) else f"{anchor}({element})"


def _anchor(name: str) -> str | None:
    """The operation a pass of either kind runs on, "" if any, None if there is no such pass."""
    from ..passes import registry
    from ..passes.pipeline_check import required_anchor

    entry = registry.find(name)
    if entry:
        return entry.anchor
    return required_anchor(name) if re.fullmatch(r"[\w-]+", name) else None


def _hint(name: str) -> str:
    from ..passes import registry
    from ..passes.pipeline_check import upstream_passes

    return registry.suggest(name, {*upstream_passes(), *own_flags(), *(entry.argument for entry in registry.entries())})
