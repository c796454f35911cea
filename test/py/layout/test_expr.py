"""Symbolic integers: arithmetic, what is known of a value, and the printed form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tma_mlir.layout.expr import Expr, Symbol, bounds, constant, evaluate, exact_div, known_divisor, parse_expr

K = Symbol("k", low=0, high=100, divisor=8)
J = Symbol("arg0.dim1", low=-4)
SYMBOLS = {symbol.name: symbol for symbol in (K, J)}
k, j = Expr.of(K), Expr.of(J)


def test_constant_results_are_plain_ints():
    assert k - k == 0
    assert type(k + 3 - k) is int
    assert Expr.of(7) == 7


def test_equal_polynomials_are_equal_and_hash_equal():
    left, right = (k + 1) * (j - 2), j * k - 2 * k + j - 2
    assert left == right
    assert hash(left) == hash(right)


def test_constant_is_none_unless_the_value_is_known():
    assert constant(12) == 12
    assert constant(k) is None
    assert constant(Symbol("one", low=1, high=1)) == 1


def test_bounds_follow_the_symbols():
    assert bounds(5) == (5, 5)
    assert bounds(2 * k - 1) == (-1, 199)
    assert bounds(-1 * k) == (-100, 0)
    assert bounds(j) == (-4, None)
    assert bounds(-1 * j) == (None, 4)
    assert bounds(k * j) == (-400, None)


def test_known_divisor_combines_coefficients_and_symbols():
    assert known_divisor(12) == 12
    assert known_divisor(0) == 0
    assert known_divisor(3 * k) == 24
    assert known_divisor(2 * k + 12) == 4
    assert known_divisor(k * k) == 64
    assert known_divisor(j) == 1


def test_exact_div_uses_what_is_known():
    assert exact_div(12, 4) == 3
    assert exact_div(4 * j + 8, 4) == j + 2
    assert evaluate(exact_div(k, 8), {"k": 24}) == 3
    assert exact_div(k, 8) * 8 == k
    with pytest.raises(ValueError, match="not known to be a multiple of 16"):
        exact_div(k, 16)
    with pytest.raises(ValueError, match="multiple"):
        exact_div(13, 4)


def test_evaluate_names_a_missing_symbol():
    assert evaluate(3 * k * j - 2, {"k": 8, "arg0.dim1": -1}) == -26
    with pytest.raises(KeyError, match="k"):
        evaluate(k, {})


@pytest.mark.parametrize("text", ["", "k +", "k $ 2", "(k", "m", "k/j", "k k"])
def test_text_that_is_no_expression_is_refused(text):
    with pytest.raises(ValueError, match=r"expression|symbol|divide|multiple"):
        parse_expr(text, SYMBOLS)


def test_printed_form_is_readable():
    assert str(64 * k + 8 * k * j - 3) == "8*arg0.dim1*k + 64*k - 3"
    assert str(-1 * j) == "-arg0.dim1"
    assert str(exact_div(k + 8, 8)) == "(k + 8)/8"


leaves = st.one_of(st.integers(-9, 9), st.just(k), st.just(j), st.just(exact_div(k, 4)))
expressions = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(
        lambda t: t[1] + t[2] if t[0] == "+" else t[1] - t[2] if t[0] == "-" else t[1] * t[2]
    ),
    max_leaves=6,
)


@given(expressions, expressions, st.integers(0, 12), st.integers(-4, 20))
def test_arithmetic_is_that_of_the_integers(a, b, k_eighths, j_value):
    values = {"k": 8 * k_eighths, "arg0.dim1": j_value}

    def value(x):
        return evaluate(x, values)

    assert value(a + b) == value(a) + value(b)
    assert value(a - b) == value(a) - value(b)
    assert value(a * b) == value(a) * value(b)
    low, high = bounds(a)
    assert low is None or low <= value(a)
    assert high is None or value(a) <= high
    divisor = known_divisor(a)
    assert value(a) == 0 if divisor == 0 else value(a) % divisor == 0


@given(expressions)
def test_text_round_trips(a):
    assert parse_expr(str(a), SYMBOLS) == a
