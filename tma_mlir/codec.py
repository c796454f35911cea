"""Plans, tensor maps and signatures as plain data: dictionaries, lists, integers and text.

``to_data`` and ``from_data`` work on any dataclass by its field types; the attribute, the JSON of ``tma-explain`` and a
saved kernel are all made of this one form. Fields that have their default are left out (but see ``ALWAYS``), and so are
fields that do not take part in comparison. An expression is its text; what is known of its symbols stands once, under
``symbols`` of the outermost dictionary. Imports no MLIR.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Union

from .dtypes import DType, dtype
from .layout.expr import Expr, Symbol, parse_expr

T = TypeVar("T")
Data = Any
"""``dict[str, Data]``, ``list[Data]``, ``int``, ``str``, ``bool`` or ``None``."""

SYMBOLS = "symbols"
READ_DTYPE = "read_dtype"
"""Key of the metadata of a ``DType`` field: what reads its name, where that may be one outside of ``dtypes``."""
ALWAYS = "always"
"""Key of a field's metadata: true where the field is written although it has its default."""
Symbols = dict[str, Symbol]


class DataError(ValueError):
    """The data do not have the form that is read; the message says where, and what would be right."""


class _Written(Symbols):
    """The symbols met while writing."""

    def __init__(self, complete: bool) -> None:
        super().__init__()
        self.complete = complete


def to_data(value: Any, complete: bool = False) -> dict[str, Data]:
    """A dataclass as data that ``from_data`` reads back. ``complete``: fields that have their default too."""
    symbols = _Written(complete)
    data = _coder(type(value)).write(value, symbols)
    if symbols:
        data[SYMBOLS] = {name: symbol_data(symbol) for name, symbol in sorted(symbols.items())}
    return data


def symbol_data(symbol: Symbol) -> dict[str, Data]:
    """What is known of a symbol besides its name."""
    data = _coder(Symbol).write(symbol, _Written(False))
    del data["name"]
    return data


def from_data(type_: type[T], data: Data, ignored: frozenset[str] = frozenset()) -> T:
    """The dataclass ``type_`` that ``to_data`` wrote as ``data``. ``DataError`` for anything else.

    ``ignored`` names entries of the outermost dictionary that are somebody else's.
    """
    if not isinstance(data, Mapping):
        raise DataError(f"needed: a dictionary, found {data!r}")
    symbols: Symbols = {}
    for name, known in _dictionary(data.get(SYMBOLS, {}), SYMBOLS).items():
        symbols[name] = _coder(Symbol).read({"name": name, **_dictionary(known, SYMBOLS)}, {}, f"{SYMBOLS}.{name}")
    own = {name: value for name, value in data.items() if name != SYMBOLS and name not in ignored}
    return _coder(type_).read(own, symbols, "")


@dataclasses.dataclass(frozen=True)
class _Coder:
    """How values of one type are written and read; ``read`` is told where in the data it is, for messages."""

    write: Callable[[Any, _Written], Data]
    read: Callable[[Data, Symbols, str], Any]


@functools.cache
def _coder(type_: Any) -> _Coder:
    if type_ in (int, str, bool):
        return _exactly(type_)
    if type_ is DType:
        return _dtype_coder(dtype)
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin is tuple:
        return _tuple_coder(arguments)
    if origin in (Union, types.UnionType):
        return _union_coder(arguments)
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        return _enum_coder(type_)
    if dataclasses.is_dataclass(type_):
        return _dataclass_coder(type_)
    raise TypeError(f"{type_} has no form as plain data")


def _exactly(type_: type) -> _Coder:
    names = {int: "an integer", str: "a text", bool: "true or false"}

    def read(data: Data, symbols: Symbols, place: str) -> Any:
        if type(data) is not type_:
            raise DataError(f"{place}: needed: {names[type_]}, found {data!r}")
        return data

    return _Coder(lambda value, symbols: value, read)


def _dtype_coder(reader: Callable[[str], DType]) -> _Coder:
    def read(data: Data, symbols: Symbols, place: str) -> DType:
        try:
            return reader(data)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{place}: {error.args[0]}") from None

    return _Coder(lambda value, symbols: value.name, read)


def _label(member: enum.Enum) -> str:
    """The word for a member: its label, its text, or its name."""
    if hasattr(member, "label"):
        return member.label  # type: ignore[attr-defined]
    return member.value if isinstance(member.value, str) else member.name.lower()


def _enum_coder(type_: type[enum.Enum]) -> _Coder:
    members = {_label(member): member for member in type_}

    def read(data: Data, symbols: Symbols, place: str) -> enum.Enum:
        if not isinstance(data, str) or data not in members:
            raise DataError(f"{place}: needed: one of {', '.join(members)}; found {data!r}")
        return members[data]

    return _Coder(lambda value, symbols: _label(type_(value)), read)


def _tuple_coder(arguments: tuple[Any, ...]) -> _Coder:
    anything = Ellipsis in arguments
    coders = [_coder(each) for each in arguments if each is not Ellipsis]

    def write(value: tuple, symbols: _Written) -> Data:
        each = coders * len(value) if anything else coders
        return [coder.write(item, symbols) for coder, item in zip(each, value, strict=True)]

    def read(data: Data, symbols: Symbols, place: str) -> tuple:
        if not isinstance(data, list | tuple):
            raise DataError(f"{place}: needed: a list, found {data!r}")
        if not anything and len(data) != len(coders):
            raise DataError(f"{place}: needed: {len(coders)} entries, found {len(data)}")
        each = coders * len(data) if anything else coders
        pairs = enumerate(zip(each, data, strict=True))
        return tuple(coder.read(item, symbols, f"{place}[{index}]") for index, (coder, item) in pairs)

    return _Coder(write, read)


def _union_coder(arguments: tuple[Any, ...]) -> _Coder:
    """Optional values, expressions, and unions of dataclasses, which say their ``kind``."""
    others = tuple(each for each in arguments if each is not type(None))
    if set(others) == {Expr, int}:
        return _Coder(_write_expr, _read_expr)
    if len(others) < len(arguments):
        inner = _coder(Union[others])  # noqa: UP007  (made at run time)
        return _Coder(
            lambda value, symbols: None if value is None else inner.write(value, symbols),
            lambda data, symbols, place: None if data is None else inner.read(data, symbols, place),
        )
    if not all(dataclasses.is_dataclass(each) for each in others):
        # An enumeration beside a dataclass: text or a dictionary.
        return _text_or_dictionary(others)
    kinds = {each.__name__: each for each in others}

    def write(value: Any, symbols: _Written) -> Data:
        return {"kind": type(value).__name__, **_coder(type(value)).write(value, symbols)}

    def read(data: Data, symbols: Symbols, place: str) -> Any:
        fields = dict(_dictionary(data, place))
        kind = fields.pop("kind", None)
        if not isinstance(kind, str) or kind not in kinds:
            raise DataError(f"{place}: needed: a kind of {', '.join(kinds)}; found {kind!r}")
        return _coder(kinds[kind]).read(fields, symbols, place)

    return _Coder(write, read)


def _text_or_dictionary(types_: tuple[Any, ...]) -> _Coder:
    (word,) = (_coder(each) for each in types_ if not dataclasses.is_dataclass(each))
    (record,) = (each for each in types_ if dataclasses.is_dataclass(each))

    def write(value: Any, symbols: _Written) -> Data:
        return (_coder(record) if isinstance(value, record) else word).write(value, symbols)  # type: ignore[arg-type]

    def read(data: Data, symbols: Symbols, place: str) -> Any:
        return (word if isinstance(data, str) else _coder(record)).read(data, symbols, place)

    return _Coder(write, read)


def _write_expr(value: Expr | int, symbols: _Written) -> Data:
    if not isinstance(value, Expr):
        return int(value)
    for symbol in value.symbols():
        if symbols.setdefault(symbol.name, symbol) != symbol:
            raise ValueError(f"two symbols are named {symbol.name}: {symbols[symbol.name]} and {symbol}")
    return str(value)


def _read_expr(data: Data, symbols: Symbols, place: str) -> Expr | int:
    if type(data) is int:
        return data
    if not isinstance(data, str):
        raise DataError(f"{place}: needed: an integer or an expression, found {data!r}")
    try:
        return parse_expr(data, symbols)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from None


def _dictionary(data: Data, place: str) -> Mapping[str, Data]:
    if not isinstance(data, Mapping):
        raise DataError(f"{place}: needed: a dictionary, found {data!r}")
    return data


_REQUIRED = object()


def _field_coder(field: dataclasses.Field, type_: Any) -> _Coder:
    return _dtype_coder(field.metadata[READ_DTYPE]) if READ_DTYPE in field.metadata else _coder(type_)


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _REQUIRED if field.default is dataclasses.MISSING else field.default


def _dataclass_coder(type_: Any) -> _Coder:
    hints = typing.get_type_hints(type_)
    compared = [each for each in dataclasses.fields(type_) if each.compare]
    fields = [(each.name, _field_coder(each, hints[each.name]), _default(each)) for each in compared]
    always = {each.name for each in compared if each.metadata.get(ALWAYS)}
    coders = {name: coder for name, coder, _ in fields}
    required = [name for name, _, default in fields if default is _REQUIRED]
    # Such a class is its first field wherever the others have their defaults.
    inline = fields[0][0] if getattr(type_, "DATA_IS_FIRST_FIELD", False) else None

    def write(value: Any, symbols: _Written) -> Data:
        data = {}
        for name, coder, default in fields:
            item = getattr(value, name)
            if default is _REQUIRED or item != default or name in always or (symbols.complete and inline is None):
                data[name] = coder.write(item, symbols)
        return data[inline] if inline is not None and len(data) == 1 else data

    def read(data: Data, symbols: Symbols, place: str) -> Any:
        if inline is not None and not isinstance(data, Mapping):
            data = {inline: data}
        given = _dictionary(data, place)
        for name in given:
            if name not in coders:
                raise DataError(f"{place or type_.__name__}: unknown entry '{name}'; known: {', '.join(coders)}")
        for name in required:
            if name not in given:
                raise DataError(f"{place or type_.__name__}: the entry '{name}' is missing")
        prefix = f"{place}." if place else ""
        return type_(**{name: coders[name].read(item, symbols, prefix + name) for name, item in given.items()})

    return _Coder(write, read)
