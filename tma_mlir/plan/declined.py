"""The planner's refusal."""

from __future__ import annotations

from .copy_plan import Alternative
from .findings import Finding


class PlanDeclined(Exception):
    """No legal plan. ``findings`` are the rules that forbid it; ``alternatives`` the other ways and why not those."""

    def __init__(self, findings: tuple[Finding, ...], alternatives: tuple[Alternative, ...] = ()):
        super().__init__()
        self.findings = findings
        self.alternatives = alternatives

    def __str__(self) -> str:
        return "; ".join(map(str, self.findings)) or "no legal plan"
