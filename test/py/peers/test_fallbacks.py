"""What TMA cannot do still happens, in the simulator under several schedules; nothing is declined silently."""

from __future__ import annotations

import pytest

from support.by_definition import run_by_definition
from support.fallback_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_result_is_what_the_copy_means(name):
    text, given = CASES[name]
    run_by_definition(text, given, seeds=range(3))
