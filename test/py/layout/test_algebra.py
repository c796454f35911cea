"""Group, slice and refine layouts; atom layouts and swizzles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tma_mlir.layout import (
    AddressSwizzle,
    Expr,
    Layout,
    LayoutError,
    Swizzle,
    Symbol,
    address_swizzle,
    atom_layout,
    row_major,
    swizzle_mode,
    swizzle_period_bytes,
)
from tma_mlir.layout.algebra import UnevenSliceError, group_by_shape, refine, slice_modes


def test_row_major_strides():
    assert row_major((2, 3, 4)) == Layout((2, 3, 4), (12, 4, 1))
    k = Expr.of(Symbol("k"))
    assert row_major((2, k)).strides == (k, 1)


def test_one_long_mode_is_grouped_by_the_shape():
    assert group_by_shape(Layout((8192,), (1,)), (128, 64)) == [[(128, 64)], [(64, 1)]]


def test_tiles_that_continue_each_other_are_fused():
    assert group_by_shape(Layout((2, 4, 8), (32, 8, 1)), (8, 8)) == [[(8, 8)], [(8, 1)]]


def test_a_tiled_dimension_keeps_its_modes():
    assert group_by_shape(Layout((8, 4, 64), (64, 512, 1)), (8, 256)) == [[(8, 64)], [(64, 1), (4, 512)]]


@pytest.mark.parametrize("extents", [(4, 15), (61,), (60, 2)])
def test_a_layout_that_does_not_fit_the_shape_is_refused(extents):
    with pytest.raises(LayoutError, match=r"straddles|elements"):
        group_by_shape(Layout(extents, tuple(1 for _ in extents)), (6, 10))


def test_an_aligned_slice_takes_whole_tiles():
    modes = [(64, 1), (4, 512)]
    assert slice_modes(modes, 64, 128) == ([(64, 1), (2, 512)], 512)
    assert slice_modes(modes, 64, 32) == ([(32, 1)], 512)
    assert slice_modes(modes, 72, 16) == ([(16, 1)], 520)


@pytest.mark.parametrize(("start", "extent", "cut"), [(32, 64, 32), (0, 96, 64), (60, 8, 4)])
def test_a_slice_across_a_tile_boundary_says_where_to_cut(start, extent, cut):
    with pytest.raises(UnevenSliceError) as caught:
        slice_modes([(64, 1), (4, 512)], start, extent)
    assert caught.value.cut == cut


def test_a_symbolic_start_is_sliced_if_it_is_a_whole_tile():
    k = Expr.of(Symbol("k"))
    assert slice_modes([(64, 1), (4, 512)], 64 * k, 64) == ([(64, 1)], 512 * k)
    with pytest.raises(LayoutError, match="not known to be a multiple"):
        slice_modes([(64, 1), (4, 512)], k, 64)


def test_refinement_gives_the_common_pieces():
    assert refine([64, 8], [16, 4, 8]) == [(16, 0, 0), (4, 0, 1), (8, 1, 2)]
    assert refine([], []) == []


@pytest.mark.parametrize(("left", "right"), [([3, 2], [2, 3]), ([4], [2])])
def test_pieces_that_do_not_nest_are_refused(left, right):
    with pytest.raises(LayoutError):
        refine(left, right)


@given(st.lists(st.integers(2, 5), min_size=1, max_size=6), st.data())
def test_refinement_multiplies_back_to_both(factors, data):
    def joined(values):
        cuts = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
        result = [1]
        for value, cut in zip(values, cuts, strict=True):
            result[-1] *= value
            if cut:
                result.append(1)
        return [v for v in result if v != 1]

    left, right = joined(factors), joined(factors)
    pieces = refine(left, right)
    for side, modes in ((1, left), (2, right)):
        products = [1] * len(modes)
        for piece in pieces:
            products[piece[side]] *= piece[0]
        assert products == modes


@pytest.mark.parametrize(
    ("swizzle", "extents", "strides"),
    [
        (Swizzle.NONE, (64, 8, 8), (8, 512, 1)),
        (Swizzle.B32, (64, 4, 16), (16, 1024, 1)),
        (Swizzle.B64, (64, 2, 32), (32, 2048, 1)),
        (Swizzle.B128, (64, 1, 64), (64, 4096, 1)),
    ],
)
def test_atoms_are_tiled_down_the_rows_then_across(swizzle, extents, strides):
    assert atom_layout((64, 64), 2, swizzle) == Layout(extents, strides)


def test_stages_of_atoms_are_stacked():
    assert atom_layout((3, 64, 256), 2, Swizzle.B128) == Layout((3, 64, 4, 64), (16384, 64, 4096, 1))


def test_a_tile_that_is_not_made_of_atoms_is_refused():
    with pytest.raises(ValueError, match="8x64 atoms"):
        atom_layout((12, 64), 2, Swizzle.B128)


def test_swizzle_modes_and_address_swizzles_correspond():
    for mode in (Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128, Swizzle.B128_ATOM_32B):
        assert swizzle_mode(address_swizzle(mode)) is mode
    assert swizzle_mode(AddressSwizzle(2, 4, 4)) is None
    assert swizzle_mode(Swizzle.B128_ATOM_64B) is Swizzle.B128_ATOM_64B
    with pytest.raises(ValueError, match="not known"):
        address_swizzle(Swizzle.B128_ATOM_64B)


@pytest.mark.parametrize(("mode", "period"), [(Swizzle.B32, 256), (Swizzle.B64, 512), (Swizzle.B128, 1024)])
def test_the_pattern_repeats_after_its_period_and_not_before(mode, period):
    swizzle = address_swizzle(mode)
    assert swizzle is not None
    address = np.arange(4096)
    mask = (1 << swizzle.bits) - 1
    moved = (address ^ (((address >> (swizzle.base + swizzle.shift)) & mask) << swizzle.base)) - address
    assert (moved[:-period] == moved[period:]).all()
    assert not (moved[: -period // 2] == moved[period // 2 :]).all()
    assert swizzle_period_bytes(swizzle) == swizzle_period_bytes(mode) == period
