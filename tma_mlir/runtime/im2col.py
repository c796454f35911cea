"""Encoding im2col tensor maps: ``cuTensorMapEncodeIm2col``, and ``cuTensorMapEncodeIm2colWide`` for sm_100 on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from ..plan.tensor_map import TensorMap
from . import driver

_WIDE_MODES = {"w": 0, "w_128": 1}
"""``CUtensorMapIm2ColWideMode``."""


@cache
def encoder(wide: bool) -> Callable[..., int]:
    """The driver's encoder on raw addresses, returning the result's number (see ``driver.tensor_map_calls``)."""
    driver.cuda()
    library = ctypes.CDLL("libcuda.so.1")
    pointer, u32, i32 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
    shape = [pointer, i32, u32, pointer, pointer, pointer]
    if wide:
        call = library.cuTensorMapEncodeIm2colWide
        call.argtypes = [*shape, i32, i32, u32, u32, pointer, i32, i32, i32, i32, i32]
    else:
        call = library.cuTensorMapEncodeIm2col
        call.argtypes = [*shape, pointer, pointer, u32, u32, pointer, i32, i32, i32, i32]
    call.restype = i32
    return call


def encoder_name(tensor_map: TensorMap) -> str:
    """The driver function that encodes ``tensor_map``."""
    if tensor_map.im2col is None:
        return "cuTensorMapEncodeTiled"
    return "cuTensorMapEncodeIm2colWide" if tensor_map.im2col.wide else "cuTensorMapEncodeIm2col"


def encode_im2col(target: int, data_type: int, tensor_map: TensorMap, address: int) -> int:
    """Writes the descriptor of ``tensor_map`` (numbers only) to the host address ``target``; the driver's result."""
    im2col = tensor_map.im2col
    assert im2col is not None
    rank, corners = tensor_map.rank, len(im2col.lower_corner)
    u64, u32, i32 = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int
    shape = ((u64 * rank)(*tensor_map.dims), (u64 * rank)(*tensor_map.strides_bytes))
    options = (int(tensor_map.swizzle), tensor_map.l2_promotion, int(tensor_map.oob_fill))
    strides = (u32 * rank)(*tensor_map.element_strides)
    if im2col.wide:
        box = (im2col.lower_corner[0], im2col.upper_corner[0], *tensor_map.box)
        mode = _WIDE_MODES[im2col.wide]
        return encoder(True)(target, data_type, rank, address, *shape, *box, strides, 0, mode, *options)
    lower, upper = (i32 * corners)(*im2col.lower_corner), (i32 * corners)(*im2col.upper_corner)
    return encoder(False)(target, data_type, rank, address, *shape, lower, upper, *tensor_map.box, strides, 0, *options)
