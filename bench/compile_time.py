"""Warm time from MLIR text to cubin for the demonstration, with its parts.

    python bench/compile_time.py [--runs N] [FILE.mlir]

Prints medians in milliseconds over N compilations in one process, after a warm-up, and the ratio to a peer measured in
the same run: the same kernel written by hand at the nvgpu level, through the same upstream passes and assembler. The
goal for the demonstration is 60 ms; TVM TIRx was recorded at 750 to 900 ms for the same copy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from tma_mlir.compile.compiler import compile_text

TOP = Path(__file__).resolve().parents[1]
STEPS = {
    "parse": ("parse",),
    "passes": ("plan", "convert", "lower"),
    "PTX": ("ptx",),
    "assemble": ("assemble",),
}


def measure(text: str, name: str) -> dict[str, float]:
    """Milliseconds of each step of one compilation."""
    times: dict[str, float] = {}
    last = time.perf_counter()

    def observe(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        times[step] = (now - last) * 1e3
        last = now

    compile_text(text, name=name, observe=observe)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=TOP / "examples" / "copy_8x256.mlir")
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    text = options.file.read_text()
    first = time.perf_counter()
    measure(text, options.file.name)
    cold = (time.perf_counter() - first) * 1e3
    peer_text = compile_text(text, keep=("nvgpu",)).texts["nvgpu"]
    runs, peers = [], []
    for _ in range(options.runs):
        runs.append(measure(text, options.file.name))
        peers.append(sum(measure(peer_text, "peer").values()))
    print(f"{options.file.name}: text to cubin, median of {options.runs} in one process (first: {cold:.0f} ms)")
    for step in runs[0]:
        print(f"    {step:<10}{statistics.median(run[step] for run in runs):8.2f} ms")
    for name, steps in STEPS.items():
        print(f"  {name:<12}{statistics.median(sum(run[step] for step in steps) for run in runs):8.2f} ms")
    total, peer = statistics.median(sum(run.values()) for run in runs), statistics.median(peers)
    print(f"  {'total':<12}{total:8.2f} ms (goal 60)")
    print(f"  {'nvgpu peer':<12}{peer:8.2f} ms, ratio {total / peer:.2f}")


if __name__ == "__main__":
    main()
