"""The TMA engine: one tile load, store or reduction of a bound tensor map over raw bytes.

The rules are those of docs/hardware.md, measured on an H200: fill outside the tensor, 16-byte clipping of
stores, row pitch of narrow swizzled rows, swizzle by absolute address, TF32 rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..hardware import NAN_PATTERN
from ..plan.tensor_map import OobFill, TensorMap
from .reduction import reduce_into
from .swizzle import shared_chunks

CHUNK = np.dtype("V16")
"""The 16-byte unit that the swizzle moves."""


class TmaFault(Exception):
    """What the chip does instead of the copy. ``fault`` is its name for it: ``illegal instruction``,
    ``misaligned address`` or ``illegal address``."""

    def __init__(self, fault: str, message: str):
        super().__init__(f"{fault}: {message}")
        self.fault = fault
        self.message = message


@dataclass(frozen=True)
class BoundTensorMap:
    """A tensor map whose fields are all ints, on the memory at absolute global ``address`` (bytes).

    The derived fields are in driver order: ``counts`` rows taken along dimensions 1 and up, ``steps`` the coordinate
    distance of neighbouring rows.
    """

    tensor_map: TensorMap
    address: int
    dims: tuple[int, ...] = field(init=False, repr=False)
    counts: tuple[int, ...] = field(init=False, repr=False)
    steps: tuple[int, ...] = field(init=False, repr=False)
    rows: int = field(init=False, repr=False)
    inner_bytes: int = field(init=False, repr=False)
    pitch_bytes: int = field(init=False, repr=False)
    transaction_bytes: int = field(init=False, repr=False)
    element_bytes: int = field(init=False, repr=False)
    swizzle_bits: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        tensor_map = self.tensor_map
        if int(tensor_map.swizzle) > 3:
            raise TmaFault("illegal instruction", f"swizzle {tensor_map.swizzle.label} is not simulated")
        # The rows of an im2col box are its pixels, however far apart they lie.
        steps = tensor_map.element_strides[1:] if tensor_map.im2col is None else (1,)
        counts = tuple(-(-box // step) for box, step in zip(tensor_map.box[1:], steps, strict=True))
        rows = 1
        for count in counts:
            rows *= count
        derived = {
            "dims": tuple(int(d) for d in tensor_map.dims),  # type: ignore[arg-type]
            "counts": counts,
            "steps": steps,
            "rows": rows,
            "inner_bytes": tensor_map.inner_box_bytes,
            "pitch_bytes": tensor_map.row_pitch_bytes,
            "transaction_bytes": rows * tensor_map.inner_box_bytes,
            "element_bytes": tensor_map.element_bytes,
            "swizzle_bits": int(tensor_map.swizzle),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory from the first to the last byte the box can touch."""
        return (self.rows - 1) * self.pitch_bytes + max(self.inner_bytes, self.tensor_map.swizzle.span_bytes)


@dataclass(frozen=True)
class Window:
    """The part of a box that lies inside the tensor: ``box_slices`` index a (rows..., bytes) array in the order
    outermost first; ``address`` is the first byte in global memory; ``shape``/``strides`` are bytes."""

    box_slices: tuple[slice, ...]
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def end(self) -> int:
        """One past the last byte touched."""
        return self.address + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + 1

    def view(self, memory: np.ndarray, memory_address: int) -> np.ndarray:
        """The window's bytes inside ``memory`` (uint8, first byte at ``memory_address``); a fault if it sticks out."""
        start = self.address - memory_address
        if start < 0 or self.end - memory_address > memory.size:
            raise TmaFault(
                "illegal address",
                f"bytes [{self.address:#x}, {self.end:#x}) are not inside the allocation "
                f"[{memory_address:#x}, {memory_address + memory.size:#x})",
            )
        return np.ndarray(self.shape, np.uint8, memory, start, self.strides)


def check_coordinates(bound: BoundTensorMap, coordinates: Sequence[int], store: bool) -> None:
    """Raise the fault that illegal start coordinates are on the chip."""
    if len(coordinates) != len(bound.dims):
        raise TmaFault("illegal instruction", f"{len(coordinates)} coordinates for a tensor of rank {len(bound.dims)}")
    if coordinates[0] * bound.element_bytes % 16:
        raise TmaFault(
            "illegal instruction",
            f"innermost start coordinate {coordinates[0]} x {bound.element_bytes} B = "
            f"{coordinates[0] * bound.element_bytes} B is not a multiple of 16 B",
        )
    if store and min(coordinates) < 0:
        raise TmaFault("illegal instruction", f"negative start coordinate {min(coordinates)} of a store or reduction")


def check_shared(bound: BoundTensorMap, shared_address: int) -> None:
    """Raise the fault that a misplaced shared tile is on the chip."""
    if shared_address % 128:
        raise TmaFault("misaligned address", f"shared tile at {shared_address:#x} is not 128-byte aligned")
    if bound.address % 16:
        raise TmaFault("misaligned address", f"global address {bound.address:#x} is not 16-byte aligned")


def window(bound: BoundTensorMap, coordinates: Sequence[int], store: bool) -> Window | None:
    """The part of the box at ``coordinates`` inside the tensor, or None if there is none.

    Stores and reductions clip dimension 0 only at 16-byte granularity: the bytes up to the next multiple of 16 belong
    to the window too.
    """
    if bound.tensor_map.im2col is not None:
        raise TmaFault("illegal instruction", "a tile instruction on a tensor map encoded for im2col")
    size = bound.element_bytes
    end = bound.dims[0] * size
    if store:
        end = (end + 15) // 16 * 16
    start = coordinates[0] * size
    low, high = max(0, -start), min(bound.inner_bytes, end - start)
    if low >= high:
        return None
    address = bound.address + start + low
    shape, strides, slices = [high - low], [1], [slice(low, high)]
    for count, step, dim, stride, coordinate in zip(
        bound.counts, bound.steps, bound.dims[1:], bound.tensor_map.strides_bytes, coordinates[1:], strict=True
    ):
        first = max(0, -(coordinate // step))
        last = min(count, -(-(dim - coordinate) // step))
        if first >= last:
            return None
        address += (coordinate + first * step) * int(stride)  # type: ignore[arg-type]
        shape.append(last - first)
        strides.append(step * int(stride))  # type: ignore[arg-type]
        slices.append(slice(first, last))
    return Window(tuple(slices[::-1]), address, tuple(shape[::-1]), tuple(strides[::-1]))


def load_box(bound: BoundTensorMap, coordinates: Sequence[int], memory: np.ndarray, memory_address: int) -> np.ndarray:
    """The box a load delivers, before the shared-memory layout: uint8 ``[rows, inner bytes]``, filled and rounded."""
    check_coordinates(bound, coordinates, store=False)
    return load_window(bound, window(bound, coordinates, store=False), memory, memory_address)


def load_window(bound: BoundTensorMap, inside: Window | None, memory: np.ndarray, memory_address: int) -> np.ndarray:
    """``load_box`` for a window that is known."""
    values = None if inside is None else inside.view(memory, memory_address)
    if values is not None and bound.tensor_map.data_type.startswith("TFLOAT32"):
        values = _round_to_tf32(values)
    shape = (*bound.counts[::-1], bound.inner_bytes)
    if values is not None and values.shape == shape:
        box = np.ascontiguousarray(values)
    else:
        box = np.empty(shape, np.uint8)
        if bound.tensor_map.oob_fill == OobFill.NAN:
            box.view(np.uint16)[...] = NAN_PATTERN
        else:
            box[...] = 0
        if inside is not None and values is not None:
            box[inside.box_slices] = values
    return box.reshape(bound.rows, bound.inner_bytes)


def place_box(bound: BoundTensorMap, box: np.ndarray, shared: np.ndarray, shared_address: int) -> None:
    """Write a box into ``shared`` (uint8; its first byte is the tile's, at absolute ``shared_address``)."""
    _check_shared_size(bound, shared)
    if bound.swizzle_bits == 0:
        shared[: bound.transaction_bytes] = box.reshape(-1)
        return
    chunks = shared_chunks(bound.rows, bound.inner_bytes, bound.pitch_bytes, bound.swizzle_bits, shared_address % 1024)
    _as_chunks(shared)[chunks] = np.ascontiguousarray(box).reshape(-1).view(CHUNK)


def take_box(bound: BoundTensorMap, shared: np.ndarray, shared_address: int) -> np.ndarray:
    """The box as it lies in ``shared``: uint8 ``[rows, inner bytes]``; the inverse of ``place_box``."""
    _check_shared_size(bound, shared)
    if bound.swizzle_bits == 0:
        return shared[: bound.transaction_bytes].reshape(bound.rows, bound.inner_bytes)
    chunks = shared_chunks(bound.rows, bound.inner_bytes, bound.pitch_bytes, bound.swizzle_bits, shared_address % 1024)
    return _as_chunks(shared)[chunks].view(np.uint8).reshape(bound.rows, bound.inner_bytes)


def store_box(
    bound: BoundTensorMap,
    coordinates: Sequence[int],
    box: np.ndarray,
    memory: np.ndarray,
    memory_address: int,
    reduction: str | None = None,
) -> Window | None:
    """Store (or reduce, with ``reduction`` such as ``add``) a box into global ``memory``; the window written."""
    check_coordinates(bound, coordinates, store=True)
    inside = window(bound, coordinates, store=True)
    if inside is not None:
        store_window(bound, inside, box, memory, memory_address, reduction)
    return inside


def store_window(
    bound: BoundTensorMap,
    inside: Window,
    box: np.ndarray,
    memory: np.ndarray,
    memory_address: int,
    reduction: str | None = None,
) -> None:
    """``store_box`` for a window that is known."""
    target = inside.view(memory, memory_address)
    values = box.reshape(*bound.counts[::-1], bound.inner_bytes)[inside.box_slices]
    if reduction is None:
        target[...] = values
    else:
        try:
            reduce_into(target, values, bound.tensor_map.data_type, reduction)
        except KeyError:
            raise TmaFault(
                "illegal instruction", f"{reduction} of {bound.tensor_map.data_type} does not execute"
            ) from None


def clipped_tail_bytes(bound: BoundTensorMap, coordinates: Sequence[int]) -> int:
    """Bytes past the end of dimension 0 that a store of the box writes all the same (the 16-byte clip), per row."""
    end = bound.dims[0] * bound.element_bytes
    reach = coordinates[0] * bound.element_bytes + bound.inner_bytes
    return max(0, min(reach, (end + 15) // 16 * 16) - end)


def _check_shared_size(bound: BoundTensorMap, shared: np.ndarray) -> None:
    if shared.size < bound.shared_bytes:
        raise TmaFault(
            "illegal address", f"the tile needs {bound.shared_bytes} B of shared memory, {shared.size} B remain"
        )


def _as_chunks(shared: np.ndarray) -> np.ndarray:
    return shared[: shared.size // 16 * 16].view(CHUNK)


def _round_to_tf32(values: np.ndarray) -> np.ndarray:
    """TFLOAT32 loads round f32 to 10 mantissa bits, nearest-even; NaN becomes 0x7FFFE000."""
    words = np.ascontiguousarray(values).view(np.uint32)
    rounded = (words + 0x0FFF + ((words >> 13) & 1)) & np.uint32(0xFFFFE000)
    is_nan = (words & 0x7FFFFFFF) > 0x7F800000
    return np.where(is_nan, np.uint32(0x7FFFE000), rounded).view(np.uint8)
