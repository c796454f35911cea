"""Grid, block and cluster sizes beyond what any NVIDIA GPU has, where LLVM aborts, or ends the process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..bindings import ir
from ..errors import TileError
from .index_facts import facts_of


@dataclass(frozen=True)
class Limit:
    """Of one kind of size (CUDA C++ programming guide, compute capabilities 9.0 to 12.1): of each axis, of all."""

    what: str
    axes: tuple[int, int, int]
    together: int | None = None

    @property
    def text(self) -> str:
        most = " x ".join(map(str, self.axes))
        return f"1 to {most}{f', {self.together} in all' if self.together else ''}"

    def allows(self, size: Sequence[int | None]) -> bool:
        """Whether a size, as far as it is known, is possible."""
        known = [each for each in size if each is not None]
        inside = all(each is None or 1 <= each <= most for each, most in zip(size, self.axes, strict=False))
        return inside and (self.together is None or math.prod(known) <= self.together)


GRID = Limit("grid", (2**31 - 1, 65535, 65535))
BLOCK = Limit("block", (1024, 1024, 64), 1024)
CLUSTER = Limit("cluster", (16, 16, 16), 16)
"""16 where the kernel allows non-portable sizes, else 8."""

_TRIPLES = {
    "known_grid_size": GRID,
    "known_block_size": BLOCK,
    "known_cluster_size": CLUSTER,
    "gpu.known_grid_size": GRID,
    "gpu.known_block_size": BLOCK,
    "gpu.known_cluster_size": CLUSTER,
    "nvvm.maxntid": BLOCK,
    "nvvm.reqntid": BLOCK,
    "nvvm.cluster_dim": CLUSTER,
}
_NUMBERS = {"nvvm.minctasm": (1, 32), "nvvm.maxnreg": (1, 255), "nvvm.cluster_max_blocks": (1, 16)}
"""``.minnctapersm`` (32 blocks fit a multiprocessor), ``.maxnreg``, ``.maxclusterrank`` (PTX ISA)."""

FUNCTIONS = ("gpu.func", "llvm.func")
LAUNCHES = ("gpu.launch_func", "gpu.launch")


def function_size_errors(function: ir.Operation) -> Iterator[TileError]:
    """Sizes that a function's attributes promise and that no launch can have."""
    attributes = function.attributes
    for name, limit in _TRIPLES.items():
        if name not in attributes or not isinstance(attributes[name], ir.DenseI32ArrayAttr):
            continue
        size = list(ir.DenseI32ArrayAttr(attributes[name]))
        if not limit.allows(size):
            yield _error(function, f"{name} = {' x '.join(map(str, size))}", limit)
    for name, (low, high) in _NUMBERS.items():
        if name in attributes and isinstance(attributes[name], ir.IntegerAttr):
            value = ir.IntegerAttr(attributes[name]).value
            if not low <= value <= high:
                message = f"'{function.name}' op has {name} = {value}; needed: {low} to {high}. Correct it, or leave it"
                yield TileError(function.location, f"{message} away")


def launch_size_errors(launch: ir.Operation) -> Iterator[TileError]:
    """Constant sizes of a launch that no GPU takes."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    operands, position = list(launch.operands), segments[0]
    for limit, first in ((GRID, 1), (BLOCK, 4), (CLUSTER, 7)):
        count = sum(segments[first : first + 3])
        size = [facts_of(each).constant for each in operands[position : position + count]]
        position += count
        if not limit.allows(size):
            shown = " x ".join("?" if each is None else str(each) for each in size)
            yield _error(launch, f"a {limit.what} of {shown}", limit)


def _error(op: ir.Operation, found: str, limit: Limit) -> TileError:
    return TileError(
        op.location, f"'{op.name}' op has {found}; needed: {limit.text}. Launch a {limit.what} of another size"
    )
