"""Plan copies between global and shared memory: descriptors, rules, search. Imports no MLIR."""

from ..layout.swizzle import Swizzle
from .copy_plan import Alternative, BulkGroup, Condition, Coordinate, CopyPlan, IssueGroup, Loop, ThreadPlan
from .copy_request import CopyRequest, ExplicitDescriptor, Gather, Im2colWalk, Region, Tile
from .declined import PlanDeclined
from .enums import Direction, InstructionMode, Scope, Variant
from .explicit import described
from .findings import Finding, Status
from .planner import forget_plans, plan_copy
from .tensor_map import Im2col, OobFill, TensorMap

__all__ = [
    "Alternative",
    "BulkGroup",
    "Condition",
    "Coordinate",
    "CopyPlan",
    "CopyRequest",
    "Direction",
    "ExplicitDescriptor",
    "Finding",
    "Gather",
    "Im2col",
    "Im2colWalk",
    "InstructionMode",
    "IssueGroup",
    "Loop",
    "OobFill",
    "PlanDeclined",
    "Region",
    "Scope",
    "Status",
    "Swizzle",
    "TensorMap",
    "ThreadPlan",
    "Tile",
    "Variant",
    "described",
    "forget_plans",
    "plan_copy",
]
