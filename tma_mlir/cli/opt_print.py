"""How ``tma-opt`` prints: the result, the pipeline, statistics."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .source import InputError

if TYPE_CHECKING:
    from ..bindings import ir, passmanager
    from ..passes.pipeline import ParsedPipeline


def print_options(options: SimpleNamespace) -> dict[str, Any]:
    """Arguments of ``get_asm``."""
    return {
        "enable_debug_info": options.mlir_print_debuginfo or options.mlir_pretty_debuginfo,
        "pretty_debug_info": options.mlir_pretty_debuginfo,
        "print_generic_op_form": options.mlir_print_op_generic,
        "use_local_scope": options.mlir_print_local_scope,
        "use_name_loc_as_prefix": options.mlir_use_nameloc_as_prefix,
        "assume_verified": options.mlir_print_assume_verified,
        "skip_regions": options.mlir_print_skip_regions,
        "large_elements_limit": options.mlir_elide_elementsattrs_if_larger,
        "large_resource_limit": options.mlir_elide_resource_strings_if_larger,
    }


def printed(options: SimpleNamespace, op: ir.Operation) -> bytes:
    """``op`` as it is written to the output. ``InputError`` for a version of bytecode that MLIR does not write."""
    if not options.emit_bytecode:
        # What was parsed and what passes left has been verified, unless somebody did not want that.
        verified = options.verify_each and not options.no_verify
        asked = print_options(options)
        return op.get_asm(binary=True, **{**asked, "assume_verified": asked["assume_verified"] or verified}) + b"\n"
    from ..bindings import ir

    stream = io.BytesIO()
    try:
        op.write_bytecode(stream, desired_version=options.emit_bytecode_version)
    except (ir.MLIRError, ValueError):
        raise InputError(f"MLIR cannot write bytecode of version {options.emit_bytecode_version}") from None
    return stream.getvalue()


def roundtrip_problem(op: ir.Operation) -> str | None:
    """What is wrong with ``op`` when it is printed or written as bytecode, and read again; None when nothing is."""
    from ..bindings import ir

    before = _whole(op)
    stream = io.BytesIO()
    op.write_bytecode(stream)
    forms = {
        "custom": op.get_asm(binary=True, enable_debug_info=True),
        "generic": before,
        "bytecode": stream.getvalue(),
    }
    with op.context:
        for form, data in forms.items():
            try:
                again = ir.Module.parse(data)
            except ir.MLIRError:
                return f"what is printed ({form}) cannot be read again: the round trip failed"
            if _whole(again.operation) != before:
                return f"what is printed ({form}) is read as something else: the round trip failed"
    return None


def _whole(op: ir.Operation) -> bytes:
    return op.get_asm(binary=True, enable_debug_info=True, print_generic_op_form=True, use_local_scope=True)


def pipeline_dump(pipeline: ParsedPipeline | None) -> str:
    """What ``--dump-pass-pipeline`` prints. Needs a current context."""
    from ..bindings import passmanager

    manager = passmanager.PassManager(pipeline.anchor if pipeline else "builtin.module")
    if pipeline:
        pipeline.add_to(manager)
    lines, count = _lines(str(manager))
    return f"Pass Manager with {count} passes:\n{lines}\n"


_WORDS = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|[(),]|[^(),{]+")
"""Options, which may have pipelines in them, what separates passes, and names."""


def _lines(text: str) -> tuple[str, int]:
    """A pipeline with a line for each pass, indented by how deep it is nested, and how many stand in the outermost."""
    depth, commas, shown = 0, 0, []
    for word in _WORDS.findall(text):
        depth += (word == "(") - (word == ")")
        commas += word == "," and depth == 1
        line = "\n" + "  " * depth
        shown.append({"(": f"({line}", ",": f",{line}", ")": f"{line})"}.get(word, word))
    if text.endswith("()"):
        return f"{text[:-1]}\n\n)", 0
    return "".join(shown), commas + 1


def statistics(options: SimpleNamespace) -> Callable[[passmanager.PassManager], None] | None:
    """Sets a pass manager up to report its statistics, if they are wanted."""
    if not options.mlir_pass_statistics:
        return None
    from ..bindings import passmanager

    modes = passmanager.PassDisplayMode
    mode = modes.LIST if options.mlir_pass_statistics_display == "list" else modes.PIPELINE
    return lambda manager: manager.enable_statistics(mode)
