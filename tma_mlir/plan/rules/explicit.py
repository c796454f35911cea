"""What a descriptor written by the user must match."""

from __future__ import annotations

from ...layout.swizzle import Swizzle
from .answers import Answer, Value, holds, rule


@rule
def descriptor_given(given: bool) -> Answer:
    """``tma_explicit`` plans the descriptor it is given, and none otherwise."""
    return holds(given, "no descriptor", "box, dims, strides and starts", "Describe it with 'explicit'.")


@rule
def equal_ranks(counts: tuple[int, ...]) -> Answer:
    """Box, dims, strides and starts have one entry per dimension."""
    found = f"{'/'.join(map(str, counts))} entries in box/dims/strides/starts"
    ok = len(set(counts)) == 1 and counts[0] > 0
    return holds(ok, found, "one per dimension", "Give each dimension one of each.")


@rule
def same_movement(described: tuple[tuple, ...], asked: tuple[tuple, ...]) -> Answer:
    """The box moves what the copy asks for: the same steps in global and in shared memory.

    Both are (extent, global bytes, shared bytes), innermost first.
    """
    return holds(described == asked, _steps_text(described), _steps_text(asked), _MOVEMENT)


_MOVEMENT = "Make the box the sizes of the copy, its dimensions in the order of the tile."


def _steps_text(steps: tuple[tuple, ...]) -> str:
    texts = [f"{extent} steps of {source} B to {target} B" for extent, source, target in steps]
    return ", ".join(texts) or "one element"


@rule
def same_start(difference_bytes: Value) -> Answer:
    """The box starts at the region's first element."""
    ok = isinstance(difference_bytes, int) and difference_bytes == 0
    return holds(ok, f"start off by {difference_bytes} B", "0 B", "Start at the region's first element.")


@rule
def same_end(exact: bool) -> Answer:
    """Where the box can leave the descriptor or the tensor, both end at the same element: fill and clip are right."""
    found = "dims that end elsewhere than the tensor"
    return holds(exact, found, "the tensor's extents", "Use the tensor's extents as dims.")


@rule
def same_swizzle(described: Swizzle, asked: Swizzle | None) -> Answer:
    """The descriptor swizzles as the shared tile does."""
    needed = "the tile's swizzle" if asked is None else asked.label
    return holds(described is asked, f"swizzle {described.label}", needed, f"Use {needed}.")
