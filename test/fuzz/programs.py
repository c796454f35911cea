"""Programs to begin with: every kernel of the examples, the benchmarks and the lit tests, part by part."""

from __future__ import annotations

import contextlib
import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)


@functools.cache
def programs() -> tuple[str, ...]:
    """Texts that parse and have an operation of the tile dialect or a kernel, comments left out, shortest first."""
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context
    from tma_mlir.fatal_text import text_error

    files = sorted([*ROOT.glob("examples/*.mlir"), *ROOT.glob("bench/*.mlir"), *ROOT.glob("test/lit/**/*.mlir")])
    parts = {
        re.sub(r"//[^\n]*", "", part).strip() + "\n"
        for file in files
        for part in _SPLIT.split(file.read_text())
        if "tile." in part or "kernel" in part
    }
    kept = []
    with make_context() as context, context.attach_diagnostic_handler(lambda diagnostic: True):
        for part in sorted(parts, key=lambda part: (len(part), part)):
            with contextlib.suppress(ir.MLIRError):
                if text_error(part, "-") is None and ir.Module.parse(part):
                    kept.append(part)
    return tuple(kept)


@functools.cache
def staged() -> tuple[str, ...]:
    """Examples after planning, after conversion and when lowered: with attributes that passes write and read again."""
    from tma_mlir.compile.compiler import CompileError, compile_text

    texts = []
    for text in programs():
        if "tile.copy_async" in text and "kernel" in text:
            with contextlib.suppress(CompileError):
                made = compile_text(text, keep=("planned", "nvgpu", "lowered"), assemble_cubin=False)
                texts += [_without_places(each) for each in made.texts.values()]
        if len(texts) >= 60:
            break
    return tuple(texts)


def _without_places(text: str) -> str:
    """Without locations, which are most of a lowered module."""
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context

    with make_context():
        return str(ir.Module.parse(text))
