"""im2col in the simulator, against convolutions written with NumPy and the PTX ISA's own rules."""

from __future__ import annotations

import numpy as np
import pytest

from tma_mlir.plan.tensor_map import Im2col, OobFill, TensorMap
from tma_mlir.sim import engine, gather, im2col

BASE = 0x1000


def bound_map(shape, pixels, channels, lower, upper, strides=None, data_type="FLOAT32", fill=OobFill.ZERO):
    """A map of an N(D)(H)WC tensor; everything else in driver order."""
    size = {"FLOAT32": 4, "UINT8": 1}[data_type]
    steps = size * np.cumprod((1, *reversed(shape)))[1:-1]
    element_strides = (1, *(strides or (1,) * (len(shape) - 2)), 1)
    return engine.BoundTensorMap(
        TensorMap(
            data_type, tuple(reversed(shape)), tuple(int(step) for step in steps), (channels, pixels), element_strides,
            oob_fill=fill, im2col=Im2col(lower, upper),
        ),
        BASE,
    )  # fmt: skip


def column(bound, coordinates, offsets, tensor):
    """[pixels, channels] as a load delivers them."""
    rows = im2col.pixel_windows(bound, coordinates, offsets, store=False)
    memory = tensor.reshape(-1).view(np.uint8)
    box = gather.gather_rows(im2col.single_pixel(bound), rows, memory, BASE)
    return np.ascontiguousarray(box).view(tensor.dtype)


def image(*shape):
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("tap", [(0, 0), (1, 1), (2, 0), (2, 2)])
def test_a_column_is_the_input_of_one_tap_of_a_padded_convolution(tap, dilation):
    tensor, pad = image(2, 6, 5, 4), dilation
    # Corners as a convolution has them: -padding, and padding - (filter - 1) * dilation.
    bound = bound_map(tensor.shape, 60, 4, (-pad, -pad), (-pad, -pad))
    r, s = (dilation * each for each in tap)
    padded = np.pad(tensor, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    expected = padded[:, r : r + 6, s : s + 5].reshape(-1, 4)
    np.testing.assert_array_equal(column(bound, (0, -pad, -pad, 0), (s, r), tensor), expected)


def test_strides_skip_pixels_and_do_not_lessen_them():
    tensor = image(2, 7, 9, 4)
    bound = bound_map(tensor.shape, 40, 4, (0, 0), (0, 0), strides=(2, 3))
    expected = tensor[:, ::3, ::2].reshape(-1, 4)
    assert len(expected) == 2 * 3 * 5
    found = column(bound, (0, 0, 0, 0), (0, 0), tensor)
    np.testing.assert_array_equal(found[:30], expected)
    assert not found[30:].any()  # past the last image


def test_a_walk_goes_on_in_the_next_row_and_the_next_image():
    tensor = image(2, 3, 4, 4)
    bound = bound_map(tensor.shape, 6, 4, (0, 0), (0, 0))
    found = column(bound, (0, 2, 2, 0), (0, 0), tensor)
    np.testing.assert_array_equal(found, np.concatenate([tensor[0, 2, 2:], tensor[1, 0]]))


def test_one_and_three_spatial_dimensions():
    tensor = image(3, 5, 4)
    found = column(bound_map(tensor.shape, 12, 4, (-1,), (0,)), (0, -1, 0), (0,), tensor)
    np.testing.assert_array_equal(found, np.pad(tensor, ((0, 0), (1, 0), (0, 0))).reshape(-1, 4)[:12])
    tensor = image(2, 3, 4, 5, 4)
    found = column(bound_map(tensor.shape, 36, 4, (0, -1, 0), (-2, 0, -1)), (0, 0, -1, 0, 0), (1, 0, 1), tensor)
    expected = np.pad(tensor, ((0, 0), (0, 0), (1, 0), (0, 0), (0, 0)))[:, 1:3, :, 1:4].reshape(-1, 4)
    np.testing.assert_array_equal(found, expected[:36])


def test_offsets_do_not_bend_the_walk():
    # Offset 2 reads beyond the end of W; the walk still turns at the corner, and what lies outside is filled.
    tensor = image(1, 2, 4, 4)
    found = column(bound_map(tensor.shape, 8, 4, (0, 0), (0, 0)), (0, 0, 0, 0), (2, 0), tensor)
    np.testing.assert_array_equal(found[:4], np.pad(tensor[0, 0, 2:], ((0, 2), (0, 0))))
    np.testing.assert_array_equal(found[4:], np.pad(tensor[0, 1, 2:], ((0, 2), (0, 0))))


def test_nan_fills_the_padding():
    tensor = image(1, 2, 2, 4)
    bound = bound_map(tensor.shape, 1, 4, (-1, 0), (0, 0), fill=OobFill.NAN)
    assert (column(bound, (0, -1, 0, 0), (0, 0), tensor).view(np.uint32) == 0x7FF77FF7).all()


def test_a_store_writes_the_pixels_of_the_box():
    tensor = np.zeros((1, 3, 4, 4), np.float32)
    bound = bound_map(tensor.shape, 4, 4, (1, 0), (-1, 0))  # columns 1 and 2
    rows = im2col.pixel_windows(bound, (0, 1, 1, 0), (), store=True)
    box = image(4, 4).view(np.uint8)
    gather.scatter_rows(im2col.single_pixel(bound), rows, box, tensor.reshape(-1).view(np.uint8), BASE)
    np.testing.assert_array_equal(tensor[0, 1:, 1:3].reshape(4, 4), image(4, 4))
    assert not tensor[0, 0].any()


def test_instructions_and_maps_of_different_kinds_do_not_mix():
    tiled = TensorMap("FLOAT32", (4, 4, 4), (16, 64), (4, 4, 1), (1, 1, 1))
    with pytest.raises(engine.TmaFault, match="encoded for tiles"):
        im2col.single_pixel(engine.BoundTensorMap(tiled, BASE))
    with pytest.raises(engine.TmaFault, match="encoded for im2col"):
        engine.window(bound_map((1, 4, 4), 2, 4, (0,), (0,)), (0, 0, 0), store=False)
