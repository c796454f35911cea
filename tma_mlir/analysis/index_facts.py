"""What the IR says about an integer value: bounds and a divisor.

Follows ``arith``, ``index``, ``affine.apply``, loop induction variables and GPU ids. Anything it does not know has no
bounds and divisor 1, so an answer is never stronger than the IR.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mlir import ir

from .ir_access import block_owner, defining_op, enclosing


@dataclass(frozen=True)
class Facts:
    """``low <= value <= high`` (None: not known) and ``value % divisor == 0``; divisor 0 is the constant 0."""

    low: int | None = None
    high: int | None = None
    divisor: int = 1

    @property
    def constant(self) -> int | None:
        return self.low if self.low is not None and self.low == self.high else None


def known(value: int) -> Facts:
    return Facts(value, value, abs(value))


def _add(a: Facts, b: Facts) -> Facts:
    return Facts(
        None if a.low is None or b.low is None else a.low + b.low,
        None if a.high is None or b.high is None else a.high + b.high,
        math.gcd(a.divisor, b.divisor),
    )


def _negate(a: Facts) -> Facts:
    return Facts(None if a.high is None else -a.high, None if a.low is None else -a.low, a.divisor)


def _multiply(a: Facts, b: Facts) -> Facts:
    low = high = None
    ends = (a.low, a.high, b.low, b.high)
    if None not in ends:
        products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
        low, high = min(products), max(products)
    elif a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        low = a.low * b.low
    return Facts(low, high, a.divisor * b.divisor)


def _divide(a: Facts, b: Facts) -> Facts:
    """Division of a value that is not negative by a positive constant; unknown otherwise."""
    by = b.constant
    if by is None or by <= 0 or a.low is None or a.low < 0:
        return Facts()
    divisor = a.divisor // by if a.divisor and a.divisor % by == 0 else 1
    return Facts(a.low // by, None if a.high is None else a.high // by, divisor)


def _remainder(a: Facts, b: Facts) -> Facts:
    by = b.constant
    if by is None or by <= 0 or a.low is None or a.low < 0:
        return Facts()
    high = by - 1 if a.high is None else min(by - 1, a.high)
    return Facts(0, high, math.gcd(a.divisor, by))


def _unsigned_remainder(a: Facts, b: Facts) -> Facts:
    """In 0..b-1 whatever the sign of ``a``; a negative one counts as ``a + 2**64``, which keeps powers of two only."""
    by = b.constant
    if by is None or by <= 0 or (a.low is not None and a.low >= 0):
        return _remainder(a, b)
    return Facts(0, by - 1, math.gcd(a.divisor, by, 1 << 62))


def _unsigned_minimum(a: Facts, b: Facts) -> Facts:
    """The signed minimum of values that are not negative; otherwise at most the smallest bound that is not."""
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return _minimum(a, b)
    sure = [each.high for each in (a, b) if each.low is not None and each.low >= 0 and each.high is not None]
    return Facts(0 if sure else None, min(sure) if sure else None, math.gcd(a.divisor, b.divisor))


def _shift_left(a: Facts, b: Facts) -> Facts:
    by = b.constant
    return Facts() if by is None or not 0 <= by < 63 else _multiply(a, known(1 << by))


def _minimum(a: Facts, b: Facts) -> Facts:
    highs = [x for x in (a.high, b.high) if x is not None]
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return Facts(low, min(highs) if highs else None, math.gcd(a.divisor, b.divisor))


def _maximum(a: Facts, b: Facts) -> Facts:
    return _negate(_minimum(_negate(a), _negate(b)))


_BINARY: dict[str, Callable[[Facts, Facts], Facts]] = {
    "addi": _add,
    "add": _add,
    "subi": lambda a, b: _add(a, _negate(b)),
    "sub": lambda a, b: _add(a, _negate(b)),
    "muli": _multiply,
    "mul": _multiply,
    "divui": _divide,
    "divsi": _divide,
    "floordivsi": _divide,
    "divu": _divide,
    "divs": _divide,
    "floordivs": _divide,
    "remui": _unsigned_remainder,
    "remsi": _remainder,
    "remu": _unsigned_remainder,
    "rems": _remainder,
    "shli": _shift_left,
    "shl": _shift_left,
    "minui": _unsigned_minimum,
    "minsi": _minimum,
    "mins": _minimum,
    "maxsi": _maximum,
    "maxs": _maximum,
}

_IDS = {
    "gpu.thread_id": ("known_block_size", False),
    "gpu.block_id": ("known_grid_size", False),
    "gpu.block_dim": ("known_block_size", True),
    "gpu.grid_dim": ("known_grid_size", True),
}


def facts_of(value: ir.Value, depth: int = 32) -> Facts:
    """Bounds and divisor of an integer or index value. Products are taken not to overflow, as index arithmetic in
    offsets must not."""
    if depth == 0:
        return Facts()
    op = defining_op(value)
    if op is None:
        return _block_argument(ir.BlockArgument(value), depth)
    dialect, _, name = op.name.partition(".")
    if op.name in ("arith.constant", "index.constant"):
        attribute = op.attributes["value"]
        return known(attribute.value) if isinstance(attribute, ir.IntegerAttr) else Facts()
    if dialect in ("arith", "index") and name in _BINARY and len(op.operands) == 2:
        return _BINARY[name](facts_of(op.operands[0], depth - 1), facts_of(op.operands[1], depth - 1))
    if op.name in ("arith.index_cast", "arith.extsi", "index.casts"):
        return facts_of(op.operands[0], depth - 1)
    if op.name in ("arith.index_castui", "arith.extui", "index.castu"):
        inner = facts_of(op.operands[0], depth - 1)
        return inner if inner.low is not None and inner.low >= 0 else Facts()
    if op.name in _IDS:
        return _gpu_id(op)
    if op.name == "affine.apply":
        return _affine_apply(op, depth)
    return Facts()


def _gpu_id(op: ir.Operation) -> Facts:
    attribute, is_extent = _IDS[op.name]
    axis = "xyz".index(str(op.attributes["dimension"]).removeprefix("#gpu<dim ").rstrip(">"))
    extent = _known_size(op, attribute, axis)
    if is_extent:
        return Facts(1) if extent is None else known(extent)
    return Facts(0, None if extent is None else extent - 1)


def _known_size(op: ir.Operation, attribute: str, axis: int) -> int | None:
    function = enclosing(op, "gpu.func")
    if function is None or attribute not in function.attributes:
        return None
    return list(ir.DenseI32ArrayAttr(function.attributes[attribute]))[axis]


def _block_argument(argument: ir.BlockArgument, depth: int) -> Facts:
    owner = block_owner(argument)
    if owner.name != "scf.for" or argument.arg_number != 0:
        return Facts()
    low, high, step = (facts_of(owner.operands[i], depth - 1) for i in range(3))
    if step.low is None or step.low <= 0:
        return Facts()
    last = None if high.high is None else high.high - 1
    return Facts(low.low, last, math.gcd(low.divisor, step.divisor))


def _affine_apply(op: ir.Operation, depth: int) -> Facts:
    affine = op.attributes["map"].value  # type: ignore[attr-defined]
    operands = [facts_of(operand, depth - 1) for operand in op.operands]
    return _affine(affine.results[0], operands[: affine.n_dims], operands[affine.n_dims :])


def _affine(expr: ir.AffineExpr, dims: list[Facts], symbols: list[Facts]) -> Facts:
    if isinstance(expr, ir.AffineConstantExpr):
        return known(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    if not isinstance(expr, ir.AffineBinaryExpr):
        return Facts()
    left, right = _affine(expr.lhs, dims, symbols), _affine(expr.rhs, dims, symbols)
    for kind, combine in (
        (ir.AffineAddExpr, _add),
        (ir.AffineMulExpr, _multiply),
        (ir.AffineModExpr, _remainder),
        (ir.AffineFloorDivExpr, _divide),
    ):
        if isinstance(expr, kind):
            return combine(left, right)
    return Facts()
