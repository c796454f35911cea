"""What ``tma-opt`` reads: programs, with locations that name the file they came from, and dialects in IRDL."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..diagnostics import explain, quoted
from .source import InputError, Part, Source

if TYPE_CHECKING:
    from ..bindings import ir

_UNNAMED = re.compile(rb'"-":(?=\d+:\d+)')
"""The file in locations of what was parsed from a string."""
_LOOKS_AT_LOCATIONS = re.compile(r"debug|loc(ation)?s?\b|snapshot")
"""Passes whose result depends on the names of files."""


explain(
    "^ignoring unknown external resources",
    "MLIR's Python bindings do not keep external_resources. Use mlir-opt for files with them",
)


def parse(options: SimpleNamespace, source: Source, part: Part, pipeline: str) -> tuple[ir.Operation, ir.Module]:
    """The module in ``part`` of ``source``, or its one operation where no module is wanted, and the module that has to
    live as long. ``MLIRError`` after diagnostics. Needs a current context. ``pipeline``: what runs on it.

    The one operation stands in a module of its own nevertheless, since passes may ask any operation for its parent,
    which the bindings refuse for one that has none.
    """
    from ..bindings import ir

    if options.no_implicit_module and not source.bytecode:
        op = ir.Operation.parse(part.text, source_name=source.name).operation
        with ir.Location.unknown():
            module = ir.Module.create()
        module.body.append(op)
        return op, module
    module = _parse_file(options, source, part)
    if module is None:
        module = ir.Module.parse(part.text)
        shown = options.mlir_print_debuginfo or options.mlir_pretty_debuginfo or options.emit_bytecode
        if shown or _LOOKS_AT_LOCATIONS.search(pipeline):
            module = _with_file_name(module, source.name, part)
    return module.operation, module


def _parse_file(options: SimpleNamespace, source: Source, part: Part) -> ir.Module | None:
    """The module with locations that name its file; None where MLIR cannot read it from there."""
    from ..bindings import ir

    if source.bytecode:
        return ir.Module.parse(source.bytecode)
    if options.split_input_file:
        return None
    if source.can_be_read_again:
        return ir.Module.parseFile(source.name)
    if source.name != "<stdin>":
        return None
    with _as_standard_input(part.text):
        return ir.Module.parseFile("-")


@contextlib.contextmanager
def _as_standard_input(text: str) -> Iterator[None]:
    """``text`` on file descriptor 0, from which MLIR reads a file of that name."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        saved = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(saved, 0)
            os.close(saved)


def _with_file_name(module: ir.Module, name: str, part: Part) -> ir.Module:
    """``module`` with ``name`` in its locations: the bindings parse strings under no other name than ``-``, and cannot
    change a location inside an attribute. A module around several operations is where its part begins."""
    from ..bindings import ir

    text = module.operation.get_asm(binary=True, enable_debug_info=True, print_generic_op_form=True)
    named = quoted(name).encode() + b":"
    if part.line > 1:
        text = text.replace(b'"-":0:0', named + f"{part.line}:{part.column}".encode())
    return ir.Module.parse(_UNNAMED.sub(lambda _: named, text))


def load_irdl(path: str, context: ir.Context) -> None:
    """Loads the dialects that the file defines; the tile dialect is there already. ``InputError``."""
    from ..bindings import ir
    from ..bindings.dialects import irdl

    with context, ir.Location.unknown():
        try:
            module = ir.Module.parseFile(path)
        except ir.MLIRError as error:
            raise InputError(f"cannot load '{path}': {error}") from None
        dialects = [op.operation for op in module.body if op.operation.name == "irdl.dialect"]
        for dialect in dialects:
            name = ir.StringAttr(dialect.attributes["sym_name"]).value
            if name == "tile":
                dialect.erase()
            elif _exists(name, context):
                raise InputError(f"cannot load '{path}': there is a dialect '{name}' already. Rename it")
        try:
            irdl.load_dialects(module)
        except (ir.MLIRError, RuntimeError, ValueError) as error:
            raise InputError(f"cannot load '{path}': {error}") from None


def _exists(name: str, context: ir.Context) -> bool:
    try:
        context.dialects[name]
    except IndexError:
        return False
    return True
