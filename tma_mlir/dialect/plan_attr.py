"""``#tile.plan`` and ``#tile.tensor_map``: the planner's values as attributes, both ways.

Integers stay integers; expressions are strings in the notation of ``tma_mlir.layout.expr``, and ``symbols`` holds the
divisors they rely on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlir import ir

from ..hardware import L2_PROMOTIONS
from ..layout.expr import Expr, Symbol, parse_expr
from ..plan.copy_plan import BulkGroup, Condition, Coordinate, CopyPlan, IssueGroup
from ..plan.findings import Finding, Status
from ..plan.tensor_map import Im2col, OobFill, Swizzle, TensorMap
from .attributes import dictionary_fields

_SWIZZLES = {mode.label: mode for mode in Swizzle}

_TEXTS: dict[int, tuple[CopyPlan, str]] = {}
"""Texts by the identity of the plan, which the planner gives out again for the same copy; the plan is kept so that the
identity stays its own."""


def plan_text(plan: CopyPlan) -> str:
    """``plan`` as the text of a ``#tile.plan`` attribute. Findings and alternatives are not kept."""
    known = _TEXTS.get(id(plan))
    if known is None:
        if len(_TEXTS) > 10_000:
            _TEXTS.clear()
        known = _TEXTS[id(plan)] = (plan, _plan_text(plan))
    return known[1]


def _plan_text(plan: CopyPlan) -> str:
    fields = {"variant": f'"{plan.variant}"'}
    if plan.tensor_maps:
        fields["tensor_maps"] = _list(map(tensor_map_text, plan.tensor_maps))
    if plan.groups:
        fields["groups"] = _list(map(_group_text, plan.groups))
    if plan.bulk_groups:
        fields["bulk_groups"] = _list(map(_bulk_text, plan.bulk_groups))
    if plan.vector_bytes:
        fields["vector_bytes"] = str(plan.vector_bytes)
    fields["instructions"] = str(plan.instruction_count)
    fields["transaction_bytes"] = str(plan.transaction_bytes)
    fields["shared_alignment"] = str(plan.shared_alignment_bytes)
    if plan.host_checks:
        fields["host_checks"] = _list(map(_condition_text, plan.host_checks))
    if plan.guards:
        fields["guards"] = _list(map(_condition_text, plan.guards))
    divisors = _divisors(plan)
    if divisors:
        fields["symbols"] = "{" + ", ".join(f'"{name}" = {value}' for name, value in sorted(divisors.items())) + "}"
    return f"#tile.plan<{_dictionary(fields)}>"


def tensor_map_text(map_: TensorMap) -> str:
    """``map_`` as the text of a ``#tile.tensor_map`` attribute, driver order."""
    return f"#tile.tensor_map<{_dictionary(_tensor_map_fields(map_))}>"


def parameter_text(argument: int, map_: TensorMap, checks: Iterable[Condition]) -> str:
    """A kernel parameter: a tensor map, the user argument it is made on, what the host must check."""
    fields = {"argument": str(argument), **_tensor_map_fields(map_)}
    checks = tuple(checks)
    if checks:
        fields["checks"] = _list(map(_condition_text, checks))
    divisors = _symbol_divisors(_map_exprs(map_), (each.value for each in checks))
    if divisors:
        fields["symbols"] = "{" + ", ".join(f'"{name}" = {value}' for name, value in sorted(divisors.items())) + "}"
    return f"#tile.tensor_map<{_dictionary(fields)}>"


_PLANS: dict[str, CopyPlan] = {}
"""Plans read before, by their text: modules repeat them."""


def read_plan(attribute: ir.Attribute) -> CopyPlan:
    """The plan in a ``#tile.plan`` attribute. ``KeyError`` or ``ValueError`` for one that is not well formed."""
    text = str(attribute)
    if text not in _PLANS:
        if len(_PLANS) > 10_000:
            _PLANS.clear()
        _PLANS[text] = _read_plan(attribute)
    return _PLANS[text]


def _read_plan(attribute: ir.Attribute) -> CopyPlan:
    fields = dictionary_fields(attribute)
    symbols = _read_symbols(fields)
    return CopyPlan(
        variant=_string(fields, "variant"),
        tensor_maps=tuple(
            _read_tensor_map(dictionary_fields(each), symbols) for each in _entries(fields, "tensor_maps")
        ),
        groups=tuple(_read_group(ir.DictAttr(each), symbols) for each in _entries(fields, "groups")),
        bulk_groups=tuple(_read_bulk(ir.DictAttr(each), symbols) for each in _entries(fields, "bulk_groups")),
        vector_bytes=_integer(fields, "vector_bytes", 0),
        transaction_bytes=_integer(fields, "transaction_bytes", 0),
        shared_alignment_bytes=_integer(fields, "shared_alignment", 128),
        host_checks=tuple(_read_condition(ir.DictAttr(each), symbols) for each in _entries(fields, "host_checks")),
        guards=tuple(_read_condition(ir.DictAttr(each), symbols) for each in _entries(fields, "guards")),
    )


def read_tensor_map(attribute: ir.Attribute) -> TensorMap:
    """The tensor map in a ``#tile.tensor_map`` attribute."""
    fields = dictionary_fields(attribute)
    return _read_tensor_map(fields, _read_symbols(fields))


def read_parameter(attribute: ir.Attribute) -> tuple[int, TensorMap, tuple[Condition, ...]]:
    """What ``parameter_text`` wrote."""
    fields = dictionary_fields(attribute)
    symbols = _read_symbols(fields)
    checks = tuple(_read_condition(ir.DictAttr(each), symbols) for each in _entries(fields, "checks"))
    return _integer(fields, "argument", 0), _read_tensor_map(fields, symbols), checks


# Writing


def _dictionary(fields: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name} = {value}" for name, value in fields.items()) + "}"


def _list(items: Iterable[str]) -> str:
    return "[" + ", ".join(items) + "]"


def _value(value: Expr | int) -> str:
    return str(value) if isinstance(value, int) else f'"{value}"'


def _tensor_map_fields(map_: TensorMap) -> dict[str, str]:
    fields = {
        "data_type": f'"{map_.data_type}"',
        "dims": _list(map(_value, map_.dims)),
        "strides_bytes": _list(map(_value, map_.strides_bytes)),
        "box": _list(map(str, map_.box)),
        "swizzle": f'"{map_.swizzle.label}"',
        "l2_promotion": str(L2_PROMOTIONS[map_.l2_promotion]),
        "oob": '"nan"' if map_.oob_fill is OobFill.NAN else '"zero"',
    }
    if any(step != 1 for step in map_.element_strides):
        fields["element_strides"] = _list(map(str, map_.element_strides))
    if map_.base_offset_bytes != 0:
        fields["base_offset_bytes"] = _value(map_.base_offset_bytes)
    if map_.im2col is not None:
        box = {
            "lower_corner": _list(map(str, map_.im2col.lower_corner)),
            "upper_corner": _list(map(str, map_.im2col.upper_corner)),
        }
        if map_.im2col.wide:
            box["wide"] = f'"{map_.im2col.wide}"'
        fields["im2col"] = _dictionary(box)
    return fields


def _group_text(group: IssueGroup) -> str:
    fields = {
        "tensor_map": str(group.tensor_map),
        "coordinates": _list(_value(_coordinate(each)) for each in group.coordinates),
        "shared_offset_bytes": _value(group.shared_offset_bytes),
    }
    if group.loops:
        fields["loops"] = _list(map(str, group.loops))
        fields["coordinate_steps"] = _list(_list(map(str, each)) for each in group.coordinate_steps)
        fields["shared_steps_bytes"] = _list(map(str, group.shared_steps_bytes))
    if group.mode != "tile":
        fields["mode"] = f'"{group.mode}"'
    if group.im2col_offsets:
        fields["im2col_offsets"] = _list(map(_value, group.im2col_offsets))
    return _dictionary(fields)


def _coordinate(coordinate: Coordinate) -> Expr | int:
    if coordinate.denominator == 1:
        return coordinate.numerator
    from ..layout.expr import exact_div

    return exact_div(coordinate.numerator, coordinate.denominator)


def _bulk_text(group: BulkGroup) -> str:
    fields = {
        "size_bytes": str(group.size_bytes),
        "global_offset_bytes": _value(group.global_offset_bytes),
        "shared_offset_bytes": _value(group.shared_offset_bytes),
    }
    if group.loops:
        fields["loops"] = _list(map(str, group.loops))
        fields["global_steps_bytes"] = _list(map(str, group.global_steps_bytes))
        fields["shared_steps_bytes"] = _list(map(str, group.shared_steps_bytes))
    return _dictionary(fields)


def _condition_text(condition: Condition) -> str:
    finding = condition.finding
    fields = {"value": _value(condition.value)}
    if condition.divisor != 1:
        fields["divisor"] = str(condition.divisor)
    if condition.low is not None:
        fields["low"] = str(condition.low)
    if condition.high is not None:
        fields["high"] = str(condition.high)
    fields["rule"] = f'"{finding.rule}"'
    fields["needed"] = f'"{finding.needed}"'
    fields["remedy"] = f'"{finding.remedy}"'
    return _dictionary(fields)


def _map_exprs(map_: TensorMap) -> Iterable[Expr | int]:
    return (*map_.dims, *map_.strides_bytes, map_.base_offset_bytes)


def _divisors(plan: CopyPlan) -> dict[str, int]:
    values: list[Expr | int] = []
    for map_ in plan.tensor_maps:
        values += _map_exprs(map_)
    for group in plan.groups:
        values += [each.numerator for each in group.coordinates]
        values += [group.shared_offset_bytes, *group.im2col_offsets]
    for bulk in plan.bulk_groups:
        values += [bulk.global_offset_bytes, bulk.shared_offset_bytes]
    values += [each.value for each in (*plan.host_checks, *plan.guards)]
    return _symbol_divisors(values)


def _symbol_divisors(*values: Iterable[Expr | int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in values:
        for value in group:
            if isinstance(value, Expr):
                found.update({symbol.name: symbol.divisor for symbol in value.symbols()})
    return found


# Reading


def _entries(fields: ir.DictAttr, name: str) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(fields[name])) if name in fields else []


def _string(fields: ir.DictAttr, name: str) -> str:
    return ir.StringAttr(fields[name]).value


def _integer(fields: ir.DictAttr, name: str, default: int) -> int:
    return ir.IntegerAttr(fields[name]).value if name in fields else default


def _integers(fields: ir.DictAttr, name: str) -> tuple[int, ...]:
    return tuple(ir.IntegerAttr(each).value for each in _entries(fields, name))


def _read_symbols(fields: ir.DictAttr) -> dict[str, Symbol]:
    if "symbols" not in fields:
        return {}
    return {each.name: Symbol(each.name, divisor=each.attr.value) for each in ir.DictAttr(fields["symbols"])}


def _read_value(attribute: ir.Attribute, symbols: Mapping[str, Symbol]) -> Expr | int:
    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value
    return parse_expr(ir.StringAttr(attribute).value, symbols)


def _read_values(fields: ir.DictAttr, name: str, symbols: Mapping[str, Symbol]) -> tuple[Expr | int, ...]:
    return tuple(_read_value(each, symbols) for each in _entries(fields, name))


def _read_tensor_map(fields: ir.DictAttr, symbols: Mapping[str, Symbol]) -> TensorMap:
    box = _integers(fields, "box")
    return TensorMap(
        data_type=_string(fields, "data_type"),
        dims=_read_values(fields, "dims", symbols),
        strides_bytes=_read_values(fields, "strides_bytes", symbols),
        box=box,
        element_strides=_integers(fields, "element_strides") or (1,) * len(_entries(fields, "dims")),
        swizzle=_SWIZZLES[_string(fields, "swizzle")],
        l2_promotion=L2_PROMOTIONS.index(_integer(fields, "l2_promotion", 0)),
        oob_fill=OobFill.NAN if _string(fields, "oob") == "nan" else OobFill.ZERO,
        base_offset_bytes=_read_value(fields["base_offset_bytes"], symbols) if "base_offset_bytes" in fields else 0,
        im2col=_read_im2col(ir.DictAttr(fields["im2col"])) if "im2col" in fields else None,
    )


def _read_im2col(fields: ir.DictAttr) -> Im2col:
    wide = _string(fields, "wide") if "wide" in fields else ""
    return Im2col(_integers(fields, "lower_corner"), _integers(fields, "upper_corner"), wide)


def _read_group(fields: ir.DictAttr, symbols: Mapping[str, Symbol]) -> IssueGroup:
    return IssueGroup(
        tensor_map=_integer(fields, "tensor_map", 0),
        coordinates=tuple(Coordinate(each) for each in _read_values(fields, "coordinates", symbols)),
        shared_offset_bytes=_read_value(fields["shared_offset_bytes"], symbols),
        loops=_integers(fields, "loops"),
        coordinate_steps=tuple(
            tuple(ir.IntegerAttr(step).value for step in ir.ArrayAttr(each))
            for each in _entries(fields, "coordinate_steps")
        ),
        shared_steps_bytes=_integers(fields, "shared_steps_bytes"),
        mode=_string(fields, "mode") if "mode" in fields else "tile",
        im2col_offsets=_read_values(fields, "im2col_offsets", symbols),
    )


def _read_bulk(fields: ir.DictAttr, symbols: Mapping[str, Symbol]) -> BulkGroup:
    return BulkGroup(
        size_bytes=_integer(fields, "size_bytes", 0),
        global_offset_bytes=_read_value(fields["global_offset_bytes"], symbols),
        shared_offset_bytes=_read_value(fields["shared_offset_bytes"], symbols),
        loops=_integers(fields, "loops"),
        global_steps_bytes=_integers(fields, "global_steps_bytes"),
        shared_steps_bytes=_integers(fields, "shared_steps_bytes"),
    )


def _read_condition(fields: ir.DictAttr, symbols: Mapping[str, Symbol]) -> Condition:
    value = _read_value(fields["value"], symbols)
    return Condition(
        value=value,  # type: ignore[arg-type]
        finding=Finding(
            _string(fields, "rule"), Status.UNKNOWN, str(value), _string(fields, "needed"), _string(fields, "remedy")
        ),
        divisor=_integer(fields, "divisor", 1),
        low=_integer(fields, "low", 0) if "low" in fields else None,
        high=_integer(fields, "high", 0) if "high" in fields else None,
    )
