"""``#tile.plan`` and ``#tile.tensor_map``: the planner's values as attributes, both ways.

The form is that of ``tma_mlir.codec``: expressions are texts in the notation of ``tma_mlir.layout.expr``, and
``symbols`` says what is known of each.
"""

from __future__ import annotations

import hashlib
import json

from ..abi.signature import TensorMapArgument
from ..bindings import ir
from ..codec import Data, DataError, from_data, to_data
from ..plan.copy_plan import CopyPlan
from .attributes import dictionary_attr, dictionary_fields
from .data_attr import attribute_data, data_attribute

INSTRUCTIONS = "instructions"
DIGEST = "digest"
PLAN = "plan"
"""Name of the attribute of a copy or prefetch that holds its ``#tile.plan``."""


def plan_attribute(plan: CopyPlan, context: ir.Context) -> ir.Attribute:
    """``plan`` as a ``#tile.plan``. Findings are not kept; the number of instructions is there to be read, and a digest
    tells a plan that was changed by hand."""
    data = {**to_data(plan), INSTRUCTIONS: plan.instruction_count}
    return dictionary_attr("plan", data_attribute({**data, DIGEST: _digest(data)}, context), context)


def _digest(data: Data) -> str:
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=8).hexdigest()


def tensor_map_attribute(recipe: TensorMapArgument, context: ir.Context) -> ir.Attribute:
    """A descriptor as a ``#tile.tensor_map``: which user argument it is made on, and what the host must check."""
    return dictionary_attr("tensor_map", data_attribute(to_data(recipe), context), context)


def read_tensor_map(attribute: ir.Attribute) -> TensorMapArgument:
    """What ``tensor_map_attribute`` wrote; ``DataError`` for anything else."""
    return from_data(TensorMapArgument, attribute_data(dictionary_fields(attribute)))


_READ: dict[str, CopyPlan] = {}
"""Plans by the text of their attribute. Passes read what passes before them wrote, and modules repeat plans."""


def _remember(text: str, plan: CopyPlan) -> None:
    if len(_READ) >= 4096:
        _READ.clear()
    _READ[text] = plan


class PlanReader:
    """Reads ``#tile.plan`` attributes. For one pass: it keeps the attributes, and with them the context."""

    def __init__(self) -> None:
        self._plans: dict[ir.Attribute, CopyPlan] = {}

    def read(self, attribute: ir.Attribute) -> CopyPlan:
        """The plan in the attribute; ``DataError`` for one that is not well formed."""
        plan = self._plans.get(attribute)
        if plan is None:
            plan = self._plans[attribute] = _plan_of_text(attribute)
        return plan


def _plan_of_text(attribute: ir.Attribute) -> CopyPlan:
    text = str(attribute)
    plan = _READ.get(text)
    if plan is None:
        data = attribute_data(dictionary_fields(attribute))
        sealed = data.pop(DIGEST, None)
        plan = from_data(CopyPlan, data, ignored=frozenset((INSTRUCTIONS,)))
        # After the form, whose errors say more: what is in it is what tile-plan-copies wrote.
        if sealed != _digest(data):
            raise DataError(f"it was changed by hand: '{DIGEST}' is not that of its entries")
        _remember(text, plan)
    return plan


class PlanWriter:
    """``#tile.plan`` attributes of plans, each built once. For one pass, as ``PlanReader``."""

    def __init__(self) -> None:
        self._attributes: dict[CopyPlan, ir.Attribute] = {}

    def attribute(self, plan: CopyPlan, context: ir.Context) -> ir.Attribute:
        made = self._attributes.get(plan)
        if made is None:
            made = self._attributes[plan] = plan_attribute(plan, context)
            _remember(str(made), plan)
        return made
