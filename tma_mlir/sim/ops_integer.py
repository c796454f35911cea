"""Integer arithmetic of the LLVM dialect: Python ints where lanes agree, arrays where they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..abi.types import Type
from .compile import Compiler, Step, operation
from .errors import UnsupportedError
from .memory import LANES
from .program import Instruction


def wrapper(bits: int):
    """Two's complement wrap of a Python int to ``bits``."""
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    return lambda value: ((value + half) & mask) - half


def unsigned(value: Any, bits: int) -> Any:
    """The unsigned reading of an integer value."""
    if value.__class__ is int or value.__class__ is bool:
        return value & ((1 << bits) - 1)
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def _check_width(kind: Type, i: Instruction) -> int:
    if kind.bits not in (1, 8, 16, 32, 64):
        raise UnsupportedError(f"{i.name} on i{kind.bits}", i.location)
    return kind.bits


def _binary(i: Instruction, c: Compiler, on_ints, on_arrays) -> Step:
    """``on_ints(a, b)`` for two Python ints (wrapped afterwards), ``on_arrays(a, b)`` when lanes differ."""
    x, y = i.operands
    kind = c.type(i.results[0])
    bits = _check_width(kind, i)
    if bits == 1:

        def run_bool(r, w):
            a, b = r[x], r[y]
            if a.__class__ is bool and b.__class__ is bool:
                return bool(on_ints(a, b) & 1)
            return on_arrays(a, b)

        return run_bool
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    dtype = kind.dtype

    def run(r, w):
        a, b = r[x], r[y]
        if a.__class__ is int and b.__class__ is int:
            return ((on_ints(a, b) + half) & mask) - half
        value = on_arrays(a, b)
        return value if value.dtype == dtype else value.astype(dtype)

    return run


def _divide(a: int, b: int) -> int:
    if b == 0:
        return -1
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _nonzero(b: Any) -> Any:
    """A divisor with zeros (of lanes that do not count) made one, in its own type."""
    return np.where(b == 0, b.dtype.type(1), b) if isinstance(b, np.ndarray) else b or 1


def _divide_arrays(a: Any, b: Any) -> np.ndarray:
    b = _nonzero(b)
    quotient = np.floor_divide(a, b)
    return quotient + ((np.multiply(quotient, b) != a) & ((np.less(a, 0)) != (b < 0)))


def _remainder_arrays(a: Any, b: Any) -> np.ndarray:
    return a - _divide_arrays(a, b) * b


_SIGNED = {
    "llvm.add": (lambda a, b: a + b, np.add),
    "llvm.sub": (lambda a, b: a - b, np.subtract),
    "llvm.mul": (lambda a, b: a * b, np.multiply),
    "llvm.sdiv": (_divide, _divide_arrays),
    "llvm.srem": (lambda a, b: a - _divide(a, b) * b, _remainder_arrays),
    "llvm.and": (lambda a, b: a & b, np.bitwise_and),
    "llvm.or": (lambda a, b: a | b, np.bitwise_or),
    "llvm.xor": (lambda a, b: a ^ b, np.bitwise_xor),
    "llvm.shl": (lambda a, b: a << (b & 63), np.left_shift),
    "llvm.ashr": (lambda a, b: a >> (b & 63), np.right_shift),
    "llvm.intr.smax": (max, np.maximum),
    "llvm.intr.smin": (min, np.minimum),
}

_UNSIGNED = {
    "llvm.udiv": (lambda a, b: a // b if b else -1, lambda a, b: a // _nonzero(b)),
    "llvm.urem": (lambda a, b: a % b if b else a, lambda a, b: a % _nonzero(b)),
    "llvm.lshr": (lambda a, b: a >> (b & 63), np.right_shift),
    "llvm.intr.umax": (max, np.maximum),
    "llvm.intr.umin": (min, np.minimum),
}


@operation(*_SIGNED)
def _signed_binary(i: Instruction, c: Compiler) -> Step:
    if c.type(i.results[0]).bits == 1 and any(v in c.elected for v in i.operands):
        c.elected.add(i.results[0])
        if i.name == "llvm.and":
            return _elected_and(i, c)
    return _binary(i, c, *_SIGNED[i.name])


def _elected_and(i: Instruction, c: Compiler) -> Step:
    """``elected & condition``: remembers when the elected lane is never among those the condition selects."""
    x, y = i.operands
    if x not in c.elected:
        x, y = y, x
    place = i.location

    def run(r, w):
        a, b = r[x], r[y]
        value = a & b
        if not isinstance(value, bool) and isinstance(b, np.ndarray):
            w.machine.note_elected_branch(
                place, w, w.front, int(np.count_nonzero(value & w.mask)), int(np.count_nonzero(b & w.mask))
            )
        return value

    return run


@operation(*_UNSIGNED)
def _unsigned_binary(i: Instruction, c: Compiler) -> Step:
    on_ints, on_arrays = _UNSIGNED[i.name]
    bits = _check_width(c.type(i.results[0]), i)
    if bits == 1:
        return _binary(i, c, on_ints, on_arrays)
    mask = (1 << bits) - 1
    dtype = c.type(i.results[0]).dtype

    def unsigned_arrays(a, b):
        return np.asarray(on_arrays(unsigned(a, bits), unsigned(b, bits))).view(dtype)

    return _binary(i, c, lambda a, b: on_ints(a & mask, b & mask), unsigned_arrays)


_COMPARE_INTS = {
    0: (lambda a, b: a == b, np.equal, False),
    1: (lambda a, b: a != b, np.not_equal, False),
    2: (lambda a, b: a < b, np.less, False),
    3: (lambda a, b: a <= b, np.less_equal, False),
    4: (lambda a, b: a > b, np.greater, False),
    5: (lambda a, b: a >= b, np.greater_equal, False),
    6: (lambda a, b: a < b, np.less, True),
    7: (lambda a, b: a <= b, np.less_equal, True),
    8: (lambda a, b: a > b, np.greater, True),
    9: (lambda a, b: a >= b, np.greater_equal, True),
}


@operation("llvm.icmp")
def _compare(i: Instruction, c: Compiler) -> Step:
    x, y = i.operands
    on_ints, on_arrays, as_unsigned = _COMPARE_INTS[i.attributes["predicate"]]
    bits = c.type(x).bits
    if bits == 1:
        # As signed, true is -1: the order is the opposite of bool's.
        if i.attributes["predicate"] in (2, 3, 4, 5):
            x, y = y, x
        as_unsigned = False
    if any(v in c.elected for v in i.operands):
        c.elected.add(i.results[0])

    def run(r, w):
        a, b = r[x], r[y]
        if as_unsigned:
            a, b = unsigned(a, bits), unsigned(b, bits)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return on_arrays(a, b)
        return bool(on_ints(a, b))

    return run


@operation("llvm.sext", "llvm.zext", "llvm.trunc", "llvm.ptrtoint", "llvm.inttoptr")
def _resize(i: Instruction, c: Compiler) -> Step:
    (x,) = i.operands
    source, target = c.type(x), c.type(i.results[0])
    from_bits, to_bits = _check_width(source, i), _check_width(target, i)
    dtype, name = target.dtype, i.name
    if x in c.elected:
        c.elected.add(i.results[0])
    if to_bits == 1:

        def to_bool(r, w):
            value = r[x]
            return (value & 1) != 0 if isinstance(value, np.ndarray) else bool(value & 1)

        return to_bool
    if from_bits == 1:
        sign = -1 if name == "llvm.sext" else 1

        def from_bool(r, w):
            value = r[x]
            return value.astype(dtype) * sign if isinstance(value, np.ndarray) else int(value) * sign

        return from_bool
    if name == "llvm.sext" or (name in ("llvm.ptrtoint", "llvm.inttoptr") and from_bits == to_bits):

        def extend(r, w):
            value = r[x]
            return value.astype(dtype) if isinstance(value, np.ndarray) else value

        return extend
    wrap = wrapper(to_bits)
    mask = (1 << from_bits) - 1
    grow = to_bits > from_bits

    def resize(r, w):
        value = r[x]
        if isinstance(value, np.ndarray):
            return unsigned(value, from_bits).astype(dtype) if grow else value.astype(dtype)
        return wrap(value & mask)

    return resize


@operation("llvm.intr.abs")
def _absolute(i: Instruction, c: Compiler) -> Step:
    x = i.operands[0]
    return lambda r, w: abs(r[x])


@operation("llvm.intr.ctpop", "llvm.intr.ctlz", "llvm.intr.cttz", "llvm.intr.bitreverse", "llvm.intr.bswap")
def _count_bits(i: Instruction, c: Compiler) -> Step:
    x = i.operands[0]
    bits = c.type(x).bits
    mask = (1 << bits) - 1
    wrap, dtype = wrapper(bits), c.type(x).dtype
    one = {
        "llvm.intr.ctpop": lambda v: v.bit_count(),
        "llvm.intr.ctlz": lambda v: bits - v.bit_length(),
        "llvm.intr.cttz": lambda v: (v & -v).bit_length() - 1 if v else bits,
        "llvm.intr.bitreverse": lambda v: int(f"{v:0{bits}b}"[::-1], 2),
        "llvm.intr.bswap": lambda v: int.from_bytes(v.to_bytes(bits // 8, "little"), "big"),
    }[i.name]

    def run(r, w):
        value = r[x]
        if isinstance(value, np.ndarray):
            return np.array([wrap(one(int(v) & mask)) for v in value.reshape(-1)], dtype).reshape(value.shape)
        return wrap(one(value & mask))

    return run


@operation("llvm.intr.fshl", "llvm.intr.fshr")
def _funnel_shift(i: Instruction, c: Compiler) -> Step:
    x, y, z = i.operands
    bits = c.type(x).bits
    mask = (1 << bits) - 1
    wrap, dtype, left = wrapper(bits), c.type(x).dtype, i.name.endswith("l")

    def one(a: int, b: int, s: int) -> int:
        s %= bits
        both = ((a & mask) << bits) | (b & mask)
        return wrap(both >> (bits - s) if left else both >> s)

    def run(r, w):
        a, b, s = r[x], r[y], r[z]
        if any(isinstance(v, np.ndarray) for v in (a, b, s)):
            lanes = [np.broadcast_to(v, (LANES,)) for v in (a, b, s)]
            return np.array([one(int(p), int(q), int(t)) for p, q, t in zip(*lanes, strict=True)], dtype)
        return one(a, b, s)

    return run


@operation("llvm.intr.sadd.with.overflow", "llvm.intr.uadd.with.overflow", "llvm.intr.ssub.with.overflow",
           "llvm.intr.usub.with.overflow", "llvm.intr.smul.with.overflow", "llvm.intr.umul.with.overflow")  # fmt: skip
def _with_overflow(i: Instruction, c: Compiler) -> Step:
    x, y = i.operands
    bits, dtype = c.type(x).bits, c.type(x).dtype
    signed, verb = i.name[10] == "s", i.name[11:14]
    wrap, mask = wrapper(bits), (1 << bits) - 1
    apply = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}[verb]

    def one(a: int, b: int) -> tuple[int, bool]:
        exact = apply(a, b) if signed else apply(a & mask, b & mask)
        return wrap(exact), (wrap(exact) != exact if signed else exact & mask != exact)

    def run(r, w):
        a, b = r[x], r[y]
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            pairs = [one(int(p), int(q)) for p, q in zip(*(np.broadcast_to(v, (LANES,)) for v in (a, b)), strict=True)]
            return (np.array([p[0] for p in pairs], dtype), np.array([p[1] for p in pairs]))
        return one(a, b)

    return run
