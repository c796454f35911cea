"""The text of tile operations."""

from __future__ import annotations

from collections.abc import Sequence

from .text import Operand, Writer, dynamic, offset_list

BARRIER = "!barrier"


def copy_async(
    w: Writer,
    source: tuple[str, str, list[Operand]],
    destination: tuple[str, str, list[Operand]],
    sizes: Sequence[int],
    attributes: Sequence[str],
    *,
    barrier: tuple[str, Operand] | None = None,
    predicate: str | None = None,
    mask: str | None = None,
    hint: str | None = None,
) -> None:
    """One copy. ``source`` and ``destination`` are name, type and offsets; ``barrier`` is a group and an index.

    In ``attributes`` LAYOUT stands for the layout attribute of the shared side.
    """
    from_, to = dynamic(source[2]), dynamic(destination[2])
    operands, types = [source[0], destination[0], *from_, *to], [source[1], destination[1]]
    types += ["index"] * (len(from_) + len(to))
    if barrier is not None:
        operands += [barrier[0], w.value(barrier[1])]
        types += [BARRIER, "index"]
    for name, type_ in ((predicate, "i1"), (mask, "i16"), (hint, "i64")):
        if name is not None:
            operands.append(name)
            types.append(type_)
    given = [int(each is not None) for each in (barrier, barrier, predicate, mask, hint)]
    segments = ", ".join(map(str, [1, 1, len(from_), len(to), *given]))
    layout = "destination_layout" if barrier is not None else "source_layout"
    shown = [
        f"static_source_offsets = {offset_list(source[2])}",
        f"static_destination_offsets = {offset_list(destination[2])}",
        f"sizes = array<i64: {', '.join(map(str, sizes))}>",
        *(each.replace("LAYOUT", layout) for each in attributes if each),
        f"operandSegmentSizes = array<i32: {segments}>",
    ]
    w.line(f'"tile.copy_async"({", ".join(operands)}) {{{", ".join(shown)}}} : ({", ".join(types)}) -> ()')


def prefetch_async(w: Writer, source: tuple[str, str, list[Operand]], sizes: Sequence[int], attributes: Sequence[str]):
    starts = dynamic(source[2])
    shown = [f"static_source_offsets = {offset_list(source[2])}", f"sizes = array<i64: {', '.join(map(str, sizes))}>"]
    shown += [*attributes, f"operandSegmentSizes = array<i32: 1, {len(starts)}, 0, 0>"]
    types = ", ".join([source[1], *["index"] * len(starts)])
    w.line(f'"tile.prefetch_async"({", ".join([source[0], *starts])}) {{{", ".join(shown)}}} : ({types}) -> ()')
