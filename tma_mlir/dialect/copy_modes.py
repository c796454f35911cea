"""``mode`` of a copy: how the global side is addressed, and what the verifier asks of each.

``tile`` is a box at one start. ``gather4`` (loads) and ``scatter4`` (stores) move four rows of a matrix: sizes
``[4, columns]``, five global offsets: the rows, then the column. ``im2col`` and its wide forms move pixels of a tensor
N(D)(H)WC: sizes ``[pixels, channels]``; the global offsets are the first pixel and channel in the tensor's order, then
a filter offset for each spatial dimension, in the same order (for ``im2col_w``: the halo, and the offset of W). The
dictionary ``im2col`` holds the corners of the bounding box, for each spatial dimension in the tensor's order
(``im2col_w``: of W only), and the traversal strides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..bindings import ir
from ..plan.enums import InstructionMode

_Mode = InstructionMode
GATHERS = (_Mode.GATHER4, _Mode.SCATTER4)
IM2COL = (_Mode.IM2COL, _Mode.IM2COL_W, _Mode.IM2COL_W_128)
PREFETCH_MODES = (_Mode.TILE, _Mode.GATHER4, _Mode.IM2COL)


def mode_of(op: ir.OpView) -> InstructionMode:
    """The mode of a copy or prefetch; ``TILE`` where none is given."""
    attributes = op.operation.attributes
    return InstructionMode(ir.StringAttr(attributes["mode"]).value) if "mode" in attributes else InstructionMode.TILE


def global_offset_count(mode: str, rank: int) -> int:
    """How many offsets the global side of ``rank`` dimensions takes."""
    if mode in GATHERS:
        return 5
    if mode == "im2col":
        return max(rank + rank - 2, rank)
    return rank + 2 if mode in IM2COL else rank


def size_count(mode: str, rank: int) -> int:
    """How many sizes a copy of a global side of ``rank`` dimensions has."""
    return rank if mode == "tile" else 2


@dataclass(frozen=True)
class Im2colBox:
    """The dictionary ``im2col`` of a copy, memref order; strides of one where none are given."""

    lower_corner: tuple[int, ...]
    upper_corner: tuple[int, ...]
    traversal_strides: tuple[int, ...]


def read_im2col(op: ir.OpView, rank: int) -> Im2colBox:
    """The bounding box of an im2col copy that ``tile-verify`` has seen."""
    fields = {named.name: named.attr for named in ir.DictAttr(op.operation.attributes["im2col"])}

    def numbers(name: str) -> tuple[int, ...]:
        return tuple(ir.IntegerAttr(each).value for each in ir.ArrayAttr(fields[name]))

    strides = numbers("traversal_strides") if "traversal_strides" in fields else (1,) * (rank - 2)
    return Im2colBox(numbers("lower_corner"), numbers("upper_corner"), strides)


def mode_problems(op: ir.OpView, mode: str, rank: int, sizes: Sequence[int], *, is_load: bool) -> Iterator[str]:
    """What is wrong with the mode of a well-formed operation on a global side of ``rank`` dimensions."""
    if (mode == "gather4" and not is_load) or (mode == "scatter4" and is_load):
        right = {"gather4": "scatter4", "scatter4": "gather4"}[mode]
        yield f'gathers into shared memory and scatters out of it; use mode = "{right}" in this direction'
    if mode in GATHERS and rank != 2:
        yield f"gathers rows of a matrix; the global side has {rank} dimensions. View it as two"
    if mode in GATHERS and len(sizes) == 2 and sizes[0] != 4:
        yield f'moves four rows with mode "{mode}"; sizes are {list(sizes)}. Write [4, columns], one copy for four rows'
    if mode in IM2COL and not 3 <= rank <= 5:
        yield f'walks tensors NWC, NHWC or NDHWC with mode "{mode}"; the global side has {rank} dimensions'
        return
    has_box = "im2col" in op.operation.attributes
    if mode in IM2COL and not has_box:
        yield "needs the bounding box: im2col = {lower_corner = [...], upper_corner = [...]}"
    elif has_box and mode not in IM2COL:
        yield f'has a bounding box \'im2col\', which mode "{mode}" does not use. Say mode = "im2col", or drop it'
    elif has_box:
        yield from _box_problems(op, mode, rank)
    if mode != "tile" and "cluster_split" in op.operation.attributes:
        yield f"cannot split a copy of mode \"{mode}\" among CTAs. Drop 'cluster_split'"


def im2col_problem(op: ir.OpView, name: str) -> str | None:
    """What is wrong with the form of the attribute ``im2col``."""
    attribute = op.operation.attributes[name]
    wanted = "must be a dictionary {lower_corner = [-1, -1], upper_corner = [-1, -1], traversal_strides = [1, 1]}"
    if not isinstance(attribute, ir.DictAttr):
        return wanted
    names = {named.name for named in attribute}
    if not {"lower_corner", "upper_corner"} <= names or names - {"lower_corner", "upper_corner", "traversal_strides"}:
        return wanted
    for named in attribute:
        if not isinstance(named.attr, ir.ArrayAttr) or not all(isinstance(each, ir.IntegerAttr) for each in named.attr):
            return wanted
    return None


def _box_problems(op: ir.OpView, mode: str, rank: int) -> Iterator[str]:
    box = read_im2col(op, rank)
    corners = rank - 2 if mode == "im2col" else 1
    for name, found, needed in (
        ("lower_corner", box.lower_corner, corners),
        ("upper_corner", box.upper_corner, corners),
        ("traversal_strides", box.traversal_strides, rank - 2),
    ):
        if len(found) != needed:
            what = "spatial dimension" if needed == rank - 2 else "dimension W alone"
            yield f"'im2col' needs {needed} entries in {name}, for each {what}; found {list(found)}"
