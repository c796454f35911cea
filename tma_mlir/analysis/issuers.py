"""Which threads execute a copy, as far as the IR shows."""

from __future__ import annotations

import math

from ..bindings import ir
from .ir_access import enclosing, known_block_size

_BRANCHES = ("scf.if", "scf.index_switch", "scf.while", "gpu.warp_execute_on_lane_0", "affine.if")


def threads_that_all_arrive(op: ir.Operation) -> int | None:
    """How many threads execute ``op`` when nothing in the IR can keep one of them away; None when something can.

    Needs a kernel of known block size that is one straight line of structured control flow.
    """
    function = enclosing(op, "gpu.func")
    size = None if function is None else known_block_size(function)
    if function is None or size is None or len(function.regions[0].blocks) != 1:
        return None
    branch = enclosing(op, *_BRANCHES, "gpu.func")
    if branch is None or branch.name != "gpu.func":
        return None
    loop = enclosing(op, "scf.for", "scf.parallel", "scf.forall", "affine.for", "gpu.func")
    if loop is not None and loop.name != "gpu.func":
        # A loop whose bounds depend on the thread runs for some of them only.
        return None
    return math.prod(size)
