"""Gathers, scatters and im2col copies: every plan is checked by enumeration against the request."""

import dataclasses

import numpy as np
import pytest

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Expr, Swizzle, Symbol
from tma_mlir.layout.algebra import row_major
from tma_mlir.layout.atoms import atom_layout
from tma_mlir.layout.layout import Layout
from tma_mlir.layout.swizzle import address_swizzle
from tma_mlir.plan import CopyRequest, Direction, Gather, Im2col, Im2colWalk, PlanDeclined, Region, plan_copy
from tma_mlir.plan.findings import Status
from tma_mlir.plan.rules import im2col_bounding_box

ROW = [Expr.of(Symbol(f"row{i}", host=False)) for i in range(4)]


def gather(rows, column, columns, **fields):
    """A load of ``columns`` columns of four f16 rows of a 64x256 matrix into a dense tile."""
    shape = (64, 256)
    request = CopyRequest(
        dtype("f16"),
        Direction.LOAD,
        shape,
        row_major(shape),
        Region((rows[0], column), (4, columns)),
        (4, columns),
        row_major((4, columns)),
        Region((0, 0), (4, columns)),
        kind=Gather(tuple(rows)),
        chip="sm_100a",
    )
    return dataclasses.replace(request, **fields)


def in_atoms(request, rows, first):
    """The same into rows ``first`` and on of a tile of 128-byte-swizzled atoms."""
    columns = request.shared_region.extents[1]
    return dataclasses.replace(
        request,
        shared_shape=(rows, columns),
        shared_layout=atom_layout((rows, columns), 2, Swizzle.B128),
        shared_region=Region((first, 0), (4, columns)),
        shared_swizzle=address_swizzle(Swizzle.B128),
    )


def test_four_rows_are_one_instruction_on_a_box_of_one():
    plan = plan_copy(gather((3, 60, 60, 0), 64, 64))
    (group,), (tensor_map,) = plan.groups, plan.tensor_maps
    assert (group.mode, group.instruction_count) == ("gather4", 1)
    assert [each.numerator for each in group.coordinates] == [64, 3, 60, 60, 0]
    assert (tensor_map.dims, tensor_map.box) == ((256, 64), (64, 1))
    assert plan.transaction_bytes == 4 * 64 * 2
    assert plan.check() == []


def test_rows_outside_read_as_fill():
    assert plan_copy(gather((-1, 63, 64, 1000), 192, 128)).check() == []


def test_columns_in_atoms_are_one_instruction_an_atom():
    plan = plan_copy(in_atoms(gather((9, 1, 2, 3), 128, 128), 16, 4))
    assert plan.instruction_count == 2
    assert plan.shared_alignment_bytes == 1024
    assert plan.check() == []


@pytest.mark.parametrize("values", [(0, 1, 2, 3), (63, 63, 64, -5)])
def test_rows_known_in_the_kernel_need_no_guard(values):
    plan = plan_copy(gather(ROW, 0, 64))
    assert plan.guards == ()
    assert plan.check({f"row{i}": value for i, value in enumerate(values)}) == []


def test_a_scatter_asks_that_rows_are_not_negative_unless_promised():
    scatter = gather(ROW, 0, 64, direction=Direction.STORE)
    assert {guard.finding.rule for guard in plan_copy(scatter).guards} == {"negative coordinate on store"}
    promised = plan_copy(dataclasses.replace(scatter, in_bounds=True))
    assert promised.guards == ()
    assert promised.check({f"row{i}": 10 * i for i in range(4)}) == []
    assert promised.groups[0].mode == "scatter4"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"chip": "sm_90a"}, "gather supported"),
        ({"chip": "sm_120a", "multicast": True}, "gather supported"),
        ({"chip": "sm_100", "multicast": True}, "gather supported"),
        ({"chip": "sm_100", "direction": Direction.STORE}, "gather supported"),
        ({"direction": Direction.STORE, "reduction": "add"}, "mode reduction"),
        ({"shared_swizzle": address_swizzle(Swizzle.B64)}, "row pitch"),
        ({"variant": "simt"}, "way of mode"),
        ({"global_layout": Layout((64, 256), (260, 1))}, "global stride alignment"),
        ({"global_layout": Layout((64, 256), (1, 64))}, "unit stride"),
        ({"shared_layout": Layout((4, 64), (72, 1))}, "row pitch"),
    ],
)
def test_what_a_gather_cannot_do(fields, rule):
    with pytest.raises(PlanDeclined) as declined:
        plan_copy(gather((0, 1, 2, 3), 0, 64, **fields))
    assert rule in {finding.rule for finding in declined.value.findings}


def im2col(shape, start, pixels, channels, walk, *, swizzle=Swizzle.NONE, element="f16", **fields):
    """``pixels`` x ``channels`` of an N(D)(H)WC tensor into a dense tile; ``walk``: corners, strides, offsets."""
    tile = (pixels, channels)
    request = CopyRequest(
        dtype(element),
        Direction.LOAD,
        shape,
        row_major(shape),
        Region(start, (*(1,) * (len(shape) - 2), *tile)),
        tile,
        row_major(tile),
        Region((0, 0), tile),
        address_swizzle(swizzle),
        kind=Im2colWalk(*walk),
    )
    return dataclasses.replace(request, **fields)


PADDED_3X3 = ((-1, -1), (-1, -1), (1, 1), (2, 0))


def test_the_pixels_of_a_padded_3x3_convolution():
    # Output pixel (n, p, q) of tap (r, s) is input pixel (n, p + r - 1, q + s - 1).
    batch, height, width, channels = 2, 4, 5, 8
    image = np.arange(batch * height * width * channels).reshape(batch, height, width, channels)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-1)
    expected = padded[:, 2 : 2 + height, 0:width].reshape(-1, channels)

    plan = plan_copy(im2col(image.shape, (0, -1, -1, 0), 40, channels, PADDED_3X3))
    assert plan.check() == []
    from tma_mlir.plan.check import tensor_pairs

    (group,) = plan.groups
    assert plan.request is not None
    moved = np.full(40 * channels * 2, -2)
    for source, target in tensor_pairs(plan.request, plan, group, {}):
        moved[target] = source
    elements = np.where(moved[::2] < 0, -1, moved[::2] // 2).reshape(40, channels)
    np.testing.assert_array_equal(elements, expected)


def test_the_map_is_in_driver_order():
    walk = ((0, -1, -2), (-2, -1, 1), (3, 1, 2), (0, 2, 1))
    plan = plan_copy(im2col((4, 7, 9, 11, 32), (1, 3, -1, -2, 16), 24, 16, walk))
    (tensor_map,), (group,) = plan.tensor_maps, plan.groups
    assert tensor_map.dims == (32, 11, 9, 7, 4)
    assert tensor_map.im2col == Im2col((-2, -1, 0), (1, -1, -2))
    assert (tensor_map.box, tensor_map.element_strides) == ((16, 24), (1, 2, 1, 3, 1))
    assert [each.numerator for each in group.coordinates] == [16, -2, -1, 3, 1]
    assert group.im2col_offsets == (1, 2, 0)
    assert plan.transaction_bytes == 24 * 16 * 2
    assert plan.check() == []


@pytest.mark.parametrize("swizzle", list(Swizzle)[:4])
@pytest.mark.parametrize("seed", range(8))
def test_random_walks(swizzle, seed):
    rng = np.random.default_rng(seed)
    spatial = int(rng.integers(1, 4))
    size = {"f16": 2, "f32": 4, "ui8": 1}
    element = str(rng.choice(list(size)))
    channels = (swizzle.span_bytes or 48) // size[element]
    shape = (int(rng.integers(1, 4)), *(int(rng.integers(3, 8)) for _ in range(spatial)), channels + 16)
    lower = tuple(int(rng.integers(-2, 1)) for _ in range(spatial))
    upper = tuple(int(rng.integers(-2, 3)) for _ in range(spatial))
    strides = tuple(int(rng.integers(1, 4)) for _ in range(spatial))
    offsets = tuple(int(rng.integers(0, 4)) for _ in range(spatial))
    start = (0, *lower, 16 // size[element] * int(rng.integers(0, 3)))
    walk = (lower, upper, strides, offsets)
    assert plan_copy(im2col(shape, start, 50, channels, walk, swizzle=swizzle, element=element)).check() == []


def test_a_store_walks_without_offsets():
    walk = ((0, 0), (0, -1), (1, 1), (0, 0))
    plan = plan_copy(im2col((2, 5, 6, 32), (0, 1, 2, 0), 40, 32, walk, direction=Direction.STORE))
    assert plan.groups[0].im2col_offsets == ()
    assert plan.check() == []


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"walk": ((-1, -1), (-1, -1), (1, 1), (0, 256))}, "im2col offset range"),
        ({"walk": ((-129, 0), (0, 0), (1, 1), (0, 0))}, "im2col corner range"),
        ({"walk": ((8, 0), (0, 0), (1, 1), (0, 0)), "start": (0, 8, 0, 0)}, "im2col bounding box"),
        ({"walk": ((0, 0), (0, 0), (9, 1), (0, 0))}, "element stride"),
        ({"pixels": 1025}, "im2col pixels"),
        ({"start": (0, 8, 0, 0)}, "im2col start"),
        ({"channels": 4}, "inner box bytes"),
        ({"swizzle": Swizzle.B32}, "row pitch"),
        ({"walk": ((0, 0), (0, 0), (1, 1), (0, 0), "w"), "chip": "sm_90a"}, "im2col wide supported"),
    ],
)
def test_what_im2col_cannot_do(change, rule):
    start, pixels, channels = (change.pop("start", (0, 0, 0, 0)), change.pop("pixels", 32), change.pop("channels", 32))
    walk = change.pop("walk", ((0, 0), (0, 0), (1, 1), (0, 0)))
    if len(walk) == 5:
        walk = ((0,), (0,), *walk[2:])
    with pytest.raises(PlanDeclined) as declined:
        plan_copy(im2col((2, 8, 8, 32), start, pixels, channels, walk, **change))
    assert rule in {finding.rule for finding in declined.value.findings}


@pytest.mark.parametrize(
    ("extent", "lower", "upper", "accepted"),
    [
        (1, -128, 1, True),
        (64, 0, -64, False),
        ((1 << 31) - 1, 0, 0, True),
        (1 << 31, 0, 0, False),
        (1 << 31, 0, -1, True),
        (1 << 31, -32768, -32768, True),
        ((1 << 32) - 1, -1, -1, False),
        (1 << 32, 0, 0, False),
        (1 << 32, -32768, 0, True),
    ],
)
def test_the_bounding_box_of_huge_extents_is_the_driver_s(extent, lower, upper, accepted):
    """cuTensorMapEncodeIm2col of driver 580.159 on an H200; test/py/gpu/test_im2col.py asks it again."""
    assert (im2col_bounding_box(extent, lower, upper, 1).finding.status is Status.PROVEN) is accepted


def test_unknown_dims_are_checked_by_the_host():
    height = Expr.of(Symbol("global.dim1", 0, host=True))
    request = im2col((2, 8, 8, 32), (0, 0, 0, 0), 32, 32, ((0, 0), (-1, 0), (1, 1), (0, 0)))
    shape = (2, height, 8, 32)
    request = dataclasses.replace(request, global_shape=shape, global_layout=Layout(shape, (2048, 256, 32, 1)))
    plan = plan_copy(request)
    assert plan.guards == ()
    assert "im2col bounding box" in {check.finding.rule for check in plan.host_checks}
    assert plan.check({"global.dim1": 5}) == []
