"""A kernel for arrays of given shapes and strides: everything but the addresses is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..compile.signature import KernelSignature, MemRefArgument, ScalarArgument
from ..layout.expr import Expr
from . import scalars
from .arrays import ArrayView
from .binding import Value, parameter_words, pointer_of, symbol_values
from .launch import Layout, Prepared, Shape
from .module import Function
from .tensor_maps import Descriptor, make


@dataclass(frozen=True)
class Specialisation:
    """``descriptors``: (encoded once, user argument, bytes from that argument's pointer to the descriptor's address).
    ``words``: the parameters after the descriptors as (user argument or None, value): the argument's pointer or scalar
    plus ``value``, or ``value`` alone."""

    signature: KernelSignature
    function: Function
    shape: Shape
    descriptors: tuple[tuple[Descriptor, int, int], ...]
    words: tuple[tuple[int | None, int], ...]

    def prepare(self, arguments: Sequence[Any]) -> Prepared | None:
        """The launch for ``arguments``: an address for each tensor, the number for each scalar.

        None if a descriptor could not be made for these addresses; the slow path then says why.
        """
        values = [
            int.from_bytes(scalars.to_bytes(given, wanted.dtype), "little")
            if isinstance(wanted, ScalarArgument)
            else given
            for wanted, given in zip(self.signature.arguments, arguments, strict=True)
        ]
        targets = [(descriptor, values[index] + offset) for descriptor, index, offset in self.descriptors]
        if any(address % 16 or not address for _, address in targets):
            return None
        words = [constant if index is None else values[index] + constant for index, constant in self.words]
        parameters = Layout(len(targets), len(words)).fill(targets, words)
        return Prepared(self.function, self.shape, parameters)


def specialise(signature: KernelSignature, function: Function, shape: Shape, values: Sequence[Value]) -> Specialisation:
    """Checks every rule and encodes the descriptors; raises ``DescriptorError``."""
    symbols = symbol_values(signature, values)
    descriptors = []
    for position, wanted in enumerate(signature.tensor_maps):
        argument, array = signature.arguments[wanted.argument], values[wanted.argument]
        assert isinstance(argument, MemRefArgument)
        assert isinstance(array, ArrayView)
        pointer = pointer_of(argument, array)
        made = make(signature.name, position, wanted, symbols, pointer, function.device)
        offset = pointer - array.pointer + int(made.tensor_map.base_offset_bytes)  # type: ignore[arg-type]
        descriptors.append((made, wanted.argument, offset))
    words: list[tuple[int | None, int]] = []
    for index, (argument, value) in enumerate(zip(signature.arguments, values, strict=True)):
        if isinstance(argument, ScalarArgument):
            words.append((index, 0))
            continue
        assert isinstance(value, ArrayView)
        numbers = parameter_words(argument, value, signature.bare_pointers)
        pointers = 1 if signature.bare_pointers else 2
        words += [(index, number - value.pointer) for number in numbers[:pointers]]
        words += [(None, number) for number in numbers[pointers:]]
    return Specialisation(signature, function, shape, tuple(descriptors), tuple(words))


def scalars_in_descriptors(signature: KernelSignature) -> frozenset[int]:
    """User arguments that are numbers a descriptor or a check depends on."""
    found = set()
    for wanted in signature.tensor_maps:
        tensor_map = wanted.tensor_map
        values = (*tensor_map.dims, *tensor_map.strides_bytes, tensor_map.base_offset_bytes)
        for value in (*values, *(check.value for check in wanted.checks)):
            if isinstance(value, Expr):
                found |= {symbol.name for symbol in value.symbols()}
    return frozenset(i for i in range(len(signature.arguments)) if f"arg{i}" in found)
