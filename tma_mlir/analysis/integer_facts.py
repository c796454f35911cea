"""What is known of an unknown integer, bounds and a residue, and what arithmetic makes of it.

Values are those of index arithmetic: sums and products are taken not to overflow 64 bits, as offsets must not. Anything
else that is not known to hold is left out, so that an answer is never stronger than what it was made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """``low <= value <= high`` (None: not known), and ``value`` leaves ``residue`` when divided by ``divisor``.

    Divisor 0 is a constant, whose residue is its value.
    """

    low: int | None = None
    high: int | None = None
    divisor: int = 1
    residue: int = 0

    @property
    def constant(self) -> int | None:
        return self.low if self.low is not None and self.low == self.high else None

    @property
    def known_divisor(self) -> int:
        """The largest number known to divide it; 0 for the constant 0."""
        return math.gcd(self.divisor, self.residue)

    @property
    def is_natural(self) -> bool:
        """Whether it is known to be 0 or more."""
        return self.low is not None and self.low >= 0

    @property
    def is_empty(self) -> bool:
        """Whether no number is like this."""
        return self.low is not None and self.high is not None and self.low > self.high


UNKNOWN = Facts()


def known(value: int) -> Facts:
    return Facts(value, value, 0, value)


def facts(low: int | None, high: int | None, divisor: int = 1, residue: int = 0) -> Facts:
    """The facts with a residue in range, and bounds that are themselves possible values."""
    if divisor == 0:
        return known(residue)
    divisor = abs(divisor)
    residue %= divisor
    if divisor > 1:
        low = None if low is None else low + (residue - low) % divisor
        high = None if high is None else high - (high - residue) % divisor
    return known(low) if low is not None and low == high else Facts(low, high, divisor, residue)


def both(a: Facts, b: Facts) -> Facts:
    """What is known of a number of which all of ``a`` and ``b`` is true."""
    low, high = _largest(a.low, b.low), _smallest(a.high, b.high)
    common = math.gcd(a.divisor, b.divisor)
    if (a.residue - b.residue) % common if common else a.residue != b.residue:
        return Facts(1, 0)
    if not a.divisor or not b.divisor:
        value = a.residue if not a.divisor else b.residue
        outside = (low is not None and value < low) or (high is not None and value > high)
        return Facts(1, 0) if outside else known(value)
    # The number between 0 and the common multiple that leaves both residues.
    step = b.divisor // common
    times = (b.residue - a.residue) // common * pow(a.divisor // common, -1, step) % step if step > 1 else 0
    return facts(low, high, a.divisor * step, a.residue + a.divisor * times)


def either(a: Facts, b: Facts) -> Facts:
    """What is known of a number that is one of two."""
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return facts(low, high, *_either_residue(a, b))


def _either_residue(a: Facts, b: Facts) -> tuple[int, int]:
    return math.gcd(a.divisor, b.divisor, a.residue - b.residue), a.residue


def _largest(*values: int | None) -> int | None:
    return max((each for each in values if each is not None), default=None)


def _smallest(*values: int | None) -> int | None:
    return min((each for each in values if each is not None), default=None)


def add(a: Facts, b: Facts) -> Facts:
    low = None if a.low is None or b.low is None else a.low + b.low
    high = None if a.high is None or b.high is None else a.high + b.high
    return facts(low, high, math.gcd(a.divisor, b.divisor), a.residue + b.residue)


def negate(a: Facts) -> Facts:
    return facts(None if a.high is None else -a.high, None if a.low is None else -a.low, a.divisor, -a.residue)


def subtract(a: Facts, b: Facts) -> Facts:
    return add(a, negate(b))


def multiply(a: Facts, b: Facts) -> Facts:
    divisor = math.gcd(a.divisor * b.divisor, a.divisor * b.residue, b.divisor * a.residue)
    residue = a.residue * b.residue
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return facts(min(products), max(products), divisor, residue)
    for value, factor in ((a, b.constant), (b, a.constant)):
        if factor is not None:
            ends = [None if end is None else end * factor for end in (value.low, value.high)]
            low, high = ends if factor > 0 else ends[::-1]
            return facts(low, high, divisor, residue)
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return facts(a.low * b.low, None, divisor, residue)
    return facts(None, None, divisor, residue)


def _exact_part(a: Facts, by: int, whole: bool) -> tuple[int, int]:
    """Divisor and residue of ``a // by``. ``whole``: right only where nothing is left over."""
    if a.divisor % by or (whole and a.residue % by):
        return 1, 0
    return a.divisor // by, a.residue // by


def divide_down(a: Facts, b: Facts) -> Facts:
    """Division by a positive constant, rounded down."""
    by = b.constant
    if by is None or by <= 0:
        return divide(a, b) if a.is_natural and b.is_natural else UNKNOWN
    low, high = (None if end is None else end // by for end in (a.low, a.high))
    return facts(low, high, *_exact_part(a, by, whole=False))


def divide_up(a: Facts, b: Facts) -> Facts:
    """The same, rounded up. A division by nothing does not happen, so a quotient is at most its dividend."""
    by = b.constant
    if by is not None and by > 0:
        return negate(divide_down(negate(a), b))
    if a.is_natural and b.is_natural:
        return facts(0 if a.low == 0 else 1, a.high)
    return UNKNOWN


def divide(a: Facts, b: Facts) -> Facts:
    """Signed division, rounded to 0."""
    if a.is_natural and b.is_natural:
        return divide_unsigned(a, b)
    by = b.constant
    if by is None or by <= 0:
        return UNKNOWN
    low, high = (None if end is None else abs(end) // by * (1 if end > 0 else -1) for end in (a.low, a.high))
    return facts(low, high, *_exact_part(a, by, whole=True))


def divide_unsigned(a: Facts, b: Facts) -> Facts:
    """A negative number counts as a huge one: no quotient is more than a dividend that is not negative."""
    if not a.is_natural:
        # Half of any 64-bit number fits 63 bits.
        return Facts(low=0) if b.low is not None and b.low >= 2 else UNKNOWN
    assert a.low is not None
    if not b.is_natural:
        return Facts(0, a.high)
    assert b.low is not None
    if (by := b.constant) is not None and by > 0:
        return divide_down(a, b)
    low = 0 if b.high is None or b.high == 0 else a.low // b.high
    return facts(low, None if a.high is None else a.high // max(b.low, 1))


def divide_up_unsigned(a: Facts, b: Facts) -> Facts:
    if not a.is_natural:
        return UNKNOWN
    return divide_up(a, b) if b.is_natural else facts(0 if a.low == 0 else 1, a.high)


def remainder(a: Facts, b: Facts) -> Facts:
    """Signed: as far from 0 as the divisor at most, and on the dividend's side of it."""
    if b.constant == 0:
        return UNKNOWN
    divisor = math.gcd(a.divisor, b.known_divisor)
    furthest = None if b.low is None or b.high is None else max(abs(b.low), abs(b.high)) - 1
    high = _smallest(furthest, a.high if a.is_natural else None)
    if a.is_natural:
        return facts(0, high, divisor, a.residue)
    low = None if furthest is None else -furthest
    if a.high is not None and a.high <= 0:
        high = 0
    return facts(low, high, divisor, a.residue)


def remainder_unsigned(a: Facts, b: Facts) -> Facts:
    """In 0..b-1 whatever the sign of ``a``, whose negative values count as ``a + 2**64`` (or ``2**32``)."""
    if a.is_natural:
        return remainder(a, b) if b.is_natural else Facts(0, a.high)
    if not b.is_natural or b.constant == 0:
        return UNKNOWN
    divisor = math.gcd(a.divisor, b.known_divisor, 1 << 31)
    return facts(0, None if b.high is None else b.high - 1, divisor, a.residue)


def modulo(a: Facts, b: Facts) -> Facts:
    """Affine: in 0..b-1 for a positive constant, whatever the sign of ``a``."""
    by = b.constant
    if by is None or by <= 0:
        return UNKNOWN
    if a.is_natural:
        return remainder(a, b)
    return facts(0, by - 1, math.gcd(a.divisor, by), a.residue)


def minimum(a: Facts, b: Facts) -> Facts:
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return facts(low, _smallest(a.high, b.high), *_either_residue(a, b))


def maximum(a: Facts, b: Facts) -> Facts:
    return negate(minimum(negate(a), negate(b)))


def minimum_unsigned(a: Facts, b: Facts) -> Facts:
    """The signed one of values that are not negative; otherwise at most the smallest bound that is not."""
    if a.is_natural and b.is_natural:
        return minimum(a, b)
    high = _smallest(*(each.high for each in (a, b) if each.is_natural))
    low = 0 if a.is_natural or b.is_natural else None
    return facts(low, high, *_either_residue(a, b))


def maximum_unsigned(a: Facts, b: Facts) -> Facts:
    return maximum(a, b) if a.is_natural and b.is_natural else facts(None, None, *_either_residue(a, b))


def shift_left(a: Facts, b: Facts) -> Facts:
    if b.low is None or not 0 <= b.low < 63:
        return UNKNOWN
    if b.constant is not None:
        return multiply(a, known(1 << b.low))
    high = None if b.high is None or b.high >= 63 else 1 << b.high
    return multiply(a, facts(1 << b.low, high, 1 << b.low))


def shift_right(a: Facts, b: Facts) -> Facts:
    """Arithmetic: a division that rounds down."""
    if b.constant is not None and 0 <= b.constant < 63:
        return divide_down(a, known(1 << b.constant))
    return Facts(0, a.high) if a.is_natural else UNKNOWN


def shift_right_unsigned(a: Facts, b: Facts) -> Facts:
    if a.is_natural:
        return shift_right(a, b)
    return Facts(low=0) if b.low is not None and b.low >= 1 else UNKNOWN


def _low_bits(a: Facts, b: Facts) -> int:
    """A power of two by which the remainders of both are known."""
    divisor = math.gcd(a.divisor, b.divisor, 1 << 62)
    return divisor & -divisor


def bitwise_and(a: Facts, b: Facts) -> Facts:
    for value, mask in ((a, b.constant), (b, a.constant)):
        if mask is not None and mask >= 0 and mask & (mask + 1) == 0:
            return modulo(value, known(mask + 1))
        if mask is not None and mask < 0 and -mask & (-mask - 1) == 0:
            return multiply(divide_down(value, known(-mask)), known(-mask))
    bits = _low_bits(a, b)
    residue = a.residue & b.residue
    # A zero at the end of either is one at the end of both.
    for each in (a, b):
        zeros = math.gcd(each.known_divisor, 1 << 62)
        if zeros > bits:
            bits, residue = zeros, 0
    low = 0 if a.is_natural or b.is_natural else None
    return facts(low, _smallest(*(each.high for each in (a, b) if each.is_natural)), bits, residue)


def bitwise_or(a: Facts, b: Facts) -> Facts:
    low, high = _of_bits(a, b)
    return facts(_largest(low, a.low, b.low) if low is not None else None, high, _low_bits(a, b), a.residue | b.residue)


def bitwise_xor(a: Facts, b: Facts) -> Facts:
    return facts(*_of_bits(a, b), _low_bits(a, b), a.residue ^ b.residue)


def _of_bits(a: Facts, b: Facts) -> tuple[int | None, int | None]:
    """Bounds of what has no bit that neither has."""
    if not (a.is_natural and b.is_natural):
        return None, None
    if a.high is None or b.high is None:
        return 0, None
    return 0, (1 << max(a.high, b.high).bit_length()) - 1


def extended_unsigned(a: Facts, bits: int) -> Facts:
    """A number of ``bits`` bits read without its sign."""
    if a.is_natural:
        return a
    return facts(0, (1 << bits) - 1, math.gcd(a.divisor, 1 << bits), a.residue)


def truncated(a: Facts, bits: int) -> Facts:
    """The lowest ``bits`` bits, read with a sign."""
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if a.low is not None and a.high is not None and least <= a.low and a.high <= most:
        return a
    return facts(least, most, math.gcd(a.divisor, 1 << bits), a.residue)


def not_wrapping_unsigned(name: str, a: Facts, b: Facts, result: Facts) -> Facts:
    """What ``nuw`` adds to the ``result`` of an operation that does not overflow with a sign either."""
    if name == "subi" and a.is_natural:
        return both(result, Facts(0, a.high))
    doubles = (name == "muli" and max(a.constant or 0, b.constant or 0) >= 2) or (name == "shli" and (b.low or 0) >= 1)
    return both(result, Facts(low=0)) if doubles else result


BINARY: dict[str, Callable[[Facts, Facts], Facts]] = {
    "addi": add,
    "add": add,
    "subi": subtract,
    "sub": subtract,
    "muli": multiply,
    "mul": multiply,
    "divui": divide_unsigned,
    "divu": divide_unsigned,
    "divsi": divide,
    "divs": divide,
    "floordivsi": divide_down,
    "floordivs": divide_down,
    "ceildivsi": divide_up,
    "ceildivs": divide_up,
    "ceildivui": divide_up_unsigned,
    "ceildivu": divide_up_unsigned,
    "remui": remainder_unsigned,
    "remu": remainder_unsigned,
    "remsi": remainder,
    "rems": remainder,
    "shli": shift_left,
    "shl": shift_left,
    "shrui": shift_right_unsigned,
    "shru": shift_right_unsigned,
    "shrsi": shift_right,
    "shrs": shift_right,
    "andi": bitwise_and,
    "and": bitwise_and,
    "ori": bitwise_or,
    "or": bitwise_or,
    "xori": bitwise_xor,
    "xor": bitwise_xor,
    "minui": minimum_unsigned,
    "minu": minimum_unsigned,
    "minsi": minimum,
    "mins": minimum,
    "maxui": maximum_unsigned,
    "maxu": maximum_unsigned,
    "maxsi": maximum,
    "maxs": maximum,
}
"""Operations of ``arith`` and ``index`` on two integers, by their names without the dialect."""
