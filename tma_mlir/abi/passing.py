"""Which parameters PTX can take: how a type is passed, or why it cannot be.

Found by compiling kernels with LLVM 22 for sm_90a and assembling them: other types abort LLVM (``Integer too large``,
``Empty parameter types are not supported``) or make PTX that no assembler takes (``.param .u24``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..dtypes import DTYPES
from .signature import Argument, PointerArgument, ScalarArgument, ValueArgument
from .types import WIDTHS, Type, parse_type

MAX_PARAMETER_BYTES = 32764
"""Of all parameters together, from sm_70 on (ptxas: ``0x7ffc max``)."""

_FORMATS = ("tf32",)
"""Types of ``dtypes`` that MLIR does not lower: they are formats of a tensor map, not of a value."""

_PARAMETERS = "a memref, a pointer, a number, or a vector, complex number, array or struct of numbers"
_ELEMENTS = "elements that are numbers, or vectors or complex numbers of them"
_WIDTHS = "1, 8, 16, 32, 64, 128 or 256 bits"


@dataclass(frozen=True)
class Refusal:
    """``what`` is refused (a part of the parameter's type, or all of it), what is ``needed``, and a ``remedy``."""

    what: str
    needed: str
    remedy: str


def by_value(text: str) -> Argument:
    """How a parameter is passed whose type MLIR prints as ``text``: no memref, and one without a ``refusal``."""
    if text == "index":
        return ScalarArgument(DTYPES["i64"])
    if text in DTYPES:
        return ScalarArgument(DTYPES[text])
    return PointerArgument() if text.startswith("!llvm.ptr") else ValueArgument(text)


def element_refusal(text: str) -> Refusal | None:
    """Why a memref that is a parameter cannot have elements of the type MLIR prints as ``text``; None if it can."""
    if text in DTYPES and text not in _FORMATS:
        return None
    found = refusal(text)
    return replace(found, needed=_ELEMENTS) if found is not None and found.needed == _PARAMETERS else found


def refusal(text: str) -> Refusal | None:
    """Why no parameter can have the type MLIR prints as ``text``, which is no memref's; None if it can."""
    try:
        type_ = parse_type(text)
    except ValueError:
        return _unknown(text)
    found = _refusal(type_)
    if found is None and type_.size == 0:
        found = Refusal(text, "at least one byte", "Drop the parameter")
    return found


def _refusal(type_: Type, in_vector: bool = False) -> Refusal | None:
    if type_.kind == "int":
        if type_.bits not in WIDTHS:
            wider = next((width for width in WIDTHS if width > max(type_.bits, 7)), 64)
            return Refusal(type_.name, f"an integer of {_WIDTHS}", f"Use i{wider} and truncate it in the kernel")
        if in_vector and type_.bits == 1:
            return Refusal("a vector of i1", "elements of whole bytes", "Use i8 in it and truncate it in the kernel")
    if type_.kind == "float" and type_.name in _FORMATS:
        return Refusal(type_.name, "a type that values have", "Use f32")
    if type_.kind == "float" and DTYPES[type_.name].bits % 8:
        return _unknown(type_.name)
    if type_.kind == "ptr" and type_.space not in (0, 1):
        return Refusal(
            f"a pointer to address space {type_.space}",
            "one that the host has: address space 0 or 1 (global memory)",
            "Use !llvm.ptr or !llvm.ptr<1>",
        )
    if type_.kind == "token":
        return _unknown("a token")
    problems = (_refusal(field, type_.kind == "vector") for field in type_.fields)
    return next((problem for problem in problems if problem is not None), None)


_REMEDIES = (
    (r"^(?:f80|f128|!llvm\.ppc_fp128)$", "Use f64"),
    (r"^[su]?i\d+$", "Use an array of i64"),
    (r"^vector<.*\[", "Use a vector of fixed size"),
    (r"f(?:80|128)\b", "Use f64 in it"),
    (r"\bf[46]E", "Use i8 and take the bits apart in the kernel"),
    (r"^tensor<", "Use a memref: bufferize the kernel first"),
    (
        r"^!nvgpu\.tensormap",
        "Pass the memref it is of and copy with tile.copy_async: a launch makes its descriptor",
    ),
    (r"^!llvm\.struct<.*opaque", "Use !llvm.ptr to it"),
    (r"^memref<", "Use one memref of all the elements"),
    (r"", "Use what it is made of: numbers, pointers and memrefs"),
)
"""What to pass instead of types that have no layout here, by their text; the first that fits."""


def _unknown(text: str) -> Refusal:
    remedy = next(remedy for pattern, remedy in _REMEDIES if re.search(pattern, text))
    return Refusal(text, _PARAMETERS, remedy)
