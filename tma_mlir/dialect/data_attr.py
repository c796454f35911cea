"""Plain data as MLIR attributes and back: dictionaries, arrays, i64, strings, booleans, and unit for nothing."""

from __future__ import annotations

from ..bindings import ir
from ..codec import Data, DataError


def data_attribute(data: Data, context: ir.Context) -> ir.Attribute:
    """``data`` as an attribute. ``DataError`` for an integer that does not fit 64 bits."""
    i64 = ir.IntegerType.get_signless(64, context)

    def build(data: Data) -> ir.Attribute:
        kind = type(data)
        if kind is dict:
            return ir.DictAttr.get({name: build(each) for name, each in data.items()}, context)
        if kind is list:
            return ir.ArrayAttr.get([build(each) for each in data], context)
        if kind is str:
            return ir.StringAttr.get(data, context)
        if data is None:
            return ir.UnitAttr.get(context)
        if kind is bool:
            return ir.BoolAttr.get(data, context)
        if not -(2**63) <= data < 2**63:
            raise DataError(f"{data} does not fit 64 bits")
        return ir.IntegerAttr.get(i64, data)

    return build(data)


def attribute_data(attribute: ir.Attribute) -> Data:
    """What ``data_attribute`` was given. ``DataError`` for an attribute of another form."""
    i64 = ir.IntegerType.get_signless(64, attribute.context)

    def read(attribute: ir.Attribute) -> Data:
        # By exact type, most frequent first: the bindings' isinstance on attributes is slow.
        kind = type(attribute)
        if kind is ir.IntegerAttr and attribute.type == i64:
            return attribute.value  # type: ignore[attr-defined]
        if kind is ir.StringAttr:
            try:
                return attribute.value  # type: ignore[attr-defined]
            except (UnicodeDecodeError, RuntimeError):  # the latter from nanobind
                raise DataError("a text that is not UTF-8") from None
        if kind is ir.ArrayAttr:
            return [read(each) for each in attribute]  # type: ignore[attr-defined]
        if kind is ir.DictAttr:
            return {named.name: read(named.attr) for named in attribute}  # type: ignore[attr-defined]
        if kind is ir.BoolAttr:
            return attribute.value  # type: ignore[attr-defined]
        if kind is ir.UnitAttr:
            return None
        raise DataError(f"needed: i64, texts, arrays or dictionaries; found {attribute}")

    return read(attribute)
