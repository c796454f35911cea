"""Floating-point operations, conversions and mathematical functions, on scalars and vectors alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compile import Compiler, Step, operation
from .errors import UnsupportedError
from .ops_integer import unsigned
from .program import Instruction

_BINARY = {
    "llvm.fadd": np.add,
    "llvm.fsub": np.subtract,
    "llvm.fmul": np.multiply,
    "llvm.fdiv": np.divide,
    "llvm.frem": np.fmod,
    "llvm.intr.maxnum": np.fmax,
    "llvm.intr.minnum": np.fmin,
    "llvm.intr.maximum": np.maximum,
    "llvm.intr.minimum": np.minimum,
    "llvm.intr.copysign": np.copysign,
    "llvm.intr.pow": np.power,
    "llvm.intr.atan2": np.arctan2,
}

_UNARY: dict[str, Any] = {
    "fabs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "nearbyint": np.rint, "roundeven": np.rint, "exp10": lambda x: np.power(10.0, x),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}  # fmt: skip

DEVICE_FUNCTIONS: dict[str, Any] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(10.0, x), "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "pow": np.power,
    "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "fmod": np.fmod,
    "round": _UNARY["round"], "fmax": np.fmax, "fmin": np.fmin, "copysign": np.copysign, "erf": np.vectorize(math.erf),
    "fma": lambda a, b, c: a * b + c, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "fast_exp": np.exp, "fast_log": np.log, "fast_log2": np.log2, "fast_log10": np.log10, "fast_sin": np.sin,
    "fast_cos": np.cos, "fast_tan": np.tan, "fast_pow": np.power, "fdividef": np.divide,
}  # fmt: skip
"""libdevice functions by their name without ``__nv_`` and the ``f`` of the f32 form."""


@operation(*_BINARY)
def _binary(i: Instruction, c: Compiler) -> Step:
    x, y = i.operands
    apply = _BINARY[i.name]
    dtype = c.type(i.results[0]).dtype

    def run(r, w):
        value = apply(r[x], r[y])
        return value if value.dtype == dtype else value.astype(dtype)

    return run


@operation("llvm.fneg")
def _negate(i: Instruction, c: Compiler) -> Step:
    x = i.operands[0]
    return lambda r, w: np.negative(r[x])


@operation("llvm.intr.fma", "llvm.intr.fmuladd")
def _fused(i: Instruction, c: Compiler) -> Step:
    x, y, z = i.operands
    dtype = c.type(i.results[0]).dtype
    # One rounding: exact product and near-exact sum in the wider type.
    wide = np.longdouble if dtype == np.float64 else np.float64

    def run(r, w):
        a, b, addend = (np.asarray(r[v]).astype(wide) for v in (x, y, z))
        value = (a * b + addend).astype(dtype)
        return value if value.ndim else value[()]

    return run


def function_step(apply: Any, operands: tuple[int, ...], dtype: Any) -> Step:
    """``apply`` computed in f32 or wider, rounded to ``dtype``."""
    narrow = dtype.itemsize < 4

    def run(r, w):
        values = [r[v] for v in operands]
        if narrow:
            values = [np.asarray(v).astype(np.float32) for v in values]
        value = np.asarray(apply(*values)).astype(dtype)
        return value if value.ndim else value[()]

    return run


@operation(*(f"llvm.intr.{name}" for name in _UNARY))
def _unary(i: Instruction, c: Compiler) -> Step:
    return function_step(_UNARY[i.name[len("llvm.intr.") :]], i.operands[:1], c.type(i.results[0]).dtype)


@operation("llvm.intr.powi")
def _integer_power(i: Instruction, c: Compiler) -> Step:
    return function_step(np.power, i.operands, c.type(i.results[0]).dtype)


@operation("nvvm.rcp.approx.ftz.f")
def _reciprocal(i: Instruction, c: Compiler) -> Step:
    return function_step(lambda x: 1 / x, i.operands, c.type(i.results[0]).dtype)


def device_function(name: str, i: Instruction, c: Compiler) -> Step:
    """A call of libdevice's ``__nv_<name>``."""
    short = name.removeprefix("__nv_")
    apply = DEVICE_FUNCTIONS.get(short)
    if apply is None and short.endswith("f"):
        apply = DEVICE_FUNCTIONS.get(short[:-1])
    if apply is None:
        raise UnsupportedError(f"call of @{name}", i.location)
    return function_step(apply, i.operands, c.type(i.results[0]).dtype)


def _compare(predicate: int, a: Any, b: Any) -> Any:
    """``llvm.fcmp`` in MLIR's enum: false, oeq ogt oge olt ole one, ord, ueq ugt uge ult ule une, uno, true."""
    if predicate in (0, 15):
        return np.full(np.broadcast(a, b).shape, predicate == 15)
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in (7, 14):
        return ~unordered if predicate == 7 else unordered
    ordered = predicate < 7
    # Bits: 1 equal, 2 greater, 4 less.
    bits = predicate if ordered else predicate - 7
    result = np.zeros(np.broadcast(a, b).shape, bool)
    if bits & 1:
        result = result | np.equal(a, b)
    if bits & 2:
        result = result | np.greater(a, b)
    if bits & 4:
        result = result | np.less(a, b)
    return result & ~unordered if ordered else result | unordered


@operation("llvm.fcmp")
def _float_compare(i: Instruction, c: Compiler) -> Step:
    x, y = i.operands
    predicate = i.attributes["predicate"]

    def run(r, w):
        value = _compare(predicate, r[x], r[y])
        return value if getattr(value, "ndim", 0) else bool(value)

    return run


@operation("llvm.fpext", "llvm.fptrunc")
def _convert(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    dtype = c.type(i.results[0]).dtype
    return lambda r, w: r[x].astype(dtype)


@operation("llvm.sitofp", "llvm.uitofp")
def _to_float(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    dtype, bits = c.type(i.results[0]).dtype, c.type(x).bits
    as_unsigned = i.name == "llvm.uitofp" or bits == 1

    def run(r, w):
        value = unsigned(r[x], bits) if as_unsigned else r[x]
        if i.name == "llvm.sitofp" and bits == 1:
            value = -(np.asarray(value).astype(np.int8))
        result = np.asarray(value).astype(dtype)
        return result if result.ndim else result[()]

    return run


@operation("llvm.fptosi", "llvm.fptoui")
def _to_int(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    kind = c.type(i.results[0])
    if kind.dtype is None:
        raise UnsupportedError(i.name, i.location)
    info = np.iinfo(kind.dtype) if kind.bits > 1 else None
    if i.name == "llvm.fptoui" and kind.bits > 1:
        info = np.iinfo(f"u{kind.dtype.itemsize}")

    def run(r, w):
        value = np.trunc(np.asarray(r[x]).astype(np.float64))
        if info is None:
            result = value != 0
        else:
            value = np.nan_to_num(np.clip(value, float(info.min), float(info.max)), nan=0.0)
            exact = value.astype(info.dtype)
            exact = np.where(value >= float(info.max), info.max, exact).astype(info.dtype)
            result = exact.view(kind.dtype)
        if result.ndim:
            return result
        return bool(result) if info is None else int(result)

    return run
