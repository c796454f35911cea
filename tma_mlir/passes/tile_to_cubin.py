"""``tile-to-cubin``: the whole row from ``tile.copy_async`` to a cubin."""

from __future__ import annotations

from .chip_option import chip_option
from .registry import Option, Pipeline
from .stages import OPT_LEVELS, pipeline

PIPELINE = Pipeline(
    "tile-to-cubin",
    "Plan, lower and assemble every kernel.",
    lambda options: pipeline(target=options["chip"], opt_level=options["opt-level"]),
    options=(
        chip_option("compile"),
        Option("opt-level", int, 3, "LLVM optimisation level", OPT_LEVELS),
    ),
    anchor="builtin.module",
)
