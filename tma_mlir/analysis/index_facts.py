"""What the IR says about an integer value: bounds and a residue.

Follows ``arith``, ``index``, ``affine``, ``scf`` loops and branches, and GPU ids. Anything it does not know has no
bounds and divisor 1, so an answer is never stronger than the IR.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..bindings import ir
from .integer_facts import (
    BINARY,
    UNKNOWN,
    Facts,
    add,
    divide_down,
    divide_up,
    either,
    extended_unsigned,
    facts,
    known,
    maximum,
    minimum,
    modulo,
    multiply,
    not_wrapping_unsigned,
    truncated,
)
from .ir_access import block_owner, defining_op, enclosing, gpu_axis

DEEPEST = 32
"""How many operations a value is followed back."""

_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)
"""Threads of a block and blocks of a grid, x, y, z (CUDA programming guide, compute capabilities)."""
_WARP = 32

_IDS = {
    "gpu.thread_id": ("known_block_size", _BLOCK_LIMITS, False),
    "gpu.block_id": ("known_grid_size", _GRID_LIMITS, False),
    "gpu.block_dim": ("known_block_size", _BLOCK_LIMITS, True),
    "gpu.grid_dim": ("known_grid_size", _GRID_LIMITS, True),
}
_COUNTERS = {
    "gpu.lane_id": Facts(0, _WARP - 1),
    "gpu.subgroup_id": Facts(0, 1024 // _WARP - 1),
    "gpu.num_subgroups": Facts(1, 1024 // _WARP),
    "gpu.subgroup_size": known(_WARP),
    "gpu.global_id": Facts(low=0),
    "gpu.cluster_id": Facts(low=0),
    "gpu.cluster_block_id": Facts(low=0),
    "gpu.cluster_dim": Facts(low=1),
    "gpu.cluster_dim_blocks": Facts(low=1),
    "nvvm.read.ptx.sreg.laneid": Facts(0, _WARP - 1),
    "nvvm.read.ptx.sreg.warpsize": known(_WARP),
    "nvvm.read.ptx.sreg.warpid": Facts(low=0),
    "nvvm.read.ptx.sreg.cluster.ctarank": Facts(0, 15),
    "nvvm.read.ptx.sreg.cluster.nctarank": Facts(1, 16),
}
for _axis, _threads, _blocks in zip("xyz", _BLOCK_LIMITS, _GRID_LIMITS, strict=True):
    _COUNTERS[f"nvvm.read.ptx.sreg.tid.{_axis}"] = Facts(0, _threads - 1)
    _COUNTERS[f"nvvm.read.ptx.sreg.ntid.{_axis}"] = Facts(1, _threads)
    _COUNTERS[f"nvvm.read.ptx.sreg.ctaid.{_axis}"] = Facts(0, _blocks - 1)
    _COUNTERS[f"nvvm.read.ptx.sreg.nctaid.{_axis}"] = Facts(1, _blocks)


def facts_of(value: ir.Value) -> Facts:
    """Bounds and residue of an integer or index value. Sums and products are taken not to overflow, as index arithmetic
    in offsets must not."""
    return _Reader().facts(value, DEEPEST)


class _Reader:
    """Reads the facts of one value. A value that is used twice on the way is read once."""

    def __init__(self) -> None:
        self._found: dict[ir.Value, Facts] = {}

    def facts(self, value: ir.Value, depth: int) -> Facts:
        if depth == 0:
            return UNKNOWN
        found = self._found.get(value)
        if found is None:
            op = defining_op(value)
            if op is None:
                found = self._block_argument(ir.BlockArgument(value), depth - 1)
            else:
                found = self._result(op, value, depth - 1)
            self._found[value] = found
        return found

    def _result(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        dialect, _, name = op.name.partition(".")
        operands = op.operands
        if dialect in ("arith", "index"):
            if name == "constant":
                attribute = op.attributes["value"]
                return known(attribute.value) if isinstance(attribute, ir.IntegerAttr) else UNKNOWN
            if name in BINARY and len(operands) == 2:
                left, right = self.facts(operands[0], depth), self.facts(operands[1], depth)
                result = BINARY[name](left, right)
                if "overflowFlags" in op.attributes and "nuw" in str(op.attributes["overflowFlags"]):
                    return not_wrapping_unsigned(name, left, right, result)
                return result
            return self._converted(op, name, depth)
        follow = _FOLLOWED.get(op.name)
        if follow is not None:
            return follow(self, op, value, depth)
        return _COUNTERS.get(op.name, UNKNOWN)

    def _converted(self, op: ir.Operation, name: str, depth: int) -> Facts:
        if name in ("index_cast", "extsi", "casts"):
            return self.facts(op.operands[0], depth)
        if name in ("index_castui", "extui", "castu"):
            inner = self.facts(op.operands[0], depth)
            width = _width(op.operands[0].type)
            return (
                extended_unsigned(inner, width) if width < _width(op.results[0].type) or inner.is_natural else UNKNOWN
            )
        if name == "trunci":
            return truncated(self.facts(op.operands[0], depth), _width(op.results[0].type))
        if name == "select":
            return either(self.facts(op.operands[1], depth), self.facts(op.operands[2], depth))
        return UNKNOWN

    def _gpu_id(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        attribute, limits, is_extent = _IDS[op.name]
        axis = gpu_axis(op)
        extent, most = _known_size(op, attribute, axis), limits[axis]
        if "upper_bound" in op.attributes:
            most = min(most, ir.IntegerAttr(op.attributes["upper_bound"]).value)
        if is_extent:
            return facts(1, most) if extent is None else known(extent)
        return facts(0, (most if extent is None else extent) - 1)

    def _memref_dim(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        shaped, position = op.operands[0].type, self.facts(op.operands[1], depth).constant
        if not isinstance(shaped, ir.MemRefType) or position is None or not 0 <= position < shaped.rank:
            return Facts(low=0)
        return Facts(low=0) if shaped.is_dynamic_dim(position) else known(shaped.get_dim_size(position))

    def _branch(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        """The result of an ``scf.if``: what either branch yields."""
        position = ir.OpResult(value).result_number
        yields = [list(region.blocks[0].operations)[-1].operation for region in op.regions if len(region.blocks)]
        return functools.reduce(either, [self.facts(each.operands[position], depth) for each in yields])

    def _affine_maps(self, op: ir.Operation, attribute: str, depth: int, operands: list[ir.Value]) -> list[Facts]:
        affine = op.attributes[attribute].value  # type: ignore[attr-defined]
        values = [self.facts(operand, depth) for operand in operands]
        return [_affine(each, values[: affine.n_dims], values[affine.n_dims :]) for each in affine.results]

    def _affine_apply(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        return self._affine_maps(op, "map", depth, list(op.operands))[0]

    def _affine_min(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        return functools.reduce(minimum, self._affine_maps(op, "map", depth, list(op.operands)))

    def _affine_max(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        return functools.reduce(maximum, self._affine_maps(op, "map", depth, list(op.operands)))

    def _delinearized(self, op: ir.Operation, value: ir.Value, depth: int) -> Facts:
        """A result of ``affine.delinearize_index``, outermost first: a quotient, then remainders by the basis."""
        basis, position = list(ir.DenseI64ArrayAttr(op.attributes["static_basis"])), ir.OpResult(value).result_number
        linear = self.facts(op.operands[0], depth)
        if min(basis, default=0) < 0:  # an entry is an operand
            return Facts(low=0) if linear.is_natural else UNKNOWN
        own = len(basis) - len(op.results) + position  # -1: the outermost has no bound
        for extent in reversed(basis[own + 1 :]):
            linear = divide_down(linear, known(extent))
        if position:
            return modulo(linear, known(basis[own]))
        if own < 0:
            return linear
        return Facts(0, linear.high) if linear.is_natural else UNKNOWN  # whether it is reduced by its bound is open

    def _block_argument(self, argument: ir.BlockArgument, depth: int) -> Facts:
        owner = block_owner(argument)
        if argument.arg_number != 0:
            return UNKNOWN
        if owner.name == "scf.for":
            low, high, step = (self.facts(owner.operands[i], depth) for i in range(3))
            if "unsignedCmp" in owner.attributes and not (low.is_natural and high.is_natural):
                return UNKNOWN
            return _counter(low, high, step)
        if owner.name == "affine.for":
            segments = list(ir.DenseI32ArrayAttr(owner.attributes["operandSegmentSizes"]))
            operands, split = list(owner.operands), segments[0]
            lows = self._affine_maps(owner, "lowerBoundMap", depth, operands[:split])
            highs = self._affine_maps(owner, "upperBoundMap", depth, operands[split : split + segments[1]])
            step = known(ir.IntegerAttr(owner.attributes["step"]).value)
            return _counter(functools.reduce(maximum, lows), functools.reduce(minimum, highs), step)
        return UNKNOWN


_FOLLOWED: dict[str, Callable[[_Reader, ir.Operation, ir.Value, int], Facts]] = {
    **dict.fromkeys(_IDS, _Reader._gpu_id),
    "memref.dim": _Reader._memref_dim,
    "scf.if": _Reader._branch,
    "affine.apply": _Reader._affine_apply,
    "affine.min": _Reader._affine_min,
    "affine.max": _Reader._affine_max,
    "affine.delinearize_index": _Reader._delinearized,
}


def _counter(low: Facts, high: Facts, step: Facts) -> Facts:
    """A loop's counter: from ``low`` in steps, below ``high``."""
    if step.low is None or step.low <= 0:
        return UNKNOWN
    reached = add(low, multiply(step, Facts(low=0)))
    return facts(low.low, None if high.high is None else high.high - 1, reached.divisor, reached.residue)


def _width(type_: ir.Type) -> int:
    """Bits; an index has 64 on a GPU."""
    return type_.width if isinstance(type_, ir.IntegerType) else 64


def _known_size(op: ir.Operation, attribute: str, axis: int) -> int | None:
    function = enclosing(op, "gpu.func")
    if function is None or attribute not in function.attributes:
        return None
    return list(ir.DenseI32ArrayAttr(function.attributes[attribute]))[axis]


def _affine(expr: ir.AffineExpr, dims: list[Facts], symbols: list[Facts]) -> Facts:
    if isinstance(expr, ir.AffineConstantExpr):
        return known(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return symbols[expr.position]
    if not isinstance(expr, ir.AffineBinaryExpr):
        return UNKNOWN
    left, right = _affine(expr.lhs, dims, symbols), _affine(expr.rhs, dims, symbols)
    for kind, combine in (
        (ir.AffineAddExpr, add),
        (ir.AffineMulExpr, multiply),
        (ir.AffineModExpr, modulo),
        (ir.AffineFloorDivExpr, divide_down),
        (ir.AffineCeilDivExpr, divide_up),
    ):
        if isinstance(expr, kind):
            return combine(left, right)
    return UNKNOWN
