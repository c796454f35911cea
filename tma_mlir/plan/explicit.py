"""``tma_explicit``: the user's own descriptor and one instruction, checked and never repaired."""

from __future__ import annotations

from ..layout.algebra import LayoutError, group_by_shape
from ..layout.expr import bounds
from ..layout.swizzle import Swizzle, swizzle_mode
from . import rules
from .copy_plan import Condition, IssueGroup
from .copy_request import CopyRequest, ExplicitDescriptor, Tile
from .declined import PlanDeclined
from .descriptor_dims import Dim, coordinate
from .findings import Status
from .modes import CopyModes, Mode, Value, copy_modes, sorted_and_merged
from .tensor_search import Piece, map_of_dims


def described(
    request: CopyRequest,
    box: tuple[int, ...],
    order: tuple[int, ...] | None = None,
    dims: tuple[Value, ...] | None = None,
    swizzle: Swizzle = Swizzle.NONE,
) -> ExplicitDescriptor:
    """A descriptor of the request's own global tensor.

    ``order`` lists the tensor's dimensions from the outermost of the descriptor to the innermost (default: as they
    are); ``box`` and ``dims`` (default: the tensor's extents) are in that order. ``LayoutError`` for a tensor whose
    dimensions are tiled.
    """
    order = order if order is not None else tuple(range(len(request.global_shape)))
    grouped = group_by_shape(request.global_layout, request.global_shape)
    if any(len(modes) > 1 for modes in grouped):
        raise LayoutError("a tiled global tensor has no descriptor of its own dimensions")
    strides = [modes[0][1] if modes else 0 for modes in grouped]
    return ExplicitDescriptor(
        tuple(request.global_shape[d] for d in order) if dims is None else dims,
        tuple(strides[d] for d in order),
        box,
        tuple(request.global_region.starts[d] for d in order),
        swizzle,
        request.global_layout.offset,
    )


def plan_explicit(request: CopyRequest) -> tuple[Piece, list[Condition]]:
    """The one instruction asked for, and the rules on top of the usual ones. Raises ``PlanDeclined``."""
    wanted = request.kind.explicit if isinstance(request.kind, Tile) else None
    if wanted is None:
        raise PlanDeclined((rules.descriptor_given(False).finding,))
    size = request.dtype.bytes
    counts = (len(wanted.box), len(wanted.dims), len(wanted.strides), len(wanted.starts))
    conditions = [rules.descriptor_given(True), rules.equal_ranks(counts)]
    if conditions[-1].finding.status is Status.PROVEN:
        conditions.append(rules.unit_stride(wanted.strides[-1] * size, size))
    _stop_at_broken(conditions)
    try:
        copy = copy_modes(request)
    except LayoutError as error:
        raise PlanDeclined((rules.common_pieces(str(error)).finding,)) from None
    dims = _dims(wanted, size)
    conditions += [
        rules.same_movement(_moved(dims, wanted.swizzle, size), _asked(copy)),
        rules.same_start(_start_bytes(dims, wanted.offset * size) - _asked_start(copy)),
        rules.same_swizzle(wanted.swizzle, swizzle_mode(request.shared_swizzle)),
        rules.same_end(_ends_exactly(copy.modes, copy, dims) or _ends_exactly(copy.merged, copy, dims)),
    ]
    _stop_at_broken(conditions)
    for mode in (*copy.modes, *copy.merged, *copy.fixed):
        for dim in dims:
            if _is_end_of(dim, mode):
                dim.low_safe, dim.high_safe = mode.low_safe, mode.high_safe
    tensor_map = map_of_dims(request, dims, size, wanted.swizzle, wanted.offset * size)
    group = IssueGroup(0, tuple(coordinate(dim) for dim in dims), copy.shared_offset_bytes)
    return Piece([tensor_map], [group], [dims], size), conditions


def _stop_at_broken(conditions: list[Condition]) -> None:
    broken = tuple(c.finding for c in conditions if c.finding.status is Status.DISPROVEN)
    if broken:
        raise PlanDeclined(broken)


def _dims(wanted: ExplicitDescriptor, size: int) -> list[Dim]:
    return [
        Dim(
            wanted.box[d], size if d == len(wanted.box) - 1 else wanted.strides[d] * size, wanted.dims[d],
            wanted.starts[d], 1, True, True, -1,
        )
        for d in range(len(wanted.box) - 1, -1, -1)
    ]  # fmt: skip


def _moved(dims: list[Dim], swizzle: Swizzle, size: int) -> tuple[tuple, ...]:
    """What the box moves: (extent, global step, shared step) of its modes in bytes, canonical."""
    modes: list[Mode] = []
    distance = size
    for index, dim in enumerate(dims):
        modes.append(Mode(dim.box, dim.step_bytes, distance, dim.box, 0))
        distance *= dim.box
        if index == 0:
            distance = max(distance, swizzle.span_bytes)
    return _canonical([mode for mode in modes if mode.extent > 1])


def _asked(copy: CopyModes) -> tuple[tuple, ...]:
    return _canonical([Mode(m.extent, m.global_bytes, m.shared_bytes, m.extent, 0) for m in copy.modes])


def _canonical(modes: list[Mode]) -> tuple[tuple, ...]:
    return tuple((m.extent, m.global_bytes, m.shared_bytes) for m in sorted_and_merged(modes))


def _start_bytes(dims: list[Dim], offset: Value) -> Value:
    for dim in dims:
        offset = offset + dim.start * dim.step_bytes
    return offset


def _asked_start(copy: CopyModes) -> Value:
    offset = copy.global_offset_bytes
    for mode in (*copy.modes, *copy.fixed):
        offset = offset + mode.start * mode.global_bytes
    return offset


def _is_end_of(dim: Dim, mode: Mode) -> bool:
    return dim.step_bytes == mode.global_bytes and dim.limit == mode.limit and dim.start == mode.start


def _ends_exactly(modes: list[Mode], copy: CopyModes, dims: list[Dim]) -> bool:
    """Every dimension of the descriptor ends where a dimension of the tensor does, or is not left by the box; and
    where the region may leave the tensor, the descriptor's dimension is that one.

    ``modes`` are the copy's own or its merged ones: either way the ends are the tensor's.
    """
    ends = (*modes, *copy.fixed)
    unsafe = [mode for mode in ends if not mode.safe]
    if any(mode.is_step or not any(_is_end_of(dim, mode) for dim in dims) for mode in unsafe):
        return False
    for dim in dims:
        low, high = bounds(dim.start)[0], bounds(dim.limit - dim.start)[0]
        inside = low is not None and low >= 0 and high is not None and high >= dim.box
        if not inside and not any(_is_end_of(dim, mode) for mode in ends):
            return False
    return True
