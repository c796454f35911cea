"""Read ``plan_corpus.json`` rows as copy requests."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tma_mlir.dtypes import dtype
from tma_mlir.layout import AddressSwizzle, Layout, Symbol, atom_layout, parse_expr, row_major
from tma_mlir.layout.swizzle import Swizzle, address_swizzle
from tma_mlir.plan import CopyRequest, Direction, Gather, OobFill, Region, Tile

DTYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "uint8": "ui8",
    "uint16": "ui16", "int64": "i64", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "float8_e8m0fnu": "f8E8M0FNU",
}  # fmt: skip


class OutOfScopeError(ValueError):
    """The row asks for something that this project cannot copy (an unknown option, a packed type)."""


@dataclass(frozen=True)
class CorpusCopy:
    """A request and example values for its symbols."""

    request: CopyRequest
    symbols: dict[str, int]


def read_copy(inputs: dict) -> CorpusCopy:
    """The copy of one row; raises ``OutOfScopeError`` with the reason where it is none."""
    config = dict(inputs["config"])
    if "bogus" in config:
        raise OutOfScopeError("option bogus")
    if inputs["dtype"] not in DTYPES:
        raise OutOfScopeError(f"element type {inputs['dtype']}")
    if inputs.get("smem_dtype", inputs["dtype"]) != inputs["dtype"]:
        raise OutOfScopeError("a copy does not convert types")
    fill = config.get("oob", "zero")
    if fill not in ("zero", "nan"):
        raise OutOfScopeError(f"fill {fill}")
    symbols = {name: _symbol(name, facts) for name, facts in inputs.get("symbols", {}).items()}
    element = dtype("tf32" if config.get("tma_dtype") == "tf32" else DTYPES[inputs["dtype"]])
    size = element.bytes
    global_shape, global_layout, _ = _tensor(inputs["global"], size, symbols)
    shared_shape, shared_layout, swizzle = _tensor(inputs["shared"], size, symbols)
    shared_offset = _value(inputs["shared"].get("elem_offset", 0), symbols)
    if not isinstance(shared_offset, int):
        raise OutOfScopeError("symbolic shared-memory base")
    offset = _value(inputs["global"].get("elem_offset", 0), symbols)
    global_layout = replace(global_layout, offset=global_layout.offset + offset)
    region, rows = _region(inputs["global"], symbols), config.get("gather4")
    if rows is not None:
        region = replace(region, extents=(len(rows), *region.extents[1:]))
    request = CopyRequest(
        element,
        Direction.STORE if inputs["direction"] == "s2g" else Direction.LOAD,
        global_shape,
        global_layout,
        region,
        tuple(_static(e) for e in shared_shape),
        shared_layout,
        _region(inputs["shared"], symbols),
        swizzle,
        shared_base_alignment_bytes=(shared_offset * size & -(shared_offset * size)) or None,
        oob_fill=OobFill.NAN if fill == "nan" else OobFill.ZERO,
        reduction=config.get("use_tma_reduce"),
        cta_group=config.get("cta_group", 1),
        multicast="cta_mask" in config,
        chip=inputs["target"],
        kind=Tile() if rows is None else Gather(tuple(rows)),
    )
    return CorpusCopy(request, {name: _example(symbol) for name, symbol in symbols.items()})


def _symbol(name: str, facts: dict) -> Symbol:
    low, high = facts["range"] or (None, None)
    if low is None and facts["dtype"].startswith("uint"):
        low = 0
    return Symbol(name, low, high)


def _example(symbol: Symbol) -> int:
    if symbol.high is not None:
        return max(symbol.low or 0, symbol.high // 128 * 64)
    return 128


def _value(text: int | str, symbols: dict[str, Symbol]):
    if isinstance(text, int):
        return text
    return parse_expr(re.sub(r"T\.\w+\((\d+)\)", r"\1", text), symbols)


def _static(extent) -> int:
    if not isinstance(extent, int):
        raise OutOfScopeError("a region of symbolic extent")
    return extent


def _region(side: dict, symbols: dict[str, Symbol]) -> Region:
    starts, extents = zip(*side["region"], strict=True)
    return Region(tuple(_value(s, symbols) for s in starts), tuple(_static(_value(e, symbols)) for e in extents))


def _tensor(side: dict, size: int, symbols: dict[str, Symbol]):
    shape = tuple(_value(e, symbols) for e in side["shape"])
    layout, swizzle = _layout(side["layout"], shape, size, symbols)
    return shape, layout, swizzle


def _layout(kind: dict, shape: tuple, size: int, symbols: dict[str, Symbol]):
    if kind["kind"] == "rowmajor":
        return row_major(shape), None
    if kind["kind"] == "mma":
        mode = Swizzle(kind["mode"])
        return atom_layout(tuple(map(_static, shape)), size, mode), address_swizzle(mode)
    if kind["kind"] == "tile":
        return _tile(kind, symbols), None
    if not kind["swizzle_inner"]:
        raise OutOfScopeError("a swizzle of the outer bits")
    tile = row_major(shape) if kind["tile"] is None else _tile(kind["tile"], symbols)
    base = kind["per_element"] + size.bit_length() - 1
    swizzle = AddressSwizzle(kind["swizzle_len"], base, kind["atom_len"])
    return tile, swizzle if swizzle.bits else None


def _tile(kind: dict, symbols: dict[str, Symbol]) -> Layout:
    extents = tuple(_value(e, symbols) for e in kind["extents"])
    offset = _value(kind.get("offset") or 0, symbols)
    if kind["strides"] is None:
        return row_major(extents, offset)
    return Layout(extents, tuple(_value(s, symbols) for s in kind["strides"]), offset)
