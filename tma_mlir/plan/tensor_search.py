"""Tensor-map copies: choose dimensions, order, box, element type and issue loop for the fewest instructions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ..chips import shared_bytes
from ..hardware import MAX_BOX_EXTENT as BOX_LIMIT
from ..hardware import MAX_RANK
from ..layout.expr import Expr, known_divisor
from ..layout.swizzle import Swizzle
from . import rules
from .copy_plan import Condition, IssueGroup, Loop
from .copy_request import CopyRequest
from .cover import Chunks, chunks, factors
from .declined import PlanDeclined
from .descriptor_dims import Dim, box_dims, coordinate, place, step_ratio
from .enums import Direction
from .findings import Status
from .modes import CopyModes, Mode, split_mode
from .tensor_map import OobFill, TensorMap


@dataclass(slots=True)
class Piece:
    """The instructions for one even piece of the copy; ``tensor_map`` of a group indexes ``maps``."""

    maps: list[TensorMap] = field(default_factory=list)
    groups: list[IssueGroup] = field(default_factory=list)
    dims: list[list[Dim]] = field(default_factory=list)
    """Of every group."""
    element_bytes: int = 0
    conditions: list[Condition] = field(default_factory=list)
    """What the search itself took for granted."""

    def add(self, other: Piece) -> None:
        """Append another piece's instructions, sharing equal tensor maps."""
        for group, dims in zip(other.groups, other.dims, strict=True):
            tensor_map = other.maps[group.tensor_map]
            if tensor_map not in self.maps:
                self.maps.append(tensor_map)
            self.groups.append(replace(group, tensor_map=self.maps.index(tensor_map)))
            self.dims.append(dims)
        self.element_bytes = max(self.element_bytes, other.element_bytes)

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """Instructions, highest rank, tensor maps, element size: compared in this order, less is better."""
        count = sum(group.instruction_count for group in self.groups)
        return count, max(m.rank for m in self.maps), len(self.maps), self.element_bytes


def plan_piece(request: CopyRequest, copy: CopyModes, swizzle: Swizzle) -> Piece:
    """The cheapest tensor-map plan for one even piece. Raises ``PlanDeclined`` with the rules that forbid any."""
    size = request.dtype.bytes
    modes = list(copy.merged)
    conditions = _check_run(modes, size, swizzle)
    if request.shared_padding_is_scratch and request.direction is Direction.LOAD:
        _widen_run(modes, size)
    span = swizzle.span_bytes
    run_bytes = modes[0].extent * size
    if span and run_bytes > span:
        modes[:1] = _cut_run(modes[0], span // size)
        run_bytes = span
    chain_end, dense = 1, max(run_bytes, span)
    while chain_end < len(modes) and modes[chain_end].shared_bytes == dense and not modes[chain_end].is_step:
        dense *= modes[chain_end].extent
        chain_end += 1
    best: Piece | None = None
    refusal: PlanDeclined | None = None
    for element_bytes in element_sizes(request, modes[0]):
        try:
            piece = _build(request, copy, modes, chain_end, swizzle, element_bytes)
        except PlanDeclined as declined:
            refusal = refusal or declined
            continue
        if best is None or piece.cost < best.cost:
            best = piece
        if modes[0].extent * size // element_bytes <= BOX_LIMIT:
            break  # A wider element only helps a run that is too long for one box dimension.
    if best is None:
        assert refusal is not None
        raise refusal
    best.conditions += conditions
    return best


def _check_run(modes: list[Mode], size: int, swizzle: Swizzle) -> list[Condition]:
    """The contiguous run that dimension 0 moves. A stride that is not known to be 1 is asked of the host."""
    conditions: list[Condition] = []
    run_bytes = size
    if modes and modes[0].shared_bytes == size:
        run = modes[0]
        unit = rules.unit_stride(run.global_bytes, size)
        if unit.finding.status is Status.UNKNOWN:
            conditions.append(unit)
            modes[0] = replace(run, global_bytes=size)
        else:
            _demand(unit)
        run_bytes = run.extent * size
    _demand(rules.inner_box_bytes(run_bytes))
    if swizzle.span_bytes and run_bytes > swizzle.span_bytes and run_bytes % swizzle.span_bytes:
        _demand(rules.swizzle_inner_box(run_bytes, swizzle))
    return conditions


def _widen_run(modes: list[Mode], size: int) -> None:
    """Let the rows of a padded tile run on into the padding, so that they follow each other densely.

    What lands there is whatever follows the rows in the tensor, or fill.
    """
    if len(modes) < 2 or modes[0].extent * size >= modes[1].shared_bytes:
        return
    if modes[1].shared_bytes % 16 == 0:
        modes[0] = replace(modes[0], extent=modes[1].shared_bytes // size)


def _demand(condition: Condition) -> None:
    if condition.finding.status is not Status.PROVEN:
        raise PlanDeclined((condition.finding,))


def _cut_run(mode: Mode, inner: int) -> list[Mode]:
    stride = mode.shared_bytes
    return split_mode(mode, [(inner, stride), (mode.extent // inner, stride * inner)])


def element_sizes(request: CopyRequest, run: Mode) -> list[int]:
    """Element sizes that move the same bytes: a wider one must not change rounding, reduction, fill or the end."""
    size = request.dtype.bytes
    sizes = [size]
    if request.reduction is not None or request.dtype.driver == "TFLOAT32":
        return sizes
    if fill_of(request) is OobFill.NAN and not request.dtype.driver.startswith(("FLOAT", "BFLOAT")):
        return sizes
    smallest = 4 if fill_of(request) is OobFill.NAN else 2
    for wider in (2, 4, 8):
        if wider <= size or wider < smallest:
            continue
        if run.high_safe or known_divisor(run.limit) * size % wider == 0:
            sizes.append(wider)
    return sizes


def fill_of(request: CopyRequest) -> OobFill:
    """Stores do not fill; a descriptor for one is encoded with zero fill, which every type admits."""
    return request.oob_fill if request.direction is Direction.LOAD else OobFill.ZERO


def data_type(request: CopyRequest, element_bytes: int) -> str:
    """The descriptor's data type for elements of that size."""
    if element_bytes == request.dtype.bytes:
        return request.dtype.driver
    if fill_of(request) is OobFill.NAN:
        return {4: "FLOAT32", 8: "FLOAT64"}[element_bytes]
    return f"UINT{8 * element_bytes}"


def map_of_dims(
    request: CopyRequest, dims: list[Dim], element_bytes: int, swizzle: Swizzle, base_offset_bytes: Expr | int
) -> TensorMap:
    """The tensor map with these dimensions, in driver order."""
    return TensorMap(
        data_type(request, element_bytes),
        tuple(dim.limit for dim in dims),
        tuple(dim.step_bytes for dim in dims[1:]),
        tuple(dim.box for dim in dims),
        (1,) * len(dims),
        swizzle,
        request.l2_promotion,
        fill_of(request),
        base_offset_bytes,
    )


def _build(
    request: CopyRequest, copy: CopyModes, modes: list[Mode], chain_end: int, swizzle: Swizzle, element_bytes: int
) -> Piece:
    size = request.dtype.bytes
    scale = element_bytes // size
    extents = [m.extent for m in modes]
    extents[0] //= scale

    def reserved(last: int) -> int:
        """Dimensions that the rest needs if the box takes the modes up to ``last``."""
        others = (*modes[last + 1 :], *copy.fixed)
        return sum(_needs_own_dimension(other, modes[: last + 1]) for other in others)

    # The longest prefix of the chain that fits whole into the box.
    used, whole, dense = 0, 0, element_bytes
    chosen: list[tuple[int, ...]] = []
    while whole < chain_end:
        free = MAX_RANK - used - reserved(whole)
        found = factors(extents[whole], free, _multiple_of(whole, element_bytes), _divisor(modes[whole]))
        if found is None or dense * extents[whole] > shared_bytes(request.chip):
            break
        chosen.append(found)
        used += len(found)
        dense *= extents[whole]
        whole += 1

    if whole < chain_end:
        mode = modes[whole]
        free = MAX_RANK - used - reserved(whole)
        cut = None
        if free > 0:
            cut = chunks(
                extents[whole],
                1 if _divisor(mode) else free,
                _multiple_of(whole, element_bytes),
                0,
                128 // math.gcd(128, element_bytes if whole == 0 else mode.shared_bytes),
                shared_bytes(request.chip) // dense,
                request.direction is Direction.LOAD,
            )
        if cut is None and whole == 0:
            raise PlanDeclined((rules.rank(MAX_RANK + 1).finding,))
        if cut is not None:
            return _emit_chunks(request, copy, modes, swizzle, element_bytes, chosen, extents[whole], free, cut)
    return _emit(request, copy, modes, swizzle, element_bytes, chosen, None)


def _multiple_of(index: int, element_bytes: int) -> int:
    return 16 // element_bytes if index == 0 else 1


def _divisor(mode: Mode) -> int:
    """What inner factors of a split must divide so that the tensor's end stays exact; 0 where nothing is outside."""
    return 0 if mode.safe else math.gcd(known_divisor(mode.limit), known_divisor(mode.start)) or 0


def _needs_own_dimension(mode: Mode, box: list[Mode]) -> bool:
    """Whether a mode outside the box cannot just move the start of one of the box's dimensions."""
    if mode.is_step:
        return False
    return not (mode.safe and any(m.safe and step_ratio(mode.global_bytes, m.global_bytes) for m in box))


@dataclass(slots=True)
class Chunk:
    """Part of one mode: ``boxes`` (box dimensions) at ``position``, repeated ``count`` times every ``step``."""

    boxes: tuple[int, ...]
    position: int
    count: int
    step: int
    windowed: bool


def _emit_chunks(
    request: CopyRequest,
    copy: CopyModes,
    modes: list[Mode],
    swizzle: Swizzle,
    element_bytes: int,
    chosen: list[tuple[int, ...]],
    extent: int,
    free: int,
    cut: Chunks,
) -> Piece:
    """A mode that does not fit: regular boxes, perhaps one more that overlaps them, perhaps a shorter last one."""
    multiple = _multiple_of(len(chosen), element_bytes)
    dimensions = 1 if _divisor(modes[len(chosen)]) else free
    boxes = factors(cut.extent, dimensions, multiple, 0) or ()
    inner = math.prod(boxes[:-1])
    windowed = bool(cut.step % inner or (cut.extra_start or 0) % inner)
    parts = [Chunk(boxes, 0, cut.count, cut.step, windowed)]
    if cut.extra_start is not None:
        parts.append(Chunk(boxes, cut.extra_start, 1, 0, windowed))
    if cut.rest:
        rest = factors(cut.rest, dimensions, multiple, 0) or ()
        position = extent - cut.rest
        parts.append(Chunk(rest, position, 1, 0, bool(position % math.prod(rest[:-1]))))
    total = Piece()
    for part in parts:
        piece = _emit(request, copy, modes, swizzle, element_bytes, chosen, part)
        total.add(piece)
    return total


def _emit(
    request: CopyRequest,
    copy: CopyModes,
    modes: list[Mode],
    swizzle: Swizzle,
    element_bytes: int,
    chosen: list[tuple[int, ...]],
    chunk: Chunk | None,
) -> Piece:
    size = request.dtype.bytes
    dims: list[Dim] = []
    for index, boxes in enumerate(chosen):
        dims += box_dims(modes[index], boxes, element_bytes if index == 0 else 0, size, 0, False)
    looped = modes[len(chosen) :]
    loops: list[tuple[int, int, int, int]] = []  # extent, dimension, coordinate step, shared step
    shared_offset = copy.shared_offset_bytes
    if chunk is not None:
        mode = looped.pop(0)
        is_run = not chosen
        partial = box_dims(mode, chunk.boxes, element_bytes if is_run else 0, size, chunk.position, chunk.windowed)
        shared_step = element_bytes if is_run else mode.shared_bytes
        shared_offset = shared_offset + chunk.position * shared_step
        natural = len(partial) > 1 and partial[0].limit == partial[0].box and partial[0].start == 0
        if chunk.count > 1:
            inner = math.prod(chunk.boxes[:-1]) if natural else 1
            index = len(dims) + (len(partial) - 1 if natural else 0)
            if chunk.step % inner:
                raise PlanDeclined((rules.rank(MAX_RANK + 1).finding,))
            loops.append((chunk.count, index, chunk.step // inner, chunk.step * shared_step))
        dims += partial
    for mode in copy.fixed:
        place(mode, dims, element_bytes)
    for mode in looped:
        index, step = place(mode, dims, element_bytes)
        loops.append((mode.extent, index, step, mode.shared_bytes))
    if len(dims) > MAX_RANK:
        raise PlanDeclined((rules.rank(len(dims)).finding,))
    loops.reverse()
    group = IssueGroup(
        0,
        tuple(coordinate(dim) for dim in dims),
        shared_offset,
        tuple(
            Loop(extent, tuple(step if d == index else 0 for d in range(len(dims))), shared)
            for extent, index, step, shared in loops
        ),
    )
    tensor_map = map_of_dims(request, dims, element_bytes, swizzle, copy.global_offset_bytes)
    return Piece([tensor_map], [group], [dims], element_bytes)
