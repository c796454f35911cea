#!/usr/bin/env python3
"""What a child process costs: compiling in it against compiling in this one, in turns, warm.

python bench/isolation.py [--runs 60] [--modules 0]

Prints medians in milliseconds, their difference and ratio. With --modules N it also compiles N different modules in
each way and prints the memory of the process that compiles, every tenth of the way: it has to stay flat.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import checkout  # noqa: F401  (makes the package importable)

import tma_mlir
from tma_mlir.isolation.pool import POOL

COPY = (Path(__file__).resolve().parents[1] / "examples" / "copy_8x256.mlir").read_text()


def milliseconds(isolate: bool) -> float:
    started = time.perf_counter()
    tma_mlir.compile(COPY, "sm_90a", cache=False, isolate=isolate)
    return (time.perf_counter() - started) * 1e3


def resident_mb(process: int | str) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def memory(modules: int, isolate: bool) -> list[float]:
    found = []
    for number in range(modules):
        text = COPY.replace("copy_8x256", f"copy_{number}")
        tma_mlir.compile(text, "sm_90a", cache=False, isolate=isolate)
        if number % max(modules // 10, 1) == modules // 10 - 1:
            found.append(resident_mb(POOL._idle[-1]._process.pid if isolate and POOL._idle else "self"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--modules", type=int, default=0)
    options = parser.parse_args()
    for isolate in (False, True):
        milliseconds(isolate)
    pairs = [(milliseconds(False), milliseconds(True)) for _ in range(options.runs)]
    here, there = (statistics.median(each) for each in zip(*pairs, strict=True))
    differences = statistics.median(b - a for a, b in pairs)
    print(f"in process {here:.1f} ms, in a child {there:.1f} ms: {differences:+.1f} ms, ratio {there / here:.3f}")
    for isolate in (False, True) if options.modules else ():
        shown = " ".join(f"{each:.0f}" for each in memory(options.modules, isolate))
        print(f"{options.modules} modules {'in a child' if isolate else 'in process'}: {shown} MB")


if __name__ == "__main__":
    main()
