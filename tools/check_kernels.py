#!/usr/bin/env python3
"""Random whole kernels: the same bytes by definition, in the simulator and on the GPU.

    python tools/check_kernels.py [--seeds 0:2000] [--workers N] [--gpu | --sim] [--out DIR]

Each seed makes one kernel with its arguments (test/py/support/random_kernels). It is compiled for sm_90a, run in the
simulator with all checks, and with --gpu on the GPU too; every byte of every tensor is compared with the definition. A
finding of the simulator is a failure: the kernels are right. --gpu --no-sim leaves the simulator out. Kernels that the
planner refuses are counted and replaced.

Each failure is written to DIR as SEED.mlir and SEED.txt; --seeds SEED:SEED+1 repeats it. A worker that hangs or whose
GPU context is lost is replaced. The last line is the summary; exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

import checkout  # noqa: F401  (makes the package importable)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "py"))

CONTEXT = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA
START_SECONDS = 120
"""How long a worker may take to begin: importing, and making a context."""


def work(pipe: connection.Connection, options: dict[str, bool]) -> None:
    """A worker: takes seeds, sends outcomes; ends when the GPU's context is lost or nothing is asked any more."""
    from support.kernel_checks import check_kernel

    pipe.send("ready")
    while (seed := pipe.recv()) is not None:
        outcome = check_kernel(seed, **options)
        pipe.send(outcome)
        if outcome.lost:
            os._exit(1)


class Worker:
    """A process with at most one seed in its hands. ``deadline``: when it counts as hanging."""

    def __init__(self, options: dict[str, bool]) -> None:
        self.pipe, other = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=work, args=(other, options), daemon=True)
        self.process.start()
        other.close()
        self.seed: int | None = None
        self.deadline = time.monotonic() + START_SECONDS

    def give(self, seed: int | None, seconds: float) -> None:
        self.seed = seed
        self.deadline = time.monotonic() + seconds
        self.pipe.send(seed)

    def kill(self) -> int | None:
        """Ends the process; its exit status."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


@dataclass
class Tally:
    """What has been seen. ``folder``: where failures go."""

    folder: Path | None
    show: int
    kernels: int = 0
    equal: int = 0
    refused: int = 0
    families: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    failed: list[int] = field(default_factory=list)

    def add(self, outcome: Any) -> None:
        self.kernels += 1
        self.refused += len(outcome.refused)
        self.families[outcome.family] += 1
        self.features.update(outcome.features)
        if outcome.failure:
            self.fail(outcome.seed, outcome.family, outcome.failure, outcome.text)
        else:
            self.equal += 1

    def stopped(self, seed: int, why: str) -> None:
        """A worker that gave no answer."""
        from support.random_kernels import random_kernel

        self.kernels += 1
        kernel = random_kernel(seed)
        self.families[kernel.family] += 1
        self.fail(seed, kernel.family, why, kernel.text)

    def fail(self, seed: int, family: str, failure: str, text: str) -> None:
        self.failed.append(seed)
        if len(self.failed) <= self.show:
            print(f"seed {seed} ({family}): {failure}", flush=True)
        if self.folder is not None:
            (self.folder / f"{seed}.mlir").write_text(text)
            (self.folder / f"{seed}.txt").write_text(f"seed {seed}, family {family}\n{failure}\n")

    def summary(self, seconds: float) -> str:
        families = ", ".join(f"{name} {count}" for name, count in self.families.most_common())
        features = ", ".join(f"{name} {count}" for name, count in sorted(self.features.items()))
        return (
            f"features: {features}\nfamilies: {families}\nkernels {self.kernels}, families {len(self.families)}, equal "
            f"{self.equal}, refused {self.refused}, failures {len(self.failed)} ({seconds:.0f} s)"
        )


def run(seeds: list[int], workers: int, options: dict[str, bool], seconds: float, tally: Tally) -> None:
    """Checks all ``seeds``; a kernel may take ``seconds``."""
    waiting = seeds[::-1]
    pool = [Worker(options) for _ in range(min(workers, len(seeds)))]
    while pool:
        soonest = min(worker.deadline for worker in pool)
        ready = connection.wait([worker.pipe for worker in pool], max(0.0, soonest - time.monotonic()))
        for worker in list(pool):
            if worker.pipe in ready:
                try:
                    outcome = worker.pipe.recv()
                except (EOFError, OSError):
                    lost, why = True, f"the worker ended with {worker.kill()}"
                else:
                    lost, why = False, ""
                    if outcome != "ready":
                        tally.add(outcome)
                        worker.seed = None
                        if outcome.lost:
                            lost = True
                            worker.kill()
            elif time.monotonic() > worker.deadline:
                worker.kill()
                lost, why = True, f"hangs: no answer in {seconds:.0f} s"
            else:
                continue
            if lost:
                pool.remove(worker)
                if worker.seed is not None:
                    tally.stopped(worker.seed, why)
                elif why:
                    raise SystemExit(f"a worker did not start: {why}")
                if waiting:
                    pool.append(Worker(options))
            elif waiting:
                worker.give(waiting.pop(), seconds)
            else:
                worker.give(None, seconds)
                worker.process.join()
                pool.remove(worker)


def seed_range(text: str) -> list[int]:
    first, _, end = text.partition(":")
    try:
        found = list(range(int(first), int(end) if end else int(first) + 1))
    except ValueError:
        found = []
    if not found or found[0] < 0:
        raise argparse.ArgumentTypeError(f"{text} does not name seeds; write FIRST:END, such as 0:2000")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seed_range, default=seed_range("0:2000"), help="FIRST:END (default 0:2000)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--gpu", action="store_true", help="run on the first GPU too")
    where.add_argument("--sim", action="store_true", help="simulator only (the default)")
    parser.add_argument("--no-sim", action="store_true", help="with --gpu: leave the simulator out")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for failures")
    parser.add_argument("--seconds", type=float, default=30.0, help="a kernel that takes longer hangs (default 30)")
    parser.add_argument("--show", type=int, default=20, help="failures to print (default 20)")
    options = parser.parse_args()
    if options.no_sim and not options.gpu:
        parser.error("--no-sim without --gpu leaves nothing to run")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    tally = Tally(options.out, options.show)
    run(options.seeds, max(1, options.workers), {"gpu": options.gpu, "sim": not options.no_sim}, options.seconds, tally)
    print(tally.summary(time.monotonic() - started))
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
