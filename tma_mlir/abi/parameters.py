"""Kernel parameters: what a memref becomes, and how many bytes each parameter has."""

from __future__ import annotations

from typing import Protocol

from ..dtypes import DTYPES
from ..hardware import DESCRIPTOR_BYTES
from .signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument

WORD_BYTES = 8

ADDRESS = DTYPES["ui64"]
"""The number that a pointer is."""


class Tensor(Protocol):
    """What is passed for a memref. ``pointer``: address of its first element; ``shape``, ``strides`` in elements."""

    @property
    def pointer(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def strides(self) -> tuple[int, ...]: ...


Bound = Tensor | bytes
"""A user argument ready to be passed: an array's memory, or the bytes of what goes by value."""


def pointer_of(argument: MemRefArgument, tensor: Tensor) -> int:
    """Address of element 0 of the memref's allocation: the tensor is the memref, so its offset lies before it."""
    return tensor.pointer - offset_of(argument) * argument.dtype.bytes


def offset_of(argument: MemRefArgument) -> int:
    """Elements between the allocation's element 0 and the memref's; a dynamic one is passed as 0."""
    return argument.offset or 0


def strided(argument: MemRefArgument, tensor: Tensor) -> list[tuple[int, int]]:
    """(extent, stride in elements) of each dimension, the signature's stride where it is static."""
    return [
        (extent, found if needed is None else needed)
        for extent, found, needed in zip(tensor.shape, tensor.strides, argument.strides, strict=True)
    ]


def parameter_words(argument: MemRefArgument, tensor: Tensor, bare: bool) -> list[int]:
    """The 64-bit parameters a tensor becomes (see ``KernelSignature``); the first ``address_words`` are addresses."""
    pointer = pointer_of(argument, tensor)
    if bare:
        return [pointer]
    dims = strided(argument, tensor)
    return [pointer, pointer, offset_of(argument), *(extent for extent, _ in dims), *(stride for _, stride in dims)]


def address_words(bare: bool) -> int:
    """How many of a memref's ``parameter_words`` are addresses."""
    return 1 if bare else 2


def parameter_sizes(signature: KernelSignature) -> list[int]:
    """Bytes of each kernel parameter: descriptors, then the user's arguments as the signature expands them."""
    sizes = [DESCRIPTOR_BYTES] * len(signature.tensor_maps)
    for argument in signature.arguments:
        if isinstance(argument, ScalarArgument):
            sizes.append(argument.dtype.bytes)
        elif isinstance(argument, PointerArgument):
            sizes.append(WORD_BYTES)
        elif isinstance(argument, ValueArgument):
            sizes.append(argument.layout.stride)
        elif signature.bare_pointers:
            sizes.append(WORD_BYTES)
        else:
            sizes += [WORD_BYTES] * (3 + 2 * len(argument.shape))
    return sizes
