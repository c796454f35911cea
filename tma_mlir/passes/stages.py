"""The row of passes from ``tile.copy_async`` to a cubin, once: whoever runs part of it takes a slice from here."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from ..bindings.builds import has_nvptx
from ..chips import DEFAULT_CHIP, chip

OPT_LEVELS = (0, 1, 2, 3)
"""LLVM's; the NVVM target ends the process on others."""


class Stage(enum.Enum):
    """Parts of the row, in order."""

    PLAN = "plan"
    """Checks, plans, announcements and fences, in the dialect's own terms."""
    CONVERT = "convert"
    """Copies become nvgpu and nvvm operations, descriptors kernel parameters."""
    LOWER = "lower"
    """Kernels down to the LLVM and NVVM dialects."""
    PTX = "ptx"
    ASSEMBLE = "assemble"


def pipeline(stages: Iterable[Stage] = Stage, target: str = DEFAULT_CHIP, opt_level: int = 3) -> str:
    """The passes of ``stages`` as text, without an anchor around them. ``ValueError`` for an unknown chip or level."""
    row = _row(target, opt_level)
    return ",".join(each for stage in stages for each in row[stage])


def reference_pipeline() -> str:
    """The row down to the LLVM dialect with every copy executed by definition, which takes no plan and no fence."""
    row = _row(DEFAULT_CHIP, 3)
    limits, verify, *_ = row[Stage.PLAN]
    _, *rest = row[Stage.CONVERT]
    return ",".join((limits, verify, _MERGE, "tile-reference-copies", *rest, *row[Stage.LOWER]))


_MERGE = "tile-merge-expect-tx"


def _row(target: str, opt_level: int) -> dict[Stage, tuple[str, ...]]:
    if opt_level not in OPT_LEVELS:
        raise ValueError(f"opt_level {opt_level!r} is not one of {', '.join(map(str, OPT_LEVELS))}")
    known = chip(target)
    check = f"tile-check-kernels{{chip={known.name} require-kernel=true}}"
    plan = f"tile-plan-copies{{chip={known.name}}}"
    attach = f"nvvm-attach-target{{chip={known.name} features=+ptx{known.ptx} O={opt_level}}}"
    to_ptx = "gpu-module-to-binary{format=isa}"
    if not has_nvptx():
        to_ptx = f"tile-translate-to-ptx{{chip={known.name} opt-level={opt_level}}}"
    return {
        Stage.PLAN: ("tile-check-limits", "tile-verify", check, plan, _MERGE, "tile-insert-proxy-fences"),
        Stage.CONVERT: ("convert-tile-to-nvgpu", "tile-descriptor-args"),
        Stage.LOWER: ("tile-lower-kernels",),
        Stage.PTX: (attach, to_ptx),
        Stage.ASSEMBLE: (f"tile-assemble{{chip={known.name}}}",),
    }
