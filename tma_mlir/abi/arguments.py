"""Whether an array fits a memref: what a signature asks for, in words."""

from __future__ import annotations

from collections.abc import Sequence

from .signature import Argument, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument


def describe(argument: Argument) -> str:
    """``8x256xf16, strides [256, 1]``, or ``i32`` for a scalar."""
    if isinstance(argument, ScalarArgument):
        return str(argument.dtype)
    if isinstance(argument, PointerArgument):
        return "an address"
    if isinstance(argument, ValueArgument):
        return argument.text
    shape = "x".join(_number(extent) for extent in argument.shape)
    text = f"{shape}x{argument.dtype}" if shape else f"{argument.dtype} (rank 0)"
    return f"{text}, strides [{', '.join(map(_number, argument.strides))}]" if shape else text


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def shape_problems(argument: MemRefArgument, shape: Sequence[int], strides: Sequence[int]) -> list[str]:
    """What keeps an array of ``shape`` and ``strides`` (elements) from being passed as ``argument``: value, remedy."""
    if len(shape) != len(argument.shape):
        return [
            f"rank {len(shape)} (shape {list(shape)}), needed: rank {len(argument.shape)} "
            f"({describe(argument)}). Reshape the array"
        ]
    problems = []
    for d, (found, needed) in enumerate(zip(shape, argument.shape, strict=True)):
        if needed is not None and found != needed:
            problems.append(f"dimension {d} has {found} elements, needed: {needed} ({describe(argument)})")
    for d, (found, needed) in enumerate(zip(strides, argument.strides, strict=True)):
        # Where no element follows another, frameworks report any stride.
        if needed is not None and found != needed and shape[d] > 1 and 0 not in shape:
            problems.append(
                f"dimension {d} has stride {found} elements, needed: {needed} ({describe(argument)}). Make the array "
                "contiguous, or compile the kernel for this stride"
            )
    return problems
