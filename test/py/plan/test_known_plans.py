"""Plans that are known: what changes one of them is seen, and has to be argued.

test/data/known_plans.txt has the plan of each copy of the corpus's sample and of test_remedies.py, as it is explained,
and a digest of all of it. Each was checked by enumeration (plan/check.py) when it was written, and is again here.
Write the file anew with ``python test/py/plan/test_known_plans.py``, and read what ``git diff`` says of it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
if __name__ == "__main__":
    sys.path[:0] = [str(TOP), str(TOP / "test" / "py")]
sys.path.append(str(TOP / "tools"))
sys.path.append(str(Path(__file__).parent))

from plan_corpus import OutOfScopeError, read_copy  # noqa: E402
from test_remedies import REMEDIES  # noqa: E402

from tma_mlir.plan import CopyRequest, PlanDeclined, plan_copy  # noqa: E402
from tma_mlir.plan.explain import plan_data  # noqa: E402

FILE = TOP / "test" / "data" / "known_plans.txt"
SYMBOLS = dict.fromkeys(("x", "n", "off", "K", "inner_stride"), 32)
"""A multiple of all that is promised of them."""
CORPUS = TOP / "test" / "data" / "plan_corpus_sample.json"


def requests() -> dict[str, CopyRequest]:
    found = {}
    data = json.loads(CORPUS.read_text())
    for row in (row for section in ("cases", "sweep", "probes") for row in data[section]):
        try:
            found[f"corpus {row['id']}"] = read_copy(row["inputs"]).request
        except OutOfScopeError:
            continue
    for rule, (_, broken, fixed) in REMEDIES.items():
        for what, request in (("broken", broken), ("fixed", fixed)):
            if isinstance(request, CopyRequest):
                found[f"{rule} {what}"] = request
    return found


def answer(request: CopyRequest) -> str:
    try:
        plan = plan_copy(request)
    except PlanDeclined as declined:
        return f"declined: {declined}"
    digest = hashlib.sha256(json.dumps(plan_data(plan), sort_keys=True).encode()).hexdigest()[:16]
    return f"{plan.explain().rstrip()}\n  digest {digest}"


def known() -> dict[str, str]:
    return dict(part.split("\n", 1) for part in FILE.read_text().rstrip("\n").split("\n\n"))


REQUESTS = requests()


def test_all_are_known():
    assert known().keys() == REQUESTS.keys()


@pytest.mark.parametrize("name", REQUESTS)
def test_the_plan_is_as_it_was(name):
    assert answer(REQUESTS[name]) == known()[name]


@pytest.mark.parametrize("name", REQUESTS)
def test_the_plan_moves_what_is_asked_for(name):
    request = REQUESTS[name]
    if request.dtype.bits % 8 or getattr(request.kind, "wide", None):
        pytest.skip("packed elements and the wide modes have no model to check with: nobody has measured them")
    try:
        plan = plan_copy(request)
    except PlanDeclined:
        return
    inside = {"x": 16} if name == "store_inside fixed" else {}  # 32 columns from 32 on are not in 50
    assert plan.check({**SYMBOLS, **inside}) == []


if __name__ == "__main__":
    FILE.write_text("\n\n".join(f"{name}\n{answer(request)}" for name, request in REQUESTS.items()) + "\n")
