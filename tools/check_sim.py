#!/usr/bin/env python3
"""Replay captured TMA copies in the simulator's engine and compare every byte.

usage: check_sim.py CAPTURE.jsonl.gz [...]        (last line: "exact N of M"; exit status 1 on any difference)
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
from checkout import existing_file

from tma_mlir.dtypes import DRIVER_BYTES
from tma_mlir.plan.tensor_map import OobFill, Swizzle, TensorMap
from tma_mlir.sim import engine

GLOBAL_ADDRESS = 1 << 32
FLOATS = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float32_ftz": np.float32,
    "tfloat32": np.float32, "tfloat32_ftz": np.float32, "float64": np.float64,
}  # fmt: skip


def random_bytes(seed: int, count: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 256, count, dtype=np.uint8)


def small_floats(seed: int, count: int, dtype: type) -> np.ndarray:
    values = np.random.Generator(np.random.PCG64(seed)).integers(-8, 8, count)
    return values.astype(dtype).view(np.uint8)[:count].copy()


def tensor_map_of(row: dict) -> TensorMap:
    rank = len(row["global_dim"])
    return TensorMap(
        data_type=row["dtype"].upper(),
        dims=tuple(row["global_dim"]),
        strides_bytes=tuple(row["global_stride"][: rank - 1]),
        box=tuple(row["box"]),
        element_strides=tuple(row["element_stride"]),
        swizzle={"none": Swizzle.NONE, "32b": Swizzle.B32, "64b": Swizzle.B64, "128b": Swizzle.B128}[row["swizzle"]],
        oob_fill=OobFill.NAN if row["oob_fill"] == "nan" else OobFill.ZERO,
    )


def replay(row: dict) -> tuple[np.ndarray, int]:
    """The bytes after the copy (shared memory for loads, global memory otherwise) and the bytes it completes."""
    tensor_map = tensor_map_of(row)
    size = DRIVER_BYTES[tensor_map.data_type]
    dims, strides, seed = row["global_dim"], row["global_stride"], row["seed"]
    span = dims[0] * size + sum((n - 1) * s for n, s in zip(dims[1:], strides, strict=False))
    total = span + row["base_offset"] + 64
    bound = engine.BoundTensorMap(tensor_map, GLOBAL_ADDRESS + row["base_offset"])
    if row["kind"] == "load":
        shared = np.full(row["smem_bytes"], 0xCD, np.uint8)
        box = engine.load_box(bound, row["coords"], random_bytes(seed, total), GLOBAL_ADDRESS)
        engine.place_box(bound, box, shared, 0)
        return shared, bound.transaction_bytes
    reduction = row.get("reduce")
    if reduction and row["dtype"] in FLOATS:
        memory = small_floats(seed, row["gmem_bytes"], FLOATS[row["dtype"]])
        shared = small_floats(seed + 1, row["smem_bytes"], FLOATS[row["dtype"]])
    else:
        memory, shared = random_bytes(seed, row["gmem_bytes"]), random_bytes(seed + 1, row["smem_bytes"])
    engine.store_box(
        bound, row["coords"], engine.take_box(bound, shared, 0), memory, GLOBAL_ADDRESS, reduction=reduction
    )
    return memory, 0


def differences(path: Path) -> Iterator[str | None]:
    """One item a row: None when it is exact, else a line that says where it is not."""
    with gzip.open(path, "rt") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            try:
                result, completed = replay(row)
            except engine.TmaFault as fault:
                yield f"{path.name}:{number}: {fault}"
                continue
            if zlib.crc32(result.tobytes()) != row["crc32"]:
                where = ""
                if "dump_zlib_b64" in row:
                    expected = np.frombuffer(zlib.decompress(base64.b64decode(row["dump_zlib_b64"])), np.uint8)
                    wrong = np.flatnonzero(expected != result)
                    where = f", {wrong.size} bytes differ, first at {wrong[:1]}"
                yield f"{path.name}:{number}: {row['kind']} of {row['dtype']} differs from the capture{where}"
            elif completed != row.get("tx_bytes", 0):
                yield f"{path.name}:{number}: completes {completed} bytes, the capture {row['tx_bytes']}"
            else:
                yield None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("captures", nargs="+", type=existing_file)
    parser.add_argument("--show", type=int, default=10, help="differences to print (default 10)")
    options = parser.parse_args()
    exact = total = 0
    for path in options.captures:
        for difference in differences(path):
            total += 1
            exact += difference is None
            if difference is not None and total - exact <= options.show:
                print(difference)
    print(f"exact {exact} of {total}")
    return 0 if exact == total and total else 1


if __name__ == "__main__":
    sys.exit(main())
