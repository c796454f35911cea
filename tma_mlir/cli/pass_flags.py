"""Passes as flags: ``--canonicalize --tile-plan-copies='option=value'`` becomes a pipeline on the module."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from .opt_flags import own_flags
from .program import UsageError

if TYPE_CHECKING:
    from ..passes.pipeline import ParsedPipeline

_MODULE = "builtin.module"


def separate(arguments: Sequence[str], own: Container[str]) -> tuple[list[str], list[str]]:
    """Arguments for argparse, where ``own`` are its flags, and those that must be passes, both in order.

    mlir-opt also takes ``-canonicalize``, which argparse would read as a row of one-letter flags, and it takes white
    space inside a pass's options, which argparse would take for a file name.
    """
    rest: list[str] = []
    flags: list[str] = []
    for argument in arguments:
        each = f"-{argument}" if re.match(r"-[a-z][\w-]*\w(=|$)", argument) else argument
        name = each.partition("=")[0]
        (flags if each.startswith("--") and name not in own else rest).append(each)
    return rest, flags


def boolean(flag: str, text: str) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in known:
        raise UsageError(f"{flag} takes true or false, not '{text}'")
    return known[text.lower()]


def pipeline_of(text: str | None, flags: Sequence[str]) -> ParsedPipeline | None:
    """The checked pipeline of ``--pass-pipeline`` or of single-pass flags; None when neither is given.

    A pass restricted to another operation than the module is nested in it, as mlir-opt does. Needs a current context.
    ``PipelineError`` or ``UsageError`` says what is wrong.
    """
    from ..passes.pipeline import parse_pipeline
    from ..passes.pipeline_check import check

    if text is not None and flags:
        raise UsageError(f"--pass-pipeline cannot be combined with the flag '{flags[0]}'")
    if flags:
        text = f"{_MODULE}({','.join(map(_element, flags))})"
    if text is None:
        return None
    pipeline = parse_pipeline(text)
    check(pipeline.anchor, pipeline.steps, pipeline.text)
    return pipeline


def known_passes(flag: str, values: Sequence[str]) -> frozenset[str]:
    """Names of passes out of ``values`` (each one name or several with commas); ``UsageError`` for an unknown pass."""
    names = frozenset(name.strip() for value in values for name in value.split(","))
    for name in sorted(names):
        if _anchor(name) is None:
            raise UsageError(f"{flag}: there is no pass '{name}'{_hint(name)}")
    return names


def _element(flag: str) -> str:
    name, _, options = flag.lstrip("-").partition("=")
    anchor = _anchor(name)
    if anchor is None:
        raise UsageError(f"unknown flag or pass '{flag}'{_hint(name)}")
    element = f"{name}{{{options}}}" if options else name
    return element if anchor in ("", _MODULE) else f"{anchor}({element})"


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

    flags = {flag.lstrip("-") for flag in own_flags()}
    return registry.suggest(name, {*upstream_passes(), *flags, *(entry.argument for entry in registry.entries())})
