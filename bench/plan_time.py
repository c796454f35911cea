"""Time to plan: ``plan_time.py plan_corpus.json``. Warm medians over a corpus, and growth with rank and tile size.

The recorded figures of the two TVM planners on the same copies are 0.5 to 9 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from plan_corpus import OutOfScopeError, read_copy

from tma_mlir.dtypes import dtype
from tma_mlir.layout import Swizzle, address_swizzle, atom_layout, row_major
from tma_mlir.plan import CopyRequest, Direction, PlanDeclined, Region, cover, forget_plans, plan_copy, rules

RECORDED_MS = (0.5, 9.0)


def requests(path: Path) -> list[CopyRequest]:
    data = json.loads(path.read_text())
    found = []
    for row in (row for section in ("cases", "sweep", "probes") for row in data[section]):
        try:
            found.append(read_copy(row["inputs"]).request)
        except OutOfScopeError:
            continue
    return found


def plan(request: CopyRequest) -> None:
    with contextlib.suppress(PlanDeclined):
        plan_copy(request)


def forget_rules() -> None:
    """Drop the remembered answers of all rules and all box factors too."""
    for function in (*vars(rules).values(), cover.factors, cover.chunks):
        if hasattr(function, "cache_info"):  # a remembered rule, not the class
            function.cache_clear()


def planning_us(request: CopyRequest, repeats: int, cold: bool = False) -> float:
    """Best of a few: the time without the machine's noise. ``cold``: no rule was asked before."""
    times = []
    for _ in range(repeats):
        forget_plans()
        if cold:
            forget_rules()
        start = time.perf_counter()
        plan(request)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def repeated_us(request: CopyRequest, repeats: int = 200) -> float:
    """The same request again."""
    plan(request)
    start = time.perf_counter()
    for _ in range(repeats):
        plan(request)
    return (time.perf_counter() - start) / repeats * 1e6


def tile(shape: tuple[int, ...], tensor: tuple[int, ...], swizzle: Swizzle) -> CopyRequest:
    element = dtype("f16")
    layout = atom_layout(shape, element.bytes, swizzle) if swizzle else row_major(shape)
    region = Region((0,) * len(shape), shape)
    return CopyRequest(
        element, Direction.LOAD, tensor, row_major(tensor), region, shape, layout, region, address_swizzle(swizzle)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="plan_corpus.json")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    corpus = requests(options.data)
    for request in corpus:
        plan(request)
    gc.disable()
    first = sorted(planning_us(request, options.repeats) for request in corpus)
    again = sorted(repeated_us(request) for request in corpus)
    cold = sorted(planning_us(request, options.repeats, cold=True) for request in corpus)
    print("growth with rank (f16, two rows of every outer dimension, 64 elements inside):")
    for rank in range(1, 6):
        shape = (*(2,) * (rank - 1), 64)
        request = tile(shape, tuple(2 * e for e in shape), Swizzle.NONE)
        print(f"  rank {rank}: {planning_us(request, options.repeats):7.1f} us")
    print("growth with tile size (f16, 128B atoms, of a 65536x65536 tensor):")
    for rows, columns in ((8, 64), (64, 64), (128, 128), (256, 256), (512, 512), (1024, 1024)):
        request = tile((rows, columns), (65536, 65536), Swizzle.B128)
        count = plan_copy(request).instruction_count
        print(f"  {rows:5}x{columns:<5} {planning_us(request, options.repeats):7.1f} us, {count} instructions")
    print(f"{len(corpus)} copies of the corpus, recorded for TVM's planners: {RECORDED_MS[0]} to {RECORDED_MS[1]} ms")
    for name, times in (("planned cold", cold), ("planned anew", first), ("planned before", again)):
        median, most = statistics.median(times), times[-1]
        print(f"{name:15} median {median:7.1f} us, 95 % {times[int(len(times) * 0.95)]:7.1f} us, most {most:7.1f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
