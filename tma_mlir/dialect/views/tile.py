"""All classes of the tile dialect: they register themselves when they are imported, which is when MLIR meets the first
operation of the dialect. A program without one need not wait for the planner."""

from .. import completion_ops, rebase_op, tile  # noqa: F401
