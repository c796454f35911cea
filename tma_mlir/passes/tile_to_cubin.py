"""``tile-to-cubin``: the whole row from ``tile.copy_async`` to a cubin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..chips import chip
from .chip_option import chip_option
from .registry import Option, Pipeline


def build(options: Mapping[str, Any]) -> str:
    target = chip(options["chip"])
    level = options["opt-level"]
    return (
        f"tile-verify,tile-check-kernels{{chip={target.name}}},tile-plan-copies{{chip={target.name}}},tile-merge-expect-tx,"
        "tile-insert-proxy-fences,convert-tile-to-nvgpu,tile-descriptor-args,"
        f"tile-lower-kernels,nvvm-attach-target{{chip={target.name} features=+ptx{target.ptx} O={level}}},"
        f"gpu-module-to-binary{{format=isa}},tile-assemble{{chip={target.name}}}"
    )


PIPELINE = Pipeline(
    "tile-to-cubin",
    "Plan, lower and assemble every kernel.",
    build,
    options=(
        chip_option("compile"),
        Option("opt-level", int, 3, "LLVM optimisation level", (0, 1, 2, 3)),
    ),
    anchor="builtin.module",
)
