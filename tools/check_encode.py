"""Compare the encoding rules with the verdicts of a real driver: ``check_encode.py h200_encode_tiled.jsonl.gz``."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checkout import existing_file

from tma_mlir.layout.swizzle import Swizzle
from tma_mlir.plan import rules
from tma_mlir.plan.copy_plan import Condition
from tma_mlir.plan.findings import Status
from tma_mlir.plan.tensor_map import TensorMap

SWIZZLES: dict[Any, Any] = {mode.label.lower(): mode for mode in Swizzle}


def conditions(row: dict) -> list[Condition]:
    """All encoding rules on one captured call."""
    rank = row["rank"]
    swizzle = row["swizzle"]
    tensor_map = TensorMap(
        str(row["dtype"]).upper(),
        tuple(row["global_dim"][:rank]),
        tuple(row["global_stride"][: max(rank - 1, 0)]),
        tuple(row["box"][:rank]),
        tuple(row["element_stride"][:rank]),
        SWIZZLES.get(swizzle, swizzle),
        row["l2_promotion"],
        row["oob_fill"],
    )
    found = rules.encode_conditions(tensor_map, address_bytes=row["base_offset"], known_alignment=512)
    return [rules.interleave(row["interleave"]), *found]


def read_rows(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt") as lines:
        yield from (json.loads(line) for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=existing_file, help="captured calls, one JSON object a line, gzip")
    parser.add_argument("--show", type=int, default=10, help="how many disagreements to print")
    options = parser.parse_args()

    agree = total = interleaved = unexplained = 0
    for number, row in enumerate(read_rows(options.data), 1):
        broken = [c.finding for c in conditions(row) if c.finding.status is not Status.PROVEN]
        if row["interleave"] != "none":
            interleaved += 1
            unexplained += not any(finding.rule == "interleave" for finding in broken)
            continue
        total += 1
        if (not broken) == row["accepted"]:
            agree += 1
        elif total - agree <= options.show:
            verdict = "accepted" if row["accepted"] else "refused"
            print(f"row {number}: driver {verdict}; rules: {'; '.join(map(str, broken)) or 'all hold'}\n  {row}")
    print(f"{interleaved} interleaved rows refused with their own message, {unexplained} without")
    print(f"agree {agree} of {total}")
    return 0 if agree == total and not unexplained else 1


if __name__ == "__main__":
    sys.exit(main())
