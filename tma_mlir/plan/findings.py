"""What a rule says about a copy: proven, disproven or unknown, with values and a remedy."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

USE_TENSOR_MAP = 'Use variant = "tma".'
"""The remedy of rules on other ways, for what only a tensor map does."""

WITHOUT = "Change that for a copy without a tensor map."
"""The same where a tensor map is refused as well."""


class Status(enum.Enum):
    PROVEN = "proven"
    DISPROVEN = "disproven"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """One rule's answer.

    ``rule`` is the name of the function in ``plan.rules`` with spaces for underscores; ``found`` and
    ``needed`` are short phrases with units; ``remedy`` the smallest change that makes the copy legal
    (empty when PROVEN).
    """

    rule: str
    status: Status
    found: str
    needed: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.found}; needed: {self.needed} (rule: {self.rule})"
        return f"{text}. {self.remedy}" if self.remedy else text


def joined(findings: Sequence[Finding]) -> str:
    """All of them as sentences, without a full stop of its own behind the last."""
    return " Also: ".join(
        [f"{str(each).rstrip('.')}." for each in findings[:-1]] + [str(each) for each in findings[-1:]]
    )
