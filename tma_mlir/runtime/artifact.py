"""A saved kernel: one zip file with the cubin, the PTX and the signature as JSON. Reading it needs no MLIR."""

from __future__ import annotations

import enum
import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ..abi import signature as signature_types
from ..abi.elements import element_type
from ..assembler import Resources
from ..dtypes import DType
from ..layout import layout as layout_types
from ..layout.expr import Expr, Symbol, parse_expr
from ..plan import copy_plan, copy_request, findings, tensor_map

if TYPE_CHECKING:
    from .kernel import Kernel

FORMAT = 1
"""Raised when a file can no longer be read by the code before; readers refuse a higher one."""

_TYPES = {
    name: value
    for module in (signature_types, layout_types, copy_plan, copy_request, findings, tensor_map)
    for name, value in vars(module).items()
    if isinstance(value, type) and (is_dataclass(value) or issubclass(value, enum.Enum))
}
_TYPES["Resources"] = Resources


def pack(kernel: Kernel) -> bytes:
    """``kernel`` as the content of a file; the same kernel gives the same bytes."""
    recipe = {
        "format": FORMAT,
        "chip": kernel.chip,
        "signature": to_json(kernel.signature),
        "resources": to_json(kernel.resources),
        "plans": to_json(kernel.plans),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in (
            ("kernel.json", json.dumps(recipe, indent=1).encode()),
            ("kernel.cubin", kernel.cubin),
            ("kernel.ptx", kernel.ptx.encode()),
        ):
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def unpack(data: bytes, name: str = "this") -> Kernel:
    """The kernel that ``pack`` made ``data`` of; raises ``ValueError`` if it is none. ``name`` is for messages."""
    from .kernel import Kernel

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            recipe = json.loads(file.read("kernel.json"))
            cubin, ptx = file.read("kernel.cubin"), file.read("kernel.ptx").decode()
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{name} is no saved kernel: {error}") from None
    if recipe.get("format") != FORMAT:
        raise ValueError(
            f"{name} has format {recipe.get('format')}, this version reads {FORMAT}. Save the kernel again"
        )
    return Kernel(
        cubin,
        from_json(recipe["signature"]),
        ptx=ptx,
        plans=from_json(recipe["plans"]),
        chip=recipe["chip"],
        resources=from_json(recipe["resources"]),
    )


def to_json(value: Any) -> Any:
    """Signatures and plans as JSON: ``{"type": name, field: ...}`` for a dataclass; sequences become lists."""
    if isinstance(value, enum.Enum):
        return {"enum": type(value).__name__, "name": value.name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, Expr):
        return {"expr": str(value), "symbols": [[getattr(s, f.name) for f in fields(s)] for s in value.symbols()]}
    if is_dataclass(value) and _TYPES.get(type(value).__name__) is type(value):
        return {"type": type(value).__name__, **{f.name: to_json(getattr(value, f.name)) for f in fields(value)}}
    raise TypeError(f"a saved kernel cannot hold {type(value).__qualname__}")


def from_json(value: Any) -> Any:
    """What ``to_json`` wrote, lists as tuples. Raises ``ValueError`` for anything else."""
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "dtype" in value and len(value) == 1:
        return element_type(value["dtype"])
    if "enum" in value:
        return _known(value["enum"])[value["name"]]
    if "expr" in value:
        symbols = [Symbol(*parts) for parts in value["symbols"]]
        return parse_expr(value["expr"], {symbol.name: symbol for symbol in symbols})
    made = {name: from_json(item) for name, item in value.items() if name != "type"}
    return _known(value.get("type"))(**made)


def _known(name: Any) -> Any:
    if name not in _TYPES:
        raise ValueError(f"unknown type {name!r} in a saved kernel: it was saved by a newer version")
    return _TYPES[name]
