"""Write instructions the planner chooses as probes for ``probe_tensor_maps.py``: ``write_plan_probes.py OUT.jsonl.gz``.

The rows have the format of the H200 captures (``h200_tma_load.jsonl.gz``) plus ``shared_offset``; ``crc32`` is what the
model of ``tma_mlir.plan.check`` expects. They hold what the captures do not: strides that overlap or are zero.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import checkout  # noqa: F401  (makes the package importable)
import numpy as np
from check_optimal import random_copy
from check_plan_model import random_bytes

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Swizzle, address_swizzle, atom_layout, evaluate, row_major
from tma_mlir.plan import CopyPlan, CopyRequest, Direction, PlanDeclined, Region, TensorMap, Variant, plan_copy
from tma_mlir.plan.check import FILL, box_pairs


def requests(count: int, seed: int) -> Iterator[CopyRequest]:
    """Random tiles, then tiles in atoms that start in the middle of an atom's row, so that windows overlap."""
    random_ = random.Random(seed)
    for _ in range(count):
        request = random_copy(random_)
        yield replace(request, direction=Direction.STORE) if random_.random() < 0.3 else request
    for name, mode in itertools.product(("f16", "f32", "i8"), (Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128)):
        size = dtype(name).bytes
        tile = (64, 4 * max(mode.span_bytes, 16) // size)
        tensor = (80, 2 * tile[1])
        for start, direction in itertools.product(range(4), Direction):
            region = Region((3, start * 16 // size), tile)
            yield CopyRequest(
                dtype(name), direction, tensor, row_major(tensor), region, tile, atom_layout(tile, size, mode),
                Region((0, 0), tile), address_swizzle(mode), variant=Variant.TMA,
            )  # fmt: skip


def rows(request: CopyRequest, plan: CopyPlan, seed: int) -> Iterator[dict]:
    """The first and the last instruction of every group."""
    for group in plan.groups:
        every = list(itertools.product(*(range(loop.extent) for loop in group.loops)))
        for index in dict.fromkeys((every[0], every[-1])):
            start = [evaluate(c.numerator, {}) // c.denominator for c in group.coordinates]
            shared = evaluate(group.shared_offset_bytes, {})
            for i, loop in zip(index, group.loops, strict=True):
                start = [c + i * step for c, step in zip(start, loop.steps, strict=True)]
                shared += i * loop.shared_step_bytes
            yield row(plan.tensor_maps[group.tensor_map], start, shared, request.direction, seed)


def row(tensor_map: TensorMap, start: list[int], shared: int, direction: Direction, seed: int) -> dict:
    source, target = box_pairs(tensor_map, start, shared, direction, {})
    size = tensor_map.element_bytes
    dims = [evaluate(d, {}) for d in tensor_map.dims]
    strides = [evaluate(s, {}) for s in tensor_map.strides_bytes]
    base = evaluate(tensor_map.base_offset_bytes, {})
    span = dims[0] * size + sum((d - 1) * s for d, s in zip(dims[1:], strides, strict=True))
    memory = random_bytes(seed, span + base + 64)
    smem_bytes = -(-(int(target.max()) + 1) // 16) * 16
    if direction is Direction.LOAD:
        image = np.full(smem_bytes, 0xCD, np.uint8)
        image[target] = np.where(source == FILL, 0, memory[np.maximum(source, 0)])
    else:
        image = memory
        written = source != FILL
        image[source[written]] = random_bytes(seed + 1, smem_bytes)[target[written]]
    return {
        "kind": direction.value,
        "dtype": tensor_map.data_type.lower(),
        "base_offset": base,
        "global_dim": dims,
        "global_stride": strides,
        "box": tensor_map.box,
        "element_stride": tensor_map.element_strides,
        "swizzle": tensor_map.swizzle.label.lower(),
        "oob_fill": "zero",
        "coords": start,
        "shared_offset": shared,
        "seed": seed,
        "smem_bytes": smem_bytes,
        "gmem_bytes": len(memory),
        "tx_bytes": tensor_map.transaction_bytes,
        "crc32": zlib.crc32(image.tobytes()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--copies", type=int, default=1000, help="random copies to plan")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    count = 0
    with gzip.open(options.out, "wt") as out:
        for number, request in enumerate(requests(options.copies, options.seed)):
            try:
                plan = plan_copy(request)
            except PlanDeclined:
                continue
            for each in rows(request, plan, 2 * number + 5000):
                out.write(json.dumps(each) + "\n")
                count += 1
    print(f"{count} instructions written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
