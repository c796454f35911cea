"""The planner's refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .copy_plan import Alternative
from .findings import Finding, joined

if TYPE_CHECKING:
    from .rules.answers import Rule


class PlanDeclined(Exception):
    """No legal plan. ``findings`` are the rules that forbid it; ``alternatives`` the other ways and why not those."""

    def __init__(self, findings: tuple[Finding, ...], alternatives: tuple[Alternative, ...] = ()):
        super().__init__()
        self.findings = findings
        self.alternatives = alternatives

    def only_by(self, *rules: Rule[Any]) -> bool:
        """Whether no other rules than these forbid it."""
        return {finding.rule for finding in self.findings} <= {rule.rule_name for rule in rules}

    def __str__(self) -> str:
        return joined(self.findings) or "no legal plan"
