"""Numbers next to every bound of expressions, layouts and swizzles. Expected values were worked out by hand."""

import pytest

from tma_mlir.layout import (
    AddressSwizzle,
    Expr,
    Layout,
    LayoutError,
    Swizzle,
    Symbol,
    atom_layout,
    effective_swizzle,
    row_major,
    swizzle_mode,
    swizzle_period_bytes,
)
from tma_mlir.layout.algebra import UnevenSliceError, group_by_shape, refine, slice_modes
from tma_mlir.layout.expr import bounds, congruence, constant, evaluate, exact_div, known_divisor, parse_expr

N = Symbol("n", 0)
M = Symbol("m", 1, 7)
FREE = Symbol("x")


def product(*symbols):
    made = Expr.of(1)
    for symbol in symbols:
        made = Expr.of(symbol) * made
    return made


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Expr.of(M), (1, 7)),
        (-Expr.of(M), (-7, -1)),
        (Expr.of(M) * 2 - 3, (-1, 11)),
        (Expr.of(N), (0, None)),
        (-Expr.of(N) + 5, (None, 5)),
        (Expr.of(FREE), (None, None)),
        (product(FREE, FREE), (0, None)),  # a square
        (product(Symbol("x", -3, 2), Symbol("x", -3, 2)), (0, 9)),
        (product(Symbol("x", 2, 3), Symbol("x", 2, 3)), (4, 9)),
        (product(FREE, Symbol("y")), (None, None)),
        (product(N, Symbol("k", 0, 0)), (0, 0)),
        (product(Symbol("k", 0, 0), FREE), (0, 0)),
        (product(Symbol("a", -2, 3), Symbol("b", -5, 7)), (-15, 21)),
        (Expr.of(N) - Expr.of(N), (0, 0)),
        (exact_div(Expr.of(Symbol("n", 8, 24, 8)), 8), (1, 3)),
        (exact_div(Expr.of(Symbol("n", 3, 30, 8)), 8), (1, 3)),  # a multiple of 8 from 3 to 30 is 8 to 24
        (4, (4, 4)),
    ],
)
def test_bounds(value, expected):
    assert bounds(value) == expected


def test_a_cube_is_no_square():
    assert bounds(product(FREE, FREE, FREE)) == (None, None)
    assert bounds(product(FREE, FREE, Symbol("y", -1, 1))) == (None, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12, (0, 12)),
        (Expr.of(FREE) * 6 + 4, (6, 4)),
        (Expr.of(Symbol("k", divisor=8, residue=3)), (8, 3)),
        (Expr.of(Symbol("k", divisor=8, residue=3)) * 2, (16, 6)),
        (product(Symbol("k", divisor=8, residue=3), Symbol("j", divisor=4, residue=1)), (4, 3)),
        (product(Symbol("k", divisor=8), Symbol("j", divisor=4)), (32, 0)),
        (exact_div(Expr.of(Symbol("k", divisor=8)) + 16, 8), (1, 0)),
        (exact_div(Expr.of(Symbol("k", divisor=16, residue=8)), 4), (4, 2)),
        (-Expr.of(FREE) * 6 - 1, (6, 5)),
    ],
)
def test_what_is_left_when_divided(value, expected):
    assert congruence(value) == expected


def test_constants_are_found():
    assert constant(5) == 5
    assert constant(Symbol("k", 4, 4)) == 4
    assert constant(Symbol("k", 4, 5)) is None
    assert constant(FREE) is None


def test_divisors():
    assert known_divisor(-12) == 12
    assert known_divisor(0) == 0
    assert known_divisor(Expr.of(FREE) * 12 + 18) == 6


@pytest.mark.parametrize("divisor", [0, -1])
def test_division_is_by_positive_numbers(divisor):
    with pytest.raises(ValueError, match="cannot divide by"):
        exact_div(Expr.of(N) * 0 + 4 if divisor else Expr.of(N), divisor)


def test_division_has_to_be_exact():
    assert exact_div(12, 1) == 12
    assert exact_div(12, 12) == 1
    with pytest.raises(ValueError, match="12 is not known to be a multiple of 5"):
        exact_div(12, 5)
    with pytest.raises(ValueError, match="not known"):
        exact_div(Expr.of(N), 2)


def test_fractions_are_brought_to_lowest_terms():
    half = exact_div(Expr.of(Symbol("k", divisor=2)), 2)
    assert evaluate(half, {"k": 6}) == 3
    assert half + half == Expr.of(Symbol("k", divisor=2))
    assert half * half * 4 == product(Symbol("k", divisor=2), Symbol("k", divisor=2))
    assert half * 2 - Expr.of(Symbol("k", divisor=2)) + 7 == 7
    assert (half + 3) - half == 3
    with pytest.raises(ValueError, match="not a whole number"):
        evaluate(half, {"k": 5})


def test_a_symbol_s_remainder_is_below_its_divisor():
    assert Symbol("k", divisor=8, residue=7).residue == 7
    for residue in (8, -1):
        with pytest.raises(ValueError, match="cannot leave"):
            Symbol("k", divisor=8, residue=residue)


@pytest.mark.parametrize("name", ["", "a b", "n+1", "(n)"])
def test_a_symbol_s_name_is_one_word(name):
    with pytest.raises(ValueError, match="not a name for a symbol"):
        Symbol(name)


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        (Symbol("n"), "n"),
        (Symbol("n", 0), "0 <= n"),
        (Symbol("n", None, 9), "n <= 9"),
        (Symbol("n", 1, 9), "1 <= n <= 9"),
        (Symbol("n", None, None, 8), "n a multiple of 8"),
        (Symbol("n", 0, None, 8), "0 <= n, a multiple of 8"),
        (Symbol("n", None, 9, 2), "n <= 9, a multiple of 2"),
        (Symbol("n", None, None, 8, residue=3), "n 3 more than a multiple of 8"),
    ],
)
def test_what_is_known_of_a_symbol_is_said(symbol, text):
    assert symbol.known_text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Expr.of(N) + 1, "n + 1"),
        (-Expr.of(N), "-n"),
        (Expr.of(N) * 2 - 1, "2*n - 1"),
        (product(N, M) - 3, "m*n - 3"),
        (-Expr.of(N) * 4 + 2, "-4*n + 2"),
        (exact_div(Expr.of(Symbol("k", divisor=4)), 4), "(k)/4"),
    ],
)
def test_printed(value, text):
    assert str(value) == text
    named = {"n": N, "m": M, "k": Symbol("k", divisor=4)}
    assert parse_expr(text, named) == value


def test_sizes_of_a_shape():
    assert group_by_shape(row_major((4, 8)), (4, 8)) == [[(4, 8)], [(8, 1)]]
    assert group_by_shape(row_major((1, 8)), (1, 8)) == [[], [(8, 1)]]
    assert group_by_shape(row_major((1, 8, 1)), (8,)) == [[(8, 1)]]
    assert group_by_shape(row_major((32,)), (4, 8)) == [[(4, 8)], [(8, 1)]]
    assert group_by_shape(row_major((4, 8)), (32,)) == [[(32, 1)]]
    assert group_by_shape(Layout((2, 4, 8), (8, 16, 1)), (8, 8)) == [[(4, 16), (2, 8)], [(8, 1)]]
    assert group_by_shape(row_major((4, 8)), (4, 1, 8)) == [[(4, 8)], [], [(8, 1)]]


def test_what_has_not_the_shape_is_named():
    with pytest.raises(LayoutError, match="fewer elements than shape 4x16"):
        group_by_shape(row_major((4, 8)), (4, 16))
    with pytest.raises(LayoutError, match="more elements than shape 2x8"):
        group_by_shape(row_major((4, 8)), (2, 8))
    with pytest.raises(LayoutError, match="mode 4:8 of the layout straddles shape 6x8"):
        group_by_shape(row_major((4, 8)), (6, 8))
    with pytest.raises(LayoutError):
        group_by_shape(row_major((4, Expr.of(N))), (2, Expr.of(N)))


def test_modes_that_are_symbolic_are_divided_where_that_is_known():
    n = Symbol("n", 0, None, 4)
    assert group_by_shape(Layout((Expr.of(n) * 8,), (1,)), (Expr.of(n), 8)) == [[(Expr.of(n), 8)], [(8, 1)]]
    with pytest.raises(LayoutError):
        group_by_shape(Layout((Expr.of(n),), (1,)), (2, Expr.of(N)))
    with pytest.raises(LayoutError):  # 0 divides nothing
        group_by_shape(Layout((4,), (1,)), (4, 0))


TILED = [(8, 1), (4, 100)]
"""A dimension of 4 tiles of 8 elements, 100 apart."""


@pytest.mark.parametrize(
    ("start", "extent", "modes", "offset"),
    [
        (0, 1, [], 0),
        (3, 1, [], 3),
        (8, 1, [], 100),
        (0, 8, [(8, 1)], 0),
        (8, 8, [(8, 1)], 100),
        (8, 16, [(8, 1), (2, 100)], 100),
        (0, 32, [(8, 1), (4, 100)], 0),
        (0, 4, [(4, 1)], 0),
        (16, 4, [(4, 1)], 200),
        (17, 4, [(4, 1)], 201),
        (28, 4, [(4, 1)], 304),
        (31, 1, [], 307),
    ],
)
def test_slices_of_a_tiled_dimension(start, extent, modes, offset):
    assert slice_modes(TILED, start, extent) == (modes, offset)


@pytest.mark.parametrize(("start", "extent", "cut"), [(0, 12, 8), (8, 20, 16), (4, 8, 4), (7, 2, 1), (15, 3, 1)])
def test_slices_that_are_no_nest_say_where_to_cut(start, extent, cut):
    with pytest.raises(UnevenSliceError) as caught:
        slice_modes(TILED, start, extent)
    assert caught.value.cut == cut


def test_slices_of_one_mode():
    assert slice_modes([(8, 3)], 2, 4) == ([(4, 3)], 6)
    assert slice_modes([(8, 3)], 2, 1) == ([], 6)
    assert slice_modes([], 0, 1) == ([], 0)
    assert slice_modes([(8, 3)], Expr.of(N), 4) == ([(4, 3)], Expr.of(N) * 3)


def test_slices_that_start_anywhere():
    eights = Expr.of(Symbol("n", 0, None, 8))
    assert slice_modes(TILED, eights, 8) == ([(8, 1)], exact_div(eights, 8) * 100)
    assert slice_modes(TILED, eights, 2) == ([(2, 1)], exact_div(eights, 8) * 100)
    with pytest.raises(LayoutError, match="multiple of the layout's tile of 8"):
        slice_modes(TILED, Expr.of(N), 2)
    with pytest.raises(LayoutError, match="symbolic"):
        slice_modes([(Expr.of(N), 1), (4, 100)], 1, 2)


def test_three_levels_of_tiles():
    modes = [(2, 1), (4, 10), (3, 1000)]
    assert slice_modes(modes, 8, 8) == ([(2, 1), (4, 10)], 1000)
    assert slice_modes(modes, 8, 4) == ([(2, 1), (2, 10)], 1000)
    assert slice_modes(modes, 10, 4) == ([(2, 1), (2, 10)], 1010)
    assert slice_modes(modes, 11, 1) == ([], 1011)


def test_refinement():
    assert refine([8], [2, 4]) == [(2, 0, 0), (4, 0, 1)]
    assert refine([4, 2], [8]) == [(4, 0, 0), (2, 1, 0)]
    assert refine([4, 6], [2, 12]) == [(2, 0, 0), (2, 0, 1), (6, 1, 1)]
    assert refine([], []) == []
    for left, right in [([6], [4, 2]), ([4], [6]), ([4, 3], [6, 2])]:
        with pytest.raises(LayoutError, match="no common refinement"):
            refine(left, right)
    for left, right in [([4], [4, 2]), ([4, 2], [4]), ([2], []), ([], [2])]:
        with pytest.raises(LayoutError, match="different numbers"):
            refine(left, right)


@pytest.mark.parametrize(
    ("shape", "size", "swizzle"),
    [((8,), 2, Swizzle.B128), ((), 2, Swizzle.NONE), ((9, 64), 2, Swizzle.B128), ((8, 65), 2, Swizzle.B128)],
)
def test_tiles_that_are_not_made_of_atoms(shape, size, swizzle):
    with pytest.raises(ValueError, match="atom"):
        atom_layout(shape, size, swizzle)


def test_atoms_of_every_width():
    assert atom_layout((8, 8), 2, Swizzle.NONE) == Layout((8, 1, 8), (8, 64, 1))
    assert atom_layout((16, 32), 2, Swizzle.B32) == Layout((16, 2, 16), (16, 256, 1))
    assert atom_layout((3, 8, 128), 1, Swizzle.B128) == Layout((3, 8, 1, 128), (1024, 128, 1024, 1))


def test_names_and_spans_of_the_swizzles():
    assert [each.span_bytes for each in Swizzle] == [0, 32, 64, 128, 128, 128, 128]
    assert [each.label for each in Swizzle][:4] == ["none", "32B", "64B", "128B"]
    assert Swizzle.B128_ATOM_32B.label == "128B_atom_32B"
    assert [int(each) for each in Swizzle] == list(range(7))


@pytest.mark.parametrize(
    ("swizzle", "period"),
    [
        (None, 1),
        (Swizzle.NONE, 1),
        (Swizzle.B32, 256),
        (Swizzle.B64, 512),
        (Swizzle.B128, 1024),
        (Swizzle.B128_ATOM_64B, 1024),
        (AddressSwizzle(0, 4, 3), 1),
        (AddressSwizzle(1, 4, 3), 256),
        (AddressSwizzle(3, 4, 3), 1024),
        (AddressSwizzle(2, 5, 2), 512),
    ],
)
def test_periods(swizzle, period):
    assert swizzle_period_bytes(swizzle) == period


@pytest.mark.parametrize(
    ("tile_bytes", "expected"),
    [
        # Source bits of 128B are 7, 8 and 9: those at or above the tile's size are zero.
        (128, None),
        (129, AddressSwizzle(1, 4, 3)),
        (256, AddressSwizzle(1, 4, 3)),
        (257, AddressSwizzle(2, 4, 3)),
        (512, AddressSwizzle(2, 4, 3)),
        (513, AddressSwizzle(3, 4, 3)),
        (1024, AddressSwizzle(3, 4, 3)),
        (1025, AddressSwizzle(4, 4, 3)),
        (1 << 20, AddressSwizzle(5, 4, 3)),
        (1, None),
    ],
)
def test_what_a_small_tile_leaves_of_an_xor(tile_bytes, expected):
    """Of an XOR of five bits, which the hardware has not."""
    assert effective_swizzle(AddressSwizzle(5, 4, 3), tile_bytes) == expected
    assert effective_swizzle(Swizzle.B64, tile_bytes) is Swizzle.B64


def test_a_mode_of_the_hardware_stays_one_in_a_small_tile():
    assert effective_swizzle(AddressSwizzle(3, 4, 3), 256) == AddressSwizzle(3, 4, 3)
    assert effective_swizzle(AddressSwizzle(3, 4, 3), 128) is None
    assert effective_swizzle(None, 256) is None


def test_modes_by_what_they_do():
    assert swizzle_mode(None) is Swizzle.NONE
    assert swizzle_mode(AddressSwizzle(0, 4, 3)) is Swizzle.NONE
    assert swizzle_mode(AddressSwizzle(0, 9, 9)) is Swizzle.NONE
    assert swizzle_mode(AddressSwizzle(2, 4, 3)) is Swizzle.B64
    assert swizzle_mode(AddressSwizzle(2, 4, 4)) is None
    assert swizzle_mode(Swizzle.B128_ATOM_64B) is Swizzle.B128_ATOM_64B
