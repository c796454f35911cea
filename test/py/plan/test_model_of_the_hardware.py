"""The model that plans are checked with, against what an H200 did: the CRC of memory after each copy was captured.

A sample; ``tools/check_plan_model.py`` replays whole captures.
"""

import gzip
import json
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
sys.path.append(str(TOP / "tools"))

from check_plan_model import CHANGING, replay  # noqa: E402


def rows(name):
    with gzip.open(TOP / "test" / "data" / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


ROWS = rows("h200_tma_load_sample") + rows("h200_tma_store_sample")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['kind']} {row.get('id', '')}")
def test_memory_is_as_it_was_captured(row):
    if row["kind"] == "load" and row["dtype"] in CHANGING:
        pytest.skip("a load of this type rounds")
    assert replay(row) == row["crc32"]
