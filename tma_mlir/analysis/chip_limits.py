"""What a kernel asks of a chip that lacks it, said while the source line is known.

Nothing later says it as well: LLVM ends the process on an instruction it cannot select, and too much dynamic shared
memory fails at launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..abi.signature import CHIP
from ..bindings import ir
from ..chips import CHIPS, Chip, Feature, chips_with
from ..errors import TileError
from .dynamic_shared import SHARED_BYTES, dynamic_shared_bytes
from .ir_access import collect, enclosing
from .kernel_traps import static_shared
from .shared_tiles import MAX_ALIGNMENT

_NEEDS = {
    "nvvm.setmaxregister": Feature.SETMAXNREG,
    "nvgpu.warpgroup.generate.descriptor": Feature.WGMMA,
    "nvgpu.warpgroup.mma": Feature.WGMMA,
    "nvvm.wgmma.fence.aligned": Feature.WGMMA,
    "nvvm.wgmma.mma_async": Feature.WGMMA,
    "nvvm.wgmma.commit.group.sync.aligned": Feature.WGMMA,
    "nvvm.wgmma.wait.group.sync.aligned": Feature.WGMMA,
}
"""Operations that LLVM 22 ends the process on ("Cannot select") where the chip lacks their instruction."""
_REDUX = "nvvm.redux.sync"
"""Of integers on every chip, of f32 on some."""


def other_chip_errors(function: ir.Operation, chip: Chip) -> Iterator[TileError]:
    """A kernel whose copies were converted for another chip, which may have instructions that this one lacks."""
    if CHIP in function.attributes and isinstance(function.attributes[CHIP], ir.StringAttr):
        made_for = ir.StringAttr(function.attributes[CHIP]).value
        if made_for != chip.name:
            yield TileError(
                function.location,
                f"the copies of this kernel were converted for {made_for}, and it is compiled for {chip.name}. Convert "
                f"them for {chip.name}, or compile it for {made_for}",
            )


def missing_features(function: ir.Operation, chip: Chip) -> Iterator[TileError]:
    """The first operation of the kernel for each instruction that ``chip`` lacks."""
    seen: set[Feature] = set()
    for op in collect(function, (*_NEEDS, _REDUX)):
        if op.name == _REDUX and not isinstance(op.results[0].type, ir.F32Type):
            continue
        feature = _NEEDS.get(op.name, Feature.FLOAT_REDUX)
        if feature not in seen and not chip.has(feature):
            seen.add(feature)
            yield TileError(
                op.location,
                f"'{op.name}' op needs {feature.value}, which {chip.name} lacks. Target one of "
                f"{', '.join(chips_with(feature))}",
            )


def shared_memory_errors(function: ir.Operation, chip: Chip) -> Iterator[TileError]:
    """A kernel whose static and dynamic shared memory is more than a block can have on ``chip``."""
    dynamic = _dynamic(function)
    static = _packed_static(function) if dynamic else sum(static_shared(function).values())
    if static + dynamic <= chip.shared_bytes:
        return
    larger = [each.name for each in CHIPS.values() if each.shared_bytes >= static + dynamic]
    remedy = f"Use smaller or fewer tiles{', or target one of ' + ', '.join(larger) if larger else ''}"
    yield TileError(
        function.location,
        f"kernel needs {static + dynamic} bytes of shared memory, {static} static and {dynamic} dynamic; a block on "
        f"{chip.name} has at most {chip.shared_bytes}. {remedy}",
    )


def _packed_static(function: ir.Operation) -> int:
    """Static bytes of all kernels of the module, which ``tile-finish-kernels`` packs in front of the dynamic ones."""
    module = enclosing(function, "gpu.module")
    total = 0
    shared: dict[str, int] = {}
    for each in collect(module, ("gpu.func",)) if module is not None else [function]:
        for name, size in static_shared(each).items():
            if name.startswith("@"):
                shared[name] = size
            else:
                total += size
    return math.ceil((total + sum(shared.values())) / MAX_ALIGNMENT) * MAX_ALIGNMENT


def _dynamic(function: ir.Operation) -> int:
    """Bytes of dynamic shared memory; 0 where they are not known, which ``tile-descriptor-args`` refuses."""
    if SHARED_BYTES in function.attributes:
        attribute = function.attributes[SHARED_BYTES]
        return attribute.value if isinstance(attribute, ir.IntegerAttr) else 0
    return dynamic_shared_bytes(function) or 0
