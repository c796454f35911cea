"""Views on the attributes of the tile dialect, with builders.

MLIR 22's bindings cannot read the parameters of an IRDL attribute, so the wrappers read its text: every parameter is
itself an attribute, and ``[parameters]`` parses as an array of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..bindings import ir
from ..diagnostics import explain
from ..layout.atoms import ATOM_MODES
from ..plan.tensor_map import Swizzle

_SWIZZLES = {mode.label: mode for mode in Swizzle}


def _forms(name: str, modes: Iterable[Swizzle]) -> str:
    return f"#tile.{name}<...> with one of " + ", ".join(f'"{mode.label}"' for mode in modes)


SWIZZLE_FORMS = _forms("swizzle", Swizzle)
ATOMS_FORMS = _forms("atoms", ATOM_MODES)
"""What the definition admits, for messages."""
# All that MLIR says of another value; no other attribute of the dialect has such a constraint.
explain(r"' does not satisfy the constraint$", f"it may be {SWIZZLE_FORMS}, or {ATOMS_FORMS}")


def parameters(attribute: ir.Attribute) -> ir.ArrayAttr:
    """The parameters of ``#tile.name<...>``, in order."""
    text = str(attribute)
    return ir.ArrayAttr(ir.Attribute.parse("[" + text[text.index("<") + 1 : -1] + "]", attribute.context))


def _is(attribute: ir.Attribute, name: str) -> bool:
    return str(attribute).startswith(f"#tile.{name}<")


def _mode(attribute: ir.Attribute) -> Swizzle:
    """The one parameter of ``#tile.swizzle`` and ``#tile.atoms``, read from the text: IRDL admits known names only, and
    none of them has a quote in it."""
    return _SWIZZLES[str(attribute).split('"')[1]]


def integers(attribute: ir.Attribute) -> tuple[int, ...]:
    """The elements of an array of integer attributes; ``ValueError`` where one is not an integer."""
    values = []
    for element in ir.ArrayAttr(attribute):
        if not isinstance(element, ir.IntegerAttr):
            raise ValueError(f"{element} is not an integer")
        values.append(element.value)
    return tuple(values)


class LayoutAttr:
    """``#tile.layout<[extents], [strides]>``: see ``tma_mlir.layout.Layout``; strides in elements."""

    def __init__(self, attribute: ir.Attribute):
        extents, strides = parameters(attribute)
        self.extents, self.strides = integers(extents), integers(strides)

    @staticmethod
    def isinstance(attribute: ir.Attribute) -> bool:
        return _is(attribute, "layout")

    @staticmethod
    def get(extents: Sequence[int], strides: Sequence[int], context: ir.Context | None = None) -> ir.Attribute:
        return ir.Attribute.parse(f"#tile.layout<{list(extents)}, {list(strides)}>", context)


class SwizzleAttr:
    """``#tile.swizzle<"128B">``."""

    def __init__(self, attribute: ir.Attribute):
        self.mode = _mode(attribute)

    @staticmethod
    def isinstance(attribute: ir.Attribute) -> bool:
        return _is(attribute, "swizzle")

    @staticmethod
    def get(mode: Swizzle, context: ir.Context | None = None) -> ir.Attribute:
        return ir.Attribute.parse(f'#tile.swizzle<"{mode.label}">', context)


class AtomsAttr:
    """``#tile.atoms<"128B">``: tiled swizzle atoms, see ``tma_mlir.layout.atoms``."""

    def __init__(self, attribute: ir.Attribute):
        self.mode = _mode(attribute)

    @staticmethod
    def isinstance(attribute: ir.Attribute) -> bool:
        return _is(attribute, "atoms")

    @staticmethod
    def get(mode: Swizzle, context: ir.Context | None = None) -> ir.Attribute:
        return ir.Attribute.parse(f'#tile.atoms<"{mode.label}">', context)


def dictionary_attr(name: str, fields: ir.Attribute, context: ir.Context | None = None) -> ir.Attribute:
    """``#tile.name<{...}>`` for the attributes that hold one dictionary (``plan``, ``tensor_map``)."""
    return ir.Attribute.parse(f"#tile.{name}<{fields}>", context)


def dictionary_fields(attribute: ir.Attribute) -> ir.DictAttr:
    """The dictionary inside ``#tile.plan`` or ``#tile.tensor_map``."""
    return ir.DictAttr(parameters(attribute)[0])
