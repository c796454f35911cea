"""Tensor maps for actual arrays: evaluate, check every rule, encode, and keep what was encoded."""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..abi.conditions import check_failures, violations
from ..abi.signature import TensorMapArgument
from ..abi.tensor_maps import evaluated
from ..dtypes import DRIVER_BYTES
from ..hardware import DESCRIPTOR_BYTES
from ..plan.tensor_map import TensorMap
from ..plan.text import tensor_map_text
from . import driver
from .errors import DescriptorError
from .im2col import encode_im2col, encoder_name

_DATA_TYPES = {name: number for number, name in enumerate(DRIVER_BYTES)}
"""``CUtensorMapDataType``: the table is in the driver's order."""

FAULTY_ENCODER = 13010
SMALL_SPAN_BYTES = 128 * 1024
REPAIRED_BYTE, REPAIR_MASK = 10, 0xFF & ~(1 << 5)
"""Encoders of drivers up to CUDA 13.1 set bit 21 of the second 64-bit word for tensors spanning under 128 KiB as well,
which made out-of-bounds addresses fault on Blackwell; Hopper ignores it (CUTLASS and Triton clear it likewise)."""


@dataclass(frozen=True)
class Descriptor:
    """An encoded tensor map. ``data``: its 128 bytes for the address it was made for; ``tensor_map``: all numbers;
    ``needs_repair``: the driver's encoder gets this one wrong."""

    tensor_map: TensorMap
    data: bytes
    needs_repair: bool = False


@dataclass(frozen=True)
class DescriptorBlock:
    """A kernel's descriptors side by side, to be written for other addresses at a third of the price of encoding.

    ``data``: as first encoded. ``repairs``: bytes of it that the driver's encoder gets wrong.
    """

    maps: tuple[TensorMap, ...]
    data: bytes
    repairs: tuple[int, ...]

    @staticmethod
    def of(descriptors: Sequence[Descriptor]) -> DescriptorBlock:
        return DescriptorBlock(
            tuple(descriptor.tensor_map for descriptor in descriptors),
            b"".join(descriptor.data for descriptor in descriptors),
            tuple(i * DESCRIPTOR_BYTES + REPAIRED_BYTE for i, each in enumerate(descriptors) if each.needs_repair),
        )

    def write(self, memory: memoryview, position: int, target: int, addresses: Sequence[int]) -> None:
        """Puts the descriptors for ``addresses`` (multiples of 16) into ``memory`` from byte ``position``, which lies
        at ``target``."""
        memory[position : position + len(self.data)] = self.data
        replace_address = driver.tensor_map_calls()[1]
        for index, address in enumerate(addresses):
            code = replace_address(target, address)
            if code:
                raise _refusal("cuTensorMapReplaceAddress", code, self.maps[index], address)
            target += DESCRIPTOR_BYTES
        for byte in self.repairs:
            memory[position + byte] &= REPAIR_MASK


def span_bytes(tensor_map: TensorMap) -> int:
    """Bytes from the first element to the end of the last."""
    steps = (tensor_map.element_bytes, *tensor_map.strides_bytes)
    return tensor_map.element_bytes + sum(
        (int(extent) - 1) * int(step)  # type: ignore[arg-type]
        for extent, step in zip(tensor_map.dims, steps, strict=True)
    )


def encode(tensor_map: TensorMap, address: int) -> Descriptor:
    """The driver's descriptor of ``tensor_map`` (numbers only) at ``address``; its base offset is not added here.

    Raises ``DescriptorError`` with every field if the driver refuses what the rules allowed.
    """
    storage = ctypes.create_string_buffer(2 * DESCRIPTOR_BYTES)
    target = -(-ctypes.addressof(storage) // DESCRIPTOR_BYTES) * DESCRIPTOR_BYTES
    data_type = _DATA_TYPES[tensor_map.data_type]
    if tensor_map.im2col is not None:
        code = encode_im2col(target, data_type, tensor_map, address)
    else:
        code = _encode_tiled(target, data_type, tensor_map, address)
    if code:
        raise _refusal(encoder_name(tensor_map), code, tensor_map, address)
    data = bytearray(ctypes.string_at(target, DESCRIPTOR_BYTES))
    needs_repair = driver.driver_version() <= FAULTY_ENCODER and span_bytes(tensor_map) < SMALL_SPAN_BYTES
    if needs_repair:
        data[REPAIRED_BYTE] &= REPAIR_MASK
    return Descriptor(tensor_map, bytes(data), needs_repair)


def _encode_tiled(target: int, data_type: int, tensor_map: TensorMap, address: int) -> int:
    rank = tensor_map.rank
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    return driver.tensor_map_calls()[0](
        target,
        data_type,
        rank,
        address,
        (u64 * rank)(*tensor_map.dims),
        (u64 * rank)(*tensor_map.strides_bytes),
        (u32 * rank)(*tensor_map.box),
        (u32 * rank)(*tensor_map.element_strides),
        0,
        int(tensor_map.swizzle),
        tensor_map.l2_promotion,
        int(tensor_map.oob_fill),
    )


def _refusal(call: str, code: int, tensor_map: TensorMap, address: int) -> DescriptorError:
    return DescriptorError(
        f"{call} answered {driver.result_name(code)}",
        [f"{tensor_map_text(tensor_map, address)}. No rule known to this package forbids it: please report it"],
    )


class DescriptorCache:
    """The ``capacity`` descriptors used last. The key is every argument of the encoder and the device, so memory that
    was freed and given out again finds exactly what would be encoded for it. What is kept broke no rule."""

    def __init__(self, capacity: int = 1024) -> None:
        self.capacity = capacity
        self._entries: OrderedDict[tuple[TensorMap, int, int], Descriptor] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, tensor_map: TensorMap, address: int, device: int) -> Descriptor | None:
        key = (tensor_map, address, device)
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def encode(self, tensor_map: TensorMap, address: int, device: int) -> Descriptor:
        """Encodes and keeps; raises ``DescriptorError`` as ``encode`` does."""
        descriptor = encode(tensor_map, address)
        with self._lock:
            self._entries[tensor_map, address, device] = descriptor
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
        return descriptor


CACHE = DescriptorCache()
"""Of this process."""


def make(
    kernel: str,
    index: int,
    argument: TensorMapArgument,
    symbols: Mapping[str, int],
    pointer: int,
    device: driver.Device,
) -> Descriptor:
    """Descriptor ``index`` of ``kernel`` for the tensor at ``pointer`` (element 0 of its allocation).

    Raises ``DescriptorError`` with all broken rules, before the driver is asked.
    """
    tensor_map = evaluated(argument, symbols)
    address = pointer + int(tensor_map.base_offset_bytes)  # type: ignore[arg-type]
    found = CACHE.find(tensor_map, address, device.ordinal)
    problems = check_failures(argument.checks, symbols)
    if found is None:  # asking every rule costs three times as much as encoding
        problems += violations(tensor_map, address, device.chip)
    if problems:
        raise DescriptorError(
            f"kernel {kernel!r}: no tensor map {index} for argument {argument.argument}",
            [f"argument {argument.argument}: {problem}" for problem in problems],
        )
    return found or CACHE.encode(tensor_map, address, device.ordinal)
