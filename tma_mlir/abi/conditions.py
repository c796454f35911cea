"""The planner's encoding rules asked about numbers: everything the driver would refuse, said before it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..chips import DEFAULT_CHIP
from ..layout.expr import evaluate
from ..plan.copy_plan import Condition
from ..plan.findings import Finding, Status
from ..plan.rules import encode_conditions, global_dimension
from ..plan.tensor_map import L2Promotion, OobFill, TensorMap


def violations(tensor_map: TensorMap, address: int, chip: str = DEFAULT_CHIP) -> list[str]:
    """Every rule that ``tensor_map`` (numbers only) at ``address`` breaks on ``chip``: value, need, remedy."""
    problems = []
    if address == 0:
        problems.append("address 0; needed: memory. Pass an array that has some")
    if 0 in tensor_map.dims:
        problems.append(f"dims {list(tensor_map.dims)} are empty. Skip the launch for empty arrays")
    found = _disproven(tensor_map, address, chip)
    # The rules on the box as a whole are asked only where nothing else is wrong: so for legal memory as well.
    rank = tensor_map.rank
    legal = replace(tensor_map, strides_bytes=(16,) * (rank - 1), l2_promotion=L2Promotion.NONE, oob_fill=OobFill.ZERO)
    if tensor_map.im2col is None:
        legal = replace(legal, dims=(1,) * rank)
    found += [finding for finding in _disproven(legal, 16, chip) if finding not in found]
    return problems + [str(finding) for finding in found if finding.rule != global_dimension.rule_name or not problems]


def _disproven(tensor_map: TensorMap, address: int, chip: str) -> list[Finding]:
    conditions = encode_conditions(tensor_map, address_bytes=address, chip=chip)
    return [condition.finding for condition in conditions if condition.finding.status is Status.DISPROVEN]


def check_failures(checks: Sequence[Condition], symbols: Mapping[str, int]) -> list[str]:
    """The planner's conditions that do not hold for these arrays."""
    failures = []
    for check in checks:
        value = evaluate(check.value, symbols)
        wrong = value % check.divisor or (check.low is not None and value < check.low)
        if wrong or (check.high is not None and value > check.high):
            failures.append(f"{check.value} is {value} here. {check.finding}")
    return failures
