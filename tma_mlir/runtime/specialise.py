"""A kernel for arrays of given shapes and strides: everything but the addresses is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..abi import scalars
from ..abi.parameters import address_words, parameter_words, pointer_of
from ..abi.signature import KernelSignature, MemRefArgument, ScalarArgument
from ..abi.symbols import symbol_values
from ..dtypes import DType
from .arrays import ArrayView
from .binding import Value
from .errors import DescriptorError
from .launch import Launcher, Prepared, Shape
from .module import Function
from .tensor_maps import DescriptorBlock, make


@dataclass(frozen=True)
class Specialisation:
    """What ``prepare`` needs.

    ``scalars``: the user arguments that are numbers. ``targets``: for each descriptor its user argument, and the bytes
    from that argument's pointer to the descriptor's address. ``words``: the parameters after the descriptors as (user
    argument or None, value): the argument's pointer or number plus ``value``, or ``value`` alone.
    """

    launcher: Launcher
    scalars: tuple[tuple[int, DType], ...]
    descriptors: DescriptorBlock
    targets: tuple[tuple[int, int], ...]
    words: tuple[tuple[int | None, int], ...]

    def prepare(self, arguments: Sequence[Any]) -> Prepared | None:
        """The launch for ``arguments``: an address for each tensor, the number for each scalar.

        None if a descriptor could not be made for these addresses; the slow path then says why.
        """
        values = list(arguments)
        for index, kind in self.scalars:
            values[index] = int.from_bytes(scalars.to_bytes(values[index], kind), "little")
        addresses = [values[index] + offset for index, offset in self.targets]
        for address in addresses:
            if address % 16 or not address:
                return None
        words = [constant if index is None else values[index] + constant for index, constant in self.words]
        return self.launcher.prepare(self.descriptors, addresses, words)


def specialise(signature: KernelSignature, function: Function, shape: Shape, values: Sequence[Value]) -> Specialisation:
    """Checks every rule and encodes the descriptors; raises ``DescriptorError``."""
    symbols = symbol_values(signature, values)
    descriptors, targets, errors = [], [], []
    for position, wanted in enumerate(signature.tensor_maps):
        argument, array = signature.arguments[wanted.argument], values[wanted.argument]
        assert isinstance(argument, MemRefArgument)
        assert isinstance(array, ArrayView)
        pointer = pointer_of(argument, array)
        try:
            made = make(signature.name, position, wanted, symbols, pointer, function.device)
        except DescriptorError as error:
            errors.append(error)
            continue
        offset = pointer - array.pointer + int(made.tensor_map.base_offset_bytes)  # type: ignore[arg-type]
        descriptors.append(made)
        targets.append((wanted.argument, offset))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        # Several copies of one array have the same problems.
        problems = dict.fromkeys(problem for error in errors for problem in error.problems)
        raise DescriptorError(f"kernel {signature.name!r}: no tensor maps for these arguments", list(problems))
    words: list[tuple[int | None, int]] = []
    for index, (argument, value) in enumerate(zip(signature.arguments, values, strict=True)):
        if isinstance(argument, ScalarArgument):
            words.append((index, 0))
            continue
        assert isinstance(value, ArrayView)
        expanded = parameter_words(argument, value, signature.bare_pointers)
        pointers = address_words(signature.bare_pointers)
        words += [(index, number - value.pointer) for number in expanded[:pointers]]
        words += [(None, number) for number in expanded[pointers:]]
    launcher = Launcher(function, shape, len(descriptors), len(words))
    numbers = tuple((i, a.dtype) for i, a in enumerate(signature.arguments) if isinstance(a, ScalarArgument))
    return Specialisation(launcher, numbers, DescriptorBlock.of(descriptors), tuple(targets), tuple(words))
