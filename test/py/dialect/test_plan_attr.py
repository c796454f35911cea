"""Plans survive the trip through attributes."""

import pytest
from mlir import ir

from tma_mlir.dialect import make_context
from tma_mlir.dialect.plan_attr import parameter_text, plan_text, read_parameter, read_plan
from tma_mlir.layout.expr import Expr, Symbol, exact_div
from tma_mlir.plan import BulkGroup, Condition, Coordinate, CopyPlan, Finding, IssueGroup, Status, Swizzle, TensorMap
from tma_mlir.plan.tensor_map import OobFill

ROW = Expr.of(Symbol("source_offset0", divisor=8))
PITCH = Expr.of(Symbol("global.stride0"))
FINDING = Finding("global stride alignment", Status.UNKNOWN, "2*global.stride0", "a multiple of 16 B", "Pad the pitch.")

PLANS = [
    CopyPlan("empty"),
    CopyPlan(
        "tma",
        (TensorMap("FLOAT16", (64, 8, 4), (512, 128), (64, 8, 4), (1, 1, 1), Swizzle.B128),),
        (IssueGroup(0, (Coordinate(0),) * 3),),
        transaction_bytes=4096,
        shared_alignment_bytes=1024,
    ),
    CopyPlan(
        "tma",
        (
            TensorMap(
                "FLOAT32", (100, 40), (PITCH * 2,), (32, 16), (1, 2), Swizzle.NONE, 3, OobFill.NAN,  # type: ignore[arg-type]
                base_offset_bytes=64,
            ),
        ),
        (IssueGroup(0, (Coordinate(exact_div(ROW, 8)), Coordinate(5)), 128, (4, 2), ((1, 0), (0, 16)), (2048, 64)),),
        host_checks=(Condition(PITCH * 2, FINDING, 16, 0, 1 << 40),),  # type: ignore[arg-type]
    ),
    CopyPlan("bulk", bulk_groups=(BulkGroup(65536, ROW * 2, 0, (2,), (65536,), (65536,)),), transaction_bytes=131072),
]  # fmt: skip


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.variant)
def test_plan_round_trips(plan):
    with make_context():
        text = plan_text(plan)
        again = read_plan(ir.Attribute.parse(text))
        assert plan_text(again) == text
    assert again.tensor_maps == plan.tensor_maps or plan.host_checks  # symbols keep their divisor, not their bounds
    assert again.instruction_count == plan.instruction_count


def test_parameter_carries_the_argument_and_what_the_host_must_check():
    plan = PLANS[2]
    with make_context():
        text = parameter_text(3, plan.tensor_maps[0], plan.host_checks)
        argument, map_, checks = read_parameter(ir.Attribute.parse(text))
    assert argument == 3
    assert map_.strides_bytes == plan.tensor_maps[0].strides_bytes
    assert (checks[0].divisor, checks[0].low, checks[0].high) == (16, 0, 1 << 40)
    assert checks[0].finding.rule == "global stride alignment"
