"""A copy as a set of modes: how far one step moves in global and in shared memory, and where the tensor ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..layout.algebra import LayoutError, UnevenSliceError, group_by_shape, refine, slice_modes
from ..layout.expr import Expr, bounds, constant, exact_div, known_divisor
from .copy_request import CopyRequest

Value = Expr | int


@dataclass(slots=True)
class Mode:
    """``extent`` steps of ``global_bytes`` / ``shared_bytes``.

    ``limit`` and ``start`` count the same steps from the tensor's own start: step ``i`` is outside where ``start + i``
    is not in ``0..limit``. ``low_safe``/``high_safe``: proven not to happen at that end.
    ``dimension`` is the logical dimension that the limit belongs to; ``is_step`` marks a mode that only moves the
    start along that dimension, because the tensor's end cannot be expressed in its own steps.
    """

    extent: int
    global_bytes: Value
    shared_bytes: int
    limit: Value
    start: Value
    low_safe: bool = True
    high_safe: bool = True
    dimension: int = -1
    is_step: bool = False

    @property
    def safe(self) -> bool:
        return self.low_safe and self.high_safe

    @property
    def is_whole(self) -> bool:
        """All steps the tensor has."""
        return self.start == 0 and self.limit == self.extent


@dataclass(slots=True)
class CopyModes:
    """One even piece of a copy. ``fixed`` are dimensions of extent 1 that start elsewhere than 0 or may be outside."""

    modes: list[Mode]
    """In the order of the region, innermost first."""
    merged: list[Mode]
    """By distance in shared memory, neighbours made one."""
    fixed: list[Mode]
    global_offset_bytes: Value
    shared_offset_bytes: Value


def even_parts(request: CopyRequest) -> list[tuple[CopyRequest, CopyModes]]:
    """The request cut into pieces whose regions do not cross tile boundaries of the layouts; usually itself.

    Raises ``LayoutError`` where the two layouts have no common pieces.
    """
    parts: list[tuple[CopyRequest, CopyModes]] = []
    pending = [request]
    while pending:
        part = pending.pop()
        try:
            modes = copy_modes(part)
        except _CutError as cut:
            if len(parts) + len(pending) > 256:
                raise LayoutError("the region crosses too many tile boundaries") from None
            pending += reversed(cut_request(part, cut.position, cut.offset))
        else:
            parts.append((part, modes))
    return parts


class _CutError(LayoutError):
    """The copy can be made in two parts, which only ``even_parts`` does."""

    def __init__(self, position: int, offset: int):
        super().__init__("the region crosses a tile boundary")
        self.position = position
        self.offset = offset


def cut_request(request: CopyRequest, position: int, offset: int) -> tuple[CopyRequest, CopyRequest]:
    """The request before and from ``offset`` elements on, in the ``position``-th non-unit dimension of both regions."""
    regions = (request.global_region, request.shared_region)
    heads, tails = [], []
    for region in regions:
        dim = [d for d, extent in enumerate(region.extents) if extent != 1][position]
        heads.append(replace(region, extents=_with(region.extents, dim, offset)))
        tail_starts = _with(region.starts, dim, region.starts[dim] + offset)
        tails.append(
            replace(region, starts=tail_starts, extents=_with(region.extents, dim, region.extents[dim] - offset))
        )
    return (
        replace(request, global_region=heads[0], shared_region=heads[1]),
        replace(request, global_region=tails[0], shared_region=tails[1]),
    )


def _with(values: tuple, index: int, value) -> tuple:
    return (*values[:index], value, *values[index + 1 :])


def copy_modes(request: CopyRequest) -> CopyModes:
    """The copy as modes; raises ``LayoutError`` where the two layouts have no common pieces."""
    size = request.dtype.bytes
    region, shared_region = request.global_region, request.shared_region
    global_dims = group_by_shape(request.global_layout, request.global_shape)
    shared_dims = group_by_shape(request.shared_layout, request.shared_shape)

    shared_modes: list[tuple[int, Value]] = []
    shared_offset = request.shared_layout.offset
    for dim in range(len(shared_dims) - 1, -1, -1):
        extent = shared_region.extents[dim]
        try:
            taken, offset = slice_modes(shared_dims[dim], shared_region.starts[dim], extent)
        except UnevenSliceError as uneven:
            raise _cut(request, shared_region.extents, dim, uneven.cut) from None
        shared_modes += taken
        shared_offset = shared_offset + offset

    global_modes: list[Mode] = []
    fixed: list[Mode] = []
    for dim in range(len(global_dims) - 1, -1, -1):
        start, extent = region.starts[dim], region.extents[dim]
        try:
            _global_dimension(request, dim, global_dims[dim], start, extent, global_modes, fixed)
        except UnevenSliceError as uneven:
            raise _cut(request, region.extents, dim, uneven.cut) from None

    pieces = refine([m.extent for m in global_modes], [e for e, _ in shared_modes])
    modes = _piece_modes(global_modes, shared_modes, pieces, size)
    for mode in fixed:
        mode.global_bytes = mode.global_bytes * size
    return CopyModes(modes, sorted_and_merged(modes), fixed, request.global_layout.offset * size, shared_offset * size)


def _cut(request: CopyRequest, extents: tuple[int, ...], dim: int, offset: int) -> Exception:
    left = [e for e in request.global_region.extents if e != 1]
    right = [e for e in request.shared_region.extents if e != 1]
    if left != right:
        return LayoutError("a region crosses a tile boundary and the two regions have different shapes")
    return _CutError(sum(e != 1 for e in extents[:dim]), offset)


def _global_dimension(
    request: CopyRequest,
    dim: int,
    dim_modes: list[tuple[Value, Value]],
    start: Value,
    extent: int,
    modes: list[Mode],
    fixed: list[Mode],
) -> None:
    tensor_extent = request.global_shape[dim]
    if request.in_bounds:
        low_safe = high_safe = True
    elif isinstance(start, int) and isinstance(tensor_extent, int):
        low_safe, high_safe = start >= 0, start + extent <= tensor_extent
    else:
        low, high = bounds(start)[0], bounds(tensor_extent - start)[0]
        low_safe, high_safe = low is not None and low >= 0, high is not None and high >= extent
    safe = low_safe and high_safe
    if len(dim_modes) <= 1:
        stride = dim_modes[0][1] if dim_modes else 0
        if extent != 1:
            modes.append(Mode(extent, stride, 0, tensor_extent, start, low_safe, high_safe, dim))
        elif not safe or start != 0:
            fixed.append(Mode(1, stride, 0, tensor_extent, start, low_safe, high_safe, dim))
        return
    block = 1
    for mode_extent, _ in dim_modes[:-1]:
        width = constant(mode_extent)
        if width is None:
            raise LayoutError("the global tensor's inner tile is symbolic")
        block *= width
    outer_stride = dim_modes[-1][1]
    if known_divisor(start) % block == 0 and extent % block == 0:
        inner = [Mode(e, s, 0, e, 0) for e, s in dim_modes[:-1] if isinstance(e, int)]
        outer_start, blocks = exact_div(start, block), extent // block
        modes += inner
    else:
        # Only known starts can be cut; inside one block the outer mode is fixed.
        taken, _ = slice_modes(dim_modes, start, extent)
        if not isinstance(start, int) and known_divisor(start) % block:
            raise LayoutError(f"start {start} is not known to be a multiple of the tensor's tile of {block} elements")
        inside = start % block if isinstance(start, int) else 0
        outer_start, blocks = (start // block if isinstance(start, int) else exact_div(start, block)), 1
        if len(taken) > 1:
            raise LayoutError("a part of a tile with more than one inner mode")
        inner_extent, inner_stride = dim_modes[0]
        if len(dim_modes) != 2:
            raise LayoutError("a part of a tile with more than one inner mode")
        target = modes if extent != 1 else fixed
        if extent != 1 or inside != 0:
            target.append(Mode(extent, inner_stride, 0, inner_extent, inside))
    limit = dim_modes[-1][0]
    if blocks != 1:
        modes.append(Mode(blocks, outer_stride, 0, limit, outer_start, low_safe, high_safe, dim))
    elif not safe or outer_start != 0:
        fixed.append(Mode(1, outer_stride, 0, limit, outer_start, low_safe, high_safe, dim))


def _piece_modes(
    global_modes: list[Mode], shared_modes: list[tuple[int, Value]], pieces: list[tuple[int, int, int]], size: int
) -> list[Mode]:
    shared_steps: list[int] = []
    for _, stride in shared_modes:
        step = constant(stride)
        if step is None:
            raise LayoutError(f"shared-memory stride {stride} is not known")
        shared_steps.append(step * size)
    by_global: list[list[tuple[int, int]]] = [[] for _ in global_modes]
    for extent, left, right in pieces:
        by_global[left].append((extent, shared_steps[right]))
        shared_steps[right] *= extent
    modes: list[Mode] = []
    for mode, parts in zip(global_modes, by_global, strict=True):
        mode.global_bytes = mode.global_bytes * size
        if mode.limit == 1 and mode.global_bytes == 0 and any(step == size for _, step in parts):
            # The tensor has one such element, and a second one is nowhere: it may as well be its neighbour.
            mode.global_bytes = size
        if len(parts) == 1:
            mode.shared_bytes = parts[0][1]
            modes.append(mode)
        else:
            modes += split_mode(mode, parts)
    return modes


def split_mode(mode: Mode, parts: list[tuple[int, int]]) -> list[Mode]:
    """One global mode as several, innermost first, because its parts lie apart in shared memory.

    The tensor's end stays exact: it moves to the outermost part if start and limit are multiples of the inner extents;
    else to the innermost part, over which the others are windows (only where nothing is outside) or mere steps.
    """
    inner = 1
    for extent, _ in parts[:-1]:
        inner *= extent
    aligned_start = known_divisor(mode.start) % inner == 0
    if aligned_start and (mode.safe or known_divisor(mode.limit) % inner == 0):
        result = [Mode(e, 0, s, e, 0) for e, s in parts]
        last = result[-1]
        last.start = exact_div(mode.start, inner)
        last.limit = outer_limit(mode.limit, inner, last)
        last.low_safe, last.high_safe, last.dimension = mode.low_safe, mode.high_safe, mode.dimension
    else:
        result = [Mode(e, 0, s, e, 0) for e, s in parts]
        first = result[0]
        first.start, first.limit = mode.start, mode.limit
        first.low_safe, first.high_safe, first.dimension = mode.low_safe, mode.high_safe, mode.dimension
        if not mode.safe:
            for step in result[1:]:
                step.is_step, step.dimension = True, mode.dimension
                step.low_safe, step.high_safe = mode.low_safe, mode.high_safe
    stride = mode.global_bytes
    for part in result:
        part.global_bytes = stride
        stride = stride * part.extent
    return result


def outer_limit(limit: Value, inner: int, outer: Mode) -> Value:
    """``limit / inner`` steps for the outer part of a split; rounded up where the end is never reached anyway."""
    if known_divisor(limit) % inner == 0:
        return exact_div(limit, inner)
    return -(-limit // inner) if isinstance(limit, int) else outer.start + outer.extent


def sorted_and_merged(modes: list[Mode]) -> list[Mode]:
    """The modes by shared-memory distance, those that continue each other in both memories made one.

    A merged mode keeps the tensor's end exact: the inner one is whole, or nothing of either is outside.
    """
    merged: list[Mode] = []
    for mode in sorted(modes, key=lambda m: m.shared_bytes):
        if merged and not mode.is_step and not merged[-1].is_step:
            inner = merged[-1]
            extent = inner.extent
            if mode.shared_bytes == inner.shared_bytes * extent and mode.global_bytes == inner.global_bytes * extent:
                whole = inner.is_whole and inner.safe
                if whole or (inner.safe and mode.safe):
                    limit = mode.limit * extent
                    start = mode.start * extent
                    if not whole:
                        limit, start = limit + inner.limit - extent, start + inner.start
                    merged[-1] = Mode(
                        extent * mode.extent, inner.global_bytes, inner.shared_bytes, limit, start,
                        mode.low_safe, mode.high_safe, mode.dimension,
                    )  # fmt: skip
                    continue
        merged.append(mode)
    return merged
