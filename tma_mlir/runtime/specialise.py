"""A kernel for arrays of given shapes and strides: everything but the addresses is settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..abi import scalars
from ..abi import values as by_value
from ..abi.parameters import ADDRESS, address_words, parameter_words, pointer_of
from ..abi.signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from ..abi.symbols import symbol_values
from ..abi.types import Type
from ..dtypes import DType
from .arrays import ArrayView
from .binding import Value
from .errors import ArgumentTypeError, DescriptorError
from .launch import Launcher, Prepared, Shape
from .module import Function
from .tensor_maps import DescriptorBlock, make


@dataclass(frozen=True)
class Specialisation:
    """What ``prepare`` needs.

    ``scalars``: the user arguments that are numbers, addresses among them. ``targets``: for each descriptor its user
    argument, and the bytes from that argument's pointer to the descriptor's address. ``words``: the 64-bit parameters
    after the descriptors as (user argument or None, value): the argument's pointer or number plus ``value``, or
    ``value`` alone. ``values``: the user arguments that are passed as bytes of their own, with their types.
    ``alignments``: (user argument, bytes to add to its pointer, bytes that the sum has to be a multiple of).
    ``repeatable``: whether a later launch is known to be like this one by what ``fast_keys`` reads of its arguments.
    """

    launcher: Launcher
    scalars: tuple[tuple[int, DType], ...]
    descriptors: DescriptorBlock
    targets: tuple[tuple[int, int], ...]
    words: tuple[tuple[int | None, int], ...]
    values: tuple[tuple[int, Type], ...] = ()
    alignments: tuple[tuple[int, int, int], ...] = ()
    repeatable: bool = True

    def prepare(self, arguments: Sequence[Any]) -> Prepared | None:
        """The launch for ``arguments``: an address for each tensor, the number for each scalar.

        None if these addresses will not do; the slow path then says why.
        """
        for index, offset, alignment in self.alignments:
            if (arguments[index] + offset) % alignment:
                return None
        values = list(arguments)
        for index, kind in self.scalars:
            values[index] = int.from_bytes(scalars.to_bytes(values[index], kind), "little")
        addresses = [values[index] + offset for index, offset in self.targets]
        for address in addresses:
            if address % 16 or not address:
                return None
        words = [constant if index is None else values[index] + constant for index, constant in self.words]
        if not self.values:
            return self.launcher.prepare(self.descriptors, addresses, words)
        contents = [by_value.to_bytes(arguments[index], type_) for index, type_ in self.values]
        return self.launcher.prepare(self.descriptors, addresses, words, contents)


def specialise(signature: KernelSignature, function: Function, shape: Shape, values: Sequence[Value]) -> Specialisation:
    """Checks every rule and encodes the descriptors; raises ``DescriptorError``, ``ArgumentTypeError``."""
    alignments = _checked_alignments(signature, values)
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
    sizes: list[tuple[int, int]] = []
    for index, (argument, value) in enumerate(zip(signature.arguments, values, strict=True)):
        if isinstance(argument, ValueArgument):
            sizes.append((len(words) + len(sizes), argument.layout.stride))
        elif isinstance(argument, MemRefArgument):
            assert isinstance(value, ArrayView)
            expanded = parameter_words(argument, value, signature.bare_pointers)
            pointers = address_words(signature.bare_pointers)
            words += [(index, number - value.pointer) for number in expanded[:pointers]]
            words += [(None, number) for number in expanded[pointers:]]
        else:
            words.append((index, 0))
    launcher = Launcher(function, shape, len(descriptors), len(words), sizes)
    return Specialisation(
        launcher,
        tuple(_numbers(signature)),
        DescriptorBlock.of(descriptors),
        tuple(targets),
        tuple(words),
        tuple((i, a.layout) for i, a in enumerate(signature.arguments) if isinstance(a, ValueArgument)),
        alignments,
        not any(isinstance(a, ValueArgument) for a in signature.arguments) and not any(map(_may_be_conjugated, values)),
    )


def _checked_alignments(signature: KernelSignature, values: Sequence[Value]) -> tuple[tuple[int, int, int], ...]:
    """``Specialisation.alignments``; raises ``ArgumentTypeError`` for addresses that are not so aligned.

    ``values`` are what the GPU gets: a host array has been copied to an address of its own by now.
    """
    found, problems = [], []
    for index, (argument, value) in enumerate(zip(signature.arguments, values, strict=True)):
        if not isinstance(argument, MemRefArgument) or not isinstance(value, ArrayView) or argument.alignment == 1:
            continue
        address = pointer_of(argument, value)
        found.append((index, address - value.pointer, argument.alignment))
        if address % argument.alignment:
            problems.append(
                f"argument {index}: address {address:#x} is not a multiple of {argument.alignment} B, which its copies "
                "rely on. Pass an array that starts there (a copy of the view), or copy the view with its offset"
            )
    if problems:
        raise ArgumentTypeError(signature.name, problems)
    return tuple(found)


def _numbers(signature: KernelSignature) -> Iterator[tuple[int, DType]]:
    for index, argument in enumerate(signature.arguments):
        if isinstance(argument, ScalarArgument):
            yield index, argument.dtype
        elif isinstance(argument, PointerArgument):
            yield index, ADDRESS


def _may_be_conjugated(value: Value) -> bool:
    """Whether another PyTorch tensor could be the same in all but its lazy conjugation, which keys do not read."""
    return isinstance(value, ArrayView) and value.dtype is not None and value.dtype.kind == "c"
