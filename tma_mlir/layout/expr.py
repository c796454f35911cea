"""Integers that may be unknown: polynomials over symbols with known ranges and divisors.

A plain ``int`` is accepted wherever an ``Expr`` is, and every result that is constant is a plain ``int``, so static
copies never pay for the algebra.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_%$][\w.%$#-]*(?<!-)")
_TOKEN = re.compile(rf"\s*(\d+|{_NAME.pattern}|[-+*/()])")


@dataclass(frozen=True)
class Symbol:
    """An unknown integer. ``low``/``high`` are inclusive bounds (None: none known); ``residue`` (0 to ``divisor`` - 1)
    is what it leaves when divided by ``divisor``.

    ``host`` says that the host knows the value when it encodes descriptors; a kernel-only value may appear in
    coordinates and guards but not in a descriptor.
    """

    name: str
    low: int | None = None
    high: int | None = None
    divisor: int = 1
    host: bool = True
    residue: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.residue < self.divisor:
            raise ValueError(f"{self.name} cannot leave {self.residue} when divided by {self.divisor}")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a name for a symbol: letters, digits and _ . % $ # - are")

    @property
    def known_text(self) -> str:
        """The name and what is known of it: ``0 <= n <= 64, 4 more than a multiple of 8``."""
        low = "" if self.low is None else f"{self.low} <= "
        high = "" if self.high is None else f" <= {self.high}"
        text = f"{low}{self.name}{high}"
        if self.divisor != 1:
            more = f"{self.residue} more than " if self.residue else ""
            text += f"{',' if low or high else ''} {more}a multiple of {self.divisor}"
        return text


Monomial = tuple[Symbol, ...]


@dataclass(frozen=True)
class Expr:
    """``sum(coefficient * product(symbols)) / denominator``.

    ``terms`` are (symbols sorted by name, nonzero coefficient) in a fixed order, so equal polynomials compare equal.
    ``denominator`` is above 1 only after ``exact_div`` by a divisor that the symbols' own divisors and residues
    guarantee.
    """

    terms: tuple[tuple[Monomial, int], ...]
    denominator: int = 1

    @staticmethod
    def of(value: int | Symbol | Expr) -> Expr | int:
        """``value`` as an operand: a symbol becomes an expression, the rest stays what it is."""
        return Expr((((value,), 1),)) if isinstance(value, Symbol) else value

    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols it depends on, by name."""
        return tuple(sorted({symbol for monomial, _ in self.terms for symbol in monomial}, key=_symbol_key))

    def __add__(self, other: int | Symbol | Expr) -> Expr | int:
        left, right = _parts(self), _parts(other)
        denominator = math.lcm(left[1], right[1])
        merged: dict[Monomial, int] = {}
        for terms, own in (left, right):
            for monomial, coefficient in terms:
                merged[monomial] = merged.get(monomial, 0) + coefficient * (denominator // own)
        return _normal(merged, denominator)

    def __mul__(self, other: int | Symbol | Expr) -> Expr | int:
        left, right = _parts(self), _parts(other)
        merged: dict[Monomial, int] = {}
        for left_monomial, left_coefficient in left[0]:
            for right_monomial, right_coefficient in right[0]:
                monomial = tuple(sorted((*left_monomial, *right_monomial), key=_symbol_key))
                merged[monomial] = merged.get(monomial, 0) + left_coefficient * right_coefficient
        return _normal(merged, left[1] * right[1])

    def __neg__(self) -> Expr | int:
        return self * -1

    def __sub__(self, other: int | Symbol | Expr) -> Expr | int:
        return self + Expr.of(other) * -1

    def __rsub__(self, other: int | Symbol) -> Expr | int:
        return -self + Expr.of(other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __str__(self) -> str:
        text = "".join(_term_text(monomial, coefficient) for monomial, coefficient in self.terms)
        text = text[3:] if text.startswith(" + ") else f"-{text[3:]}"
        return text if self.denominator == 1 else f"({text})/{self.denominator}"


def _symbol_key(symbol: Symbol) -> tuple:
    low, high = symbol.low, symbol.high
    return (
        symbol.name,
        low is not None,
        low or 0,
        high is not None,
        high or 0,
        symbol.divisor,
        symbol.host,
        symbol.residue,
    )


def _monomial_key(monomial: Monomial) -> tuple:
    return (-len(monomial), [_symbol_key(symbol) for symbol in monomial])


def _parts(value: int | Symbol | Expr) -> tuple[tuple[tuple[Monomial, int], ...], int]:
    value = Expr.of(value)
    return (value.terms, value.denominator) if isinstance(value, Expr) else ((((), value),), 1)


def _normal(merged: dict[Monomial, int], denominator: int) -> Expr | int:
    common = math.gcd(denominator, *merged.values())
    kept = [(monomial, value // common) for monomial, value in merged.items() if value]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1] // (denominator // common)
    kept.sort(key=lambda term: _monomial_key(term[0]))
    return Expr(tuple(kept), denominator // common)


def _term_text(monomial: Monomial, coefficient: int) -> str:
    sign = " + " if coefficient > 0 else " - "
    factors = [symbol.name for symbol in monomial]
    if abs(coefficient) != 1 or not factors:
        factors.insert(0, str(abs(coefficient)))
    return sign + "*".join(factors)


def constant(value: int | Symbol | Expr) -> int | None:
    """The value if it is known, else None."""
    if isinstance(value, int):
        return value
    low, high = bounds(value)
    return low if low is not None and low == high else None


def bounds(value: int | Symbol | Expr) -> tuple[int | None, int | None]:
    """Inclusive bounds by interval arithmetic, term by term; None where nothing is known."""
    if isinstance(value, int):
        return value, value
    terms, denominator = _parts(value)
    low, high = 0.0, 0.0
    exact_low, exact_high = 0, 0
    for monomial, coefficient in terms:
        term_low, term_high = _monomial_bounds(monomial)
        if coefficient < 0:
            term_low, term_high = term_high, term_low
        if term_low is None:
            low = -math.inf
        else:
            exact_low += coefficient * term_low
        if term_high is None:
            high = math.inf
        else:
            exact_high += coefficient * term_high
    return (
        None if low else -(-exact_low // denominator),
        None if high else exact_high // denominator,
    )


def _monomial_bounds(monomial: Monomial) -> tuple[int | None, int | None]:
    low: int | None = 1
    high: int | None = 1
    for symbol in monomial:
        low, high = _interval_product((low, high), (symbol.low, symbol.high))
    if len(monomial) == 2 and monomial[0] == monomial[1] and (low is None or low < 0):
        low = 0
    return low, high


def _interval_product(
    left: tuple[int | None, int | None], right: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    def product(a: float, b: float) -> float:
        return 0 if a == 0 or b == 0 else a * b

    ends = [
        product(a, b)
        for a in _ends(left)
        for b in _ends(right)
    ]  # fmt: skip
    low, high = min(ends), max(ends)
    return (None if low == -math.inf else int(low), None if high == math.inf else int(high))


def _ends(interval: tuple[int | None, int | None]) -> tuple[float, float]:
    low, high = interval
    return (-math.inf if low is None else low, math.inf if high is None else high)


def congruence(value: int | Symbol | Expr) -> tuple[int, int]:
    """``(modulus, residue)``: what ``value`` is known to leave when divided by ``modulus``.

    Modulus 0 is a constant, whose residue is its value.
    """
    if isinstance(value, int):
        return 0, value
    terms, denominator = _parts(value)
    modulus = residue = 0
    for monomial, coefficient in terms:
        step, rest = 0, coefficient
        for symbol in monomial:
            # (step * i + rest) * (divisor * j + residue), for any i and j
            step = math.gcd(step * symbol.divisor, step * symbol.residue, rest * symbol.divisor)
            rest *= symbol.residue
        modulus = math.gcd(modulus, step)
        residue += rest
    modulus, residue = modulus // denominator, residue // denominator
    return (modulus, residue % modulus) if modulus else (0, residue)


def known_divisor(value: int | Symbol | Expr) -> int:
    """The largest number known to divide it; 0 for the constant 0, so ``known_divisor(x) % n == 0`` is the test."""
    return abs(value) if isinstance(value, int) else math.gcd(*congruence(value))


def exact_div(value: int | Symbol | Expr, divisor: int) -> Expr | int:
    """``value / divisor``; raises ``ValueError`` if it is not divisible for sure."""
    if divisor < 1:
        raise ValueError(f"cannot divide by {divisor}")
    if known_divisor(value) % divisor:
        raise ValueError(f"{_text(value)} is not known to be a multiple of {divisor}")
    if isinstance(value, int):
        return value // divisor
    terms, denominator = _parts(value)
    return _normal(dict(terms), denominator * divisor)


def _text(value: int | Symbol | Expr) -> str:
    return str(Expr.of(value))


def evaluate(value: int | Symbol | Expr, values: Mapping[str, int]) -> int:
    """The number for given symbol values; raises ``KeyError`` for a symbol without one."""
    if isinstance(value, int):
        return value
    terms, denominator = _parts(value)
    total = 0
    for monomial, coefficient in terms:
        for symbol in monomial:
            coefficient *= values[symbol.name]
        total += coefficient
    quotient, rest = divmod(total, denominator)
    if rest:
        raise ValueError(f"{_text(value)} is not a whole number for {dict(values)}")
    return quotient


def parse_expr(text: str, symbols: Mapping[str, Symbol]) -> Expr | int:
    """The expression ``str`` printed; ``symbols`` by name. Raises ``ValueError`` on anything else."""
    tokens: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match:
            raise ValueError(f"cannot read expression {text!r} at {text[position:]!r}")
        tokens.append(match[1])
        position = match.end()
    stream = iter((*tokens, ""))
    value, rest = _parse_sum(next(stream), stream, symbols)
    if rest:
        raise ValueError(f"cannot read expression {text!r}: unexpected {rest!r}")
    return value


def _parse_sum(token: str, stream: Iterator[str], symbols: Mapping[str, Symbol]) -> tuple[Expr | int, str]:
    negative = token == "-"
    value, token = _parse_product(next(stream) if negative else token, stream, symbols)
    total = value * -1 if negative else value
    while token in ("+", "-"):
        value, following = _parse_product(next(stream), stream, symbols)
        total = total + value if token == "+" else total + value * -1
        token = following
    return total, token


def _parse_product(token: str, stream: Iterator[str], symbols: Mapping[str, Symbol]) -> tuple[Expr | int, str]:
    value, token = _parse_atom(token, stream, symbols)
    while token in ("*", "/"):
        operator = token
        factor, token = _parse_atom(next(stream), stream, symbols)
        if operator == "*":
            value = value * factor
        elif isinstance(factor, int):
            value = exact_div(value, factor)
        else:
            raise ValueError(f"cannot divide by {factor}")
    return value, token


def _parse_atom(token: str, stream: Iterator[str], symbols: Mapping[str, Symbol]) -> tuple[Expr | int, str]:
    if token == "(":
        value, closing = _parse_sum(next(stream), stream, symbols)
        if closing != ")":
            raise ValueError("missing ')' in expression")
        return value, next(stream)
    if token.isdecimal():
        return int(token), next(stream)
    if token in symbols:
        return Expr.of(symbols[token]), next(stream)
    raise ValueError(f"unknown symbol {token!r}; known: {', '.join(symbols) or 'none'}")
