"""The planner's encoding rules asked about numbers: everything the driver would refuse, said before it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..layout.expr import evaluate
from ..plan.copy_plan import Condition
from ..plan.findings import Status
from ..plan.rules import encode_conditions
from ..plan.tensor_map import TensorMap


def violations(tensor_map: TensorMap, address: int, chip: str = "sm_90a") -> list[str]:
    """Every rule that ``tensor_map`` (numbers only) at ``address`` breaks on ``chip``: value, need, remedy."""
    problems = []
    if address == 0:
        problems.append("address 0; needed: memory. Pass an array that has some")
    if 0 in tensor_map.dims:
        problems.append(f"dims {list(tensor_map.dims)} are empty. Skip the launch for empty arrays")
    conditions = encode_conditions(
        tensor_map.data_type,
        tensor_map.dims,
        tensor_map.strides_bytes,
        tensor_map.box,
        tensor_map.element_strides,
        tensor_map.swizzle,
        l2_promotion_index=tensor_map.l2_promotion,
        fill=tensor_map.oob_fill,
        address_bytes=address,
        chip=chip,
        im2col=tensor_map.im2col,
    )
    disproven = [condition.finding for condition in conditions if condition.finding.status is Status.DISPROVEN]
    return problems + [str(finding) for finding in disproven if finding.rule != "global dimension" or not problems]


def check_failures(checks: Sequence[Condition], symbols: Mapping[str, int]) -> list[str]:
    """The planner's conditions that do not hold for these arrays."""
    failures = []
    for check in checks:
        value = evaluate(check.value, symbols)
        wrong = value % check.divisor or (check.low is not None and value < check.low)
        if wrong or (check.high is not None and value > check.high):
            failures.append(f"{check.value} is {value} here. {check.finding}")
    return failures
