"""Plan copies between global and shared memory: descriptors, rules, search. Imports no MLIR."""

from ..layout.swizzle import Swizzle
from .copy_plan import Alternative, BulkGroup, Condition, Coordinate, CopyPlan, IssueGroup
from .copy_request import CopyRequest, Direction, ExplicitDescriptor, Im2colWalk, Region
from .declined import PlanDeclined
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
    "Im2col",
    "Im2colWalk",
    "IssueGroup",
    "OobFill",
    "PlanDeclined",
    "Region",
    "Status",
    "Swizzle",
    "TensorMap",
    "described",
    "forget_plans",
    "plan_copy",
]
