"""What the driver is asked for im2col tensor maps, and that saved kernels keep them."""

import ctypes
from dataclasses import replace

import pytest

from tma_mlir.abi.conditions import violations
from tma_mlir.codec import from_data, to_data
from tma_mlir.plan.tensor_map import Im2col, Swizzle, TensorMap
from tma_mlir.runtime import DescriptorError, im2col, tensor_maps

# An NHWC image 8x14x14x64 of f16, 128 pixels of 32 channels, padding 1 of a 3x3 filter, stride 2 in H.
MAP = TensorMap(
    "FLOAT16",
    (64, 14, 14, 8),
    (128, 1792, 25088),
    (32, 128),
    (1, 1, 2, 1),
    Swizzle.B64,
    im2col=Im2col((-1, -1), (-1, -1)),
)
WIDE = replace(MAP, element_strides=(1, 1, 1, 1), im2col=Im2col((-1,), (0,), "w"))


@pytest.fixture
def calls(monkeypatch, fake_driver):
    """Arguments of the encoder's calls, arrays as lists."""
    fake_driver()
    found = []

    def encoder(wide):
        def call(*arguments):
            found.append((wide, [list(a) if isinstance(a, ctypes.Array) else a for a in arguments[1:]]))
            return int(arguments[3] == 1)

        return call

    monkeypatch.setattr(im2col, "encoder", encoder)
    return found


def test_the_arguments_in_the_order_of_the_driver_api(calls):
    tensor_maps.encode(MAP, 4096)
    dims, strides = [64, 14, 14, 8], [128, 1792, 25088, 0]
    # type, rank, address, dims, strides, corners, channels, pixels, element strides, interleave, swizzle, L2, fill
    expected = [6, 4, 4096, dims, strides, [-1, -1], [-1, -1], 32, 128, [1, 1, 2, 1], 0, 2, 2, 0]
    assert calls == [(False, expected)]


def test_the_arguments_of_the_wide_form(calls):
    tensor_maps.encode(WIDE, 4096)
    ((wide, arguments),) = calls
    # corners and mode are numbers there
    assert wide
    assert arguments[5:] == [-1, 0, 32, 128, [1, 1, 1, 1], 0, 0, 2, 2, 0]


def test_a_refusal_names_the_encoder_and_the_corners(calls):
    with pytest.raises(DescriptorError, match=r"cuTensorMapEncodeIm2col answered .*corners -1,-1 and -1,-1"):
        tensor_maps.encode(MAP, 1)


def test_a_saved_kernel_keeps_the_corners():
    assert from_data(TensorMap, to_data(MAP)) == MAP


def test_rules_are_asked_before_the_driver():
    assert violations(MAP, 4096) == []
    assert len(violations(replace(MAP, box=(32, 1025), im2col=Im2col((-1, -129), (-1, -1))), 4096)) == 2
    assert violations(WIDE, 4096, "sm_100a") == []
    assert violations(WIDE, 4096, "sm_90a") != []
