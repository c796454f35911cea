"""Reproducers: a program, and behind it the pipeline to run on it, as mlir-opt writes and reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..diagnostics import quoted
from .program import UsageError
from .source import InputError, Source

if TYPE_CHECKING:
    from ..bindings import ir
    from ..passes.pipeline import ParsedPipeline

_PIPELINE = re.compile(r'mlir_reproducer:\s*\{\s*pipeline:\s*"((?:[^"\\]|\\.)*)"([^{}]*)\}')


def text(op: ir.Operation, pipeline: ParsedPipeline, verify_each: bool) -> bytes:
    """A file with ``op`` from which ``--run-reproducer`` runs ``pipeline``."""
    program = op.get_asm(binary=True).rstrip(b"\n")
    return (
        program
        + (
            f"\n\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n      pipeline: {quoted(str(pipeline))},\n"
            f"      disable_threading: true,\n      verify_each: {str(verify_each).lower()}\n    }}\n  }}\n#-}}\n"
        ).encode()
    )


def apply(options: SimpleNamespace, flags: Sequence[str], source: Source) -> Source:
    """Sets ``options`` to what the reproducer in ``source`` says, and gives the program without it. ``InputError``
    where there is none."""
    if options.pass_pipeline is not None or flags:
        raise UsageError("--run-reproducer runs the pipeline of the input, and no other pass")
    found = _PIPELINE.search(source.text)
    if not found:
        raise InputError(f"{source.name}: error: this is not a reproducer: it names no pipeline (bytecode is not read)")
    options.pass_pipeline = re.sub(r"\\([0-9A-Fa-f]{2})", lambda code: chr(int(code[1], 16)), found[1])
    if re.search(r"\bverify_each:\s*false", found[2]):
        options.verify_each = False
    return replace(source, text=source.text[: found.start()] + source.text[found.end() :])
