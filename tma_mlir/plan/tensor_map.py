"""The 128-byte descriptor as a value, in driver order (dimension 0 innermost)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..dtypes import DRIVER_BYTES, PACKED_TYPES
from ..layout.expr import Expr
from ..layout.swizzle import Swizzle
from .hashing import hash_once


class L2Promotion(enum.IntEnum):
    """``CUtensorMapL2promotion``: bytes that a miss fetches into L2, with the driver's numbers."""

    NONE = 0
    B64 = 1
    B128 = 2
    B256 = 3

    @property
    def bytes(self) -> int:
        return (0, 64, 128, 256)[self]

    @property
    def label(self) -> str:
        return f"{self.bytes}B" if self else "none"


class OobFill(enum.IntEnum):
    ZERO = 0
    NAN = 1


@dataclass(frozen=True)
class Im2col:
    """What ``cuTensorMapEncodeIm2col`` takes besides a tiled map's arguments, in driver order (W, H, D).

    The bounding box of a spatial dimension of extent ``n`` is ``lower .. n - 1 + upper``: both corners count from the
    tensor's own. ``wide`` is empty, or ``w``/``w_128`` for ``cuTensorMapEncodeIm2colWide``, whose box has only W.
    """

    lower_corner: tuple[int, ...]
    upper_corner: tuple[int, ...]
    wide: str = ""


@dataclass(frozen=True)
class TensorMap:
    """Arguments of ``cuTensorMapEncodeTiled`` or ``cuTensorMapEncodeIm2col`` (interleave is always none).

    ``data_type``: ``CUtensorMapDataType`` suffix, e.g. ``FLOAT16``. ``dims``: elements. ``strides_bytes``: bytes,
    for dimensions 1 and up. ``box``, ``element_strides``: elements. ``base_offset_bytes`` is added to the address
    of the tensor the descriptor is made for. Dims, strides and base offset may be expressions over symbols that
    the host knows at encode time. With ``im2col`` the box is (channels per pixel, pixels per column), whatever the
    rank. Equality of all fields is the descriptor cache's key.
    """

    data_type: str
    dims: tuple[Expr | int, ...]
    strides_bytes: tuple[Expr | int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: Swizzle = Swizzle.NONE
    l2_promotion: L2Promotion = L2Promotion.B128
    oob_fill: OobFill = OobFill.ZERO
    base_offset_bytes: Expr | int = 0
    im2col: Im2col | None = None

    def __hash__(self) -> int:
        return hash_once(self)

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def element_bytes(self) -> int:
        return DRIVER_BYTES[self.data_type]

    @property
    def element_bits(self) -> int:
        """Of an element in global memory."""
        packed = PACKED_TYPES.get(self.data_type)
        return packed.bits if packed else 8 * self.element_bytes

    @property
    def inner_box_bytes(self) -> int:
        return self.box[0] * self.element_bits // 8

    @property
    def transaction_bytes(self) -> int:
        """Bytes one instruction completes on its mbarrier: the box, out-of-bounds elements counted in."""
        if self.im2col is not None:
            return self.box[0] * self.box[1] * self.element_bytes  # Strides skip pixels, they do not lessen them.
        count = self.box[0]
        for extent, step in zip(self.box[1:], self.element_strides[1:], strict=True):
            count *= -(-extent // step)
        return count * self.element_bits // 8

    @property
    def row_pitch_bytes(self) -> int:
        """Shared-memory distance of neighbouring rows: the inner box, but at least the swizzle span."""
        return max(self.inner_box_bytes, self.swizzle.span_bytes)
