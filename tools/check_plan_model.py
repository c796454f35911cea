"""Replay captured copies through the model that plans are checked with: ``check_plan_model.py h200_tma_load.jsonl.gz``.

Takes load and store captures. Prints ``agree N of M`` last.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib

import numpy as np
from checkout import existing_file

from tma_mlir.layout.swizzle import Swizzle
from tma_mlir.plan import Direction, OobFill, TensorMap
from tma_mlir.plan.check import FILL, box_pairs

SWIZZLES = {mode.label.lower(): mode for mode in Swizzle}
CHANGING = ("tfloat32", "tfloat32_ftz")
"""Loads of these types round; the model is about where bytes go, so their rows are left out."""


def random_bytes(seed: int, count: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 256, count, dtype=np.uint8)


def replay(row: dict) -> int:
    """CRC of the memory the copy wrote to, by the model."""
    tensor_map = TensorMap(
        row["dtype"].upper(),
        tuple(row["global_dim"]),
        tuple(row["global_stride"]),
        tuple(row["box"]),
        tuple(row["element_stride"]),
        SWIZZLES[row["swizzle"]],
        oob_fill=OobFill.NAN if row["oob_fill"] == "nan" else OobFill.ZERO,
        base_offset_bytes=row["base_offset"],
    )
    is_load = row["kind"] == "load"
    direction = Direction.LOAD if is_load else Direction.STORE
    source, target = box_pairs(tensor_map, row["coords"], row.get("shared_offset", 0), direction, {})
    size = tensor_map.element_bytes
    last = zip(row["global_dim"][1:], row["global_stride"], strict=True)
    span = row["global_dim"][0] * size + sum((extent - 1) * stride for extent, stride in last)
    memory = random_bytes(row["seed"], span + row["base_offset"] + 64)
    if is_load:
        shared = np.full(row["smem_bytes"], 0xCD, np.uint8)
        nan = np.frombuffer(b"\xf7\x7f" * 4, np.uint8)  # 0x7FF7 over every 16 bits
        fill = np.resize(nan[:size] if row["oob_fill"] == "nan" else np.zeros(size, np.uint8), len(source))
        shared[target] = np.where(source == FILL, fill, memory[np.maximum(source, 0)])
        return zlib.crc32(shared.tobytes())
    shared = random_bytes(row["seed"] + 1, row["smem_bytes"])
    written = source != FILL
    memory[source[written]] = shared[target[written]]
    return zlib.crc32(memory[: row["gmem_bytes"]].tobytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=existing_file, nargs="+", help="captures, one JSON object a line, gzip")
    options = parser.parse_args()
    agree = total = 0
    for path in options.data:
        with gzip.open(path, "rt") as lines:
            for line in lines:
                row = json.loads(line)
                if row["kind"] == "load" and row["dtype"] in CHANGING:
                    continue
                total += 1
                if replay(row) == row["crc32"]:
                    agree += 1
                elif total - agree < 5:
                    print({key: value for key, value in row.items() if key != "dump_zlib_b64"})
    print(f"agree {agree} of {total}")
    return 0 if agree == total else 1


if __name__ == "__main__":
    sys.exit(main())
