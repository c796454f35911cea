"""What a descriptor written by the user must match."""

from __future__ import annotations

from ...layout.swizzle import Swizzle
from ..copy_plan import Condition
from .answers import Value, holds, rule


@rule
def descriptor_given(given: bool) -> Condition:
    """``tma_explicit`` plans the descriptor it is given, and none otherwise."""
    return holds("descriptor given", given, "no descriptor", "box, dims, strides and starts", "Describe it.")


@rule
def equal_ranks(counts: tuple[int, ...]) -> Condition:
    """Box, dims, strides and starts have one entry a dimension."""
    found = f"{'/'.join(map(str, counts))} entries in box/dims/strides/starts"
    return holds("equal ranks", len(set(counts)) == 1 and counts[0] > 0, found, "one a dimension", "Complete them.")


@rule
def same_movement(described: tuple[tuple, ...], asked: tuple[tuple, ...]) -> Condition:
    """The box moves what the copy asks for: the same steps in global and in shared memory.

    Both are (extent, global bytes, shared bytes), innermost first.
    """
    return holds(
        "same movement", described == asked, _steps_text(described), _steps_text(asked), "Change the box or the layout."
    )


def _steps_text(steps: tuple[tuple, ...]) -> str:
    texts = [f"{extent} steps of {source} B to {target} B" for extent, source, target in steps]
    return ", ".join(texts) or "one element"


@rule
def same_start(difference_bytes: Value) -> Condition:
    """The box starts at the region's first element."""
    ok = isinstance(difference_bytes, int) and difference_bytes == 0
    return holds("same start", ok, f"start off by {difference_bytes} B", "0 B", "Start at the region's first element.")


@rule
def same_end(exact: bool) -> Condition:
    """Where the box can leave the descriptor or the tensor, both end at the same element: fill and clip are right."""
    found = "dims that end elsewhere than the tensor"
    return holds("same end", exact, found, "the tensor's extents", "Use the tensor's extents as dims.")


@rule
def same_swizzle(described: Swizzle, asked: Swizzle | None) -> Condition:
    """The descriptor swizzles as the shared tile does."""
    needed = "the tile's swizzle" if asked is None else asked.label
    return holds("same swizzle", described is asked, f"swizzle {described.label}", needed, "Make them equal.")
