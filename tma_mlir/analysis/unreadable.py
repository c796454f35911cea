"""Attributes that MLIR takes and its Python bindings cannot read: arrays of other widths, text that is not UTF-8."""

from __future__ import annotations

from ..bindings import ir
from ..errors import TileError
from .ir_access import attribute_names

_REMEDY = "Correct it, or take it out"


def unreadable_attribute(root: ir.Operation) -> TileError | None:
    """The first such attribute under ``root``, as an error of its operation."""
    found: list[TileError] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        what, name = "an operation has a name or an attribute", ""
        try:
            what = f"'{op.name}' op has an attribute"
            for name in attribute_names(op):
                _read(op.attributes[name])
        except (TypeError, RuntimeError, ValueError) as error:
            # What nanobind says of text that Python does not take.
            utf_8 = isinstance(error, UnicodeDecodeError) or "str_from" in str(error)
            reason = "it is not UTF-8" if utf_8 else str(error).partition("\n")[0]
            shown = f" '{name}'" if name else ""
            found.append(TileError(op.location, f"{what}{shown} that cannot be read: {reason}. {_REMEDY}"))
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found[0] if found else None


def _read(attribute: ir.Attribute) -> None:
    """Reads it as passes do, to see whether that works."""
    if isinstance(attribute, ir.StringAttr):
        _ = attribute.value
    elif isinstance(attribute, ir.ArrayAttr):
        for each in attribute:
            _read(each)
    elif isinstance(attribute, ir.DictAttr):
        for each in attribute:
            _read(each.attr)
