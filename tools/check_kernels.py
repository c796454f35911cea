#!/usr/bin/env python3
"""Random whole kernels: the same bytes by definition, in the simulator and on the GPU.

    python tools/check_kernels.py [--seeds 0:2000] [--workers N] [--gpu | --sim] [--seconds S] [--out DIR]

Each seed makes one kernel with its arguments (test/py/support/random_kernels). It is compiled for sm_90a, run in the
simulator with all checks, and with --gpu on the GPU too; every byte of every tensor is compared with the definition. A
finding of the simulator is a failure: the kernels are right. --gpu --no-sim leaves the simulator out. Kernels that the
planner refuses are counted and replaced.

The first failures are printed and written to DIR as SEED.mlir; --seeds SEED:SEED+1 repeats one. FIRST-END.json in DIR
counts what the kernels had, and names all failures. After --seconds no kernel is begun any more; the summary names
the seed to go on with. A worker that hangs or whose GPU context is lost is replaced. The last line is the summary;
exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import math
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

CONTEXT = multiprocessing.get_context("spawn")  # a forked process cannot use CUDA; each worker makes its own context
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
    """What has been seen of ``seeds``. ``folder``: where failures go. ``rest``: seeds that were not begun."""

    seeds: list[int]
    folder: Path | None
    show: int
    kernels: int = 0
    equal: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    rest: list[int] = field(default_factory=list)

    def add(self, outcome: Any) -> None:
        self.kernels += 1
        self.refused.update(said.rpartition("(rule: ")[2].partition(")")[0] for said in outcome.refused)
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
        self.failures[seed] = f"{family}: {failure.splitlines()[0]}"
        if len(self.failures) <= self.show:
            print(f"seed {seed} ({family}): {failure}", flush=True)
            if self.folder is not None:
                said = "".join(f"// {line}\n" for line in failure.splitlines())
                (self.folder / f"{seed}.mlir").write_text(f"{text}// seed {seed}, family {family}\n{said}")

    def write(self, options: dict[str, bool], seconds: float) -> None:
        """The counts as FIRST-END.json."""
        if self.folder is None:
            return
        first, end = self.seeds[0], self.seeds[-1] + 1
        found = {
            "seeds": [first, end], **options, "next": self.rest[0] if self.rest else None, "seconds": round(seconds),
            "kernels": self.kernels, "equal": self.equal, "refused": dict(self.refused.most_common()),
            "families": dict(self.families.most_common()), "features": dict(sorted(self.features.items())),
            "failures": {str(seed): said for seed, said in sorted(self.failures.items())},
        }  # fmt: skip
        (self.folder / f"{first}-{end}.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")

    def summary(self, seconds: float) -> str:
        rest = f", {len(self.rest)} left: go on with --seeds {self.rest[0]}:{self.seeds[-1] + 1}" if self.rest else ""
        return (
            f"kernels {self.kernels}, families {len(self.families)}, equal {self.equal}, refused "
            f"{self.refused.total()}, failures {len(self.failures)} ({seconds:.0f} s){rest}"
        )


def run(tally: Tally, workers: int, options: dict[str, bool], patience: float, end: float) -> None:
    """Checks the seeds of ``tally``, which is told. A kernel may take ``patience`` seconds, and none is begun after
    ``end`` (of the monotonic clock)."""
    waiting = tally.seeds[::-1]

    def has_more() -> bool:
        return bool(waiting) and time.monotonic() < end

    pool = [Worker(options) for _ in range(min(workers, len(waiting)) if has_more() else 0)]
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
                lost, why = True, f"hangs: no answer in {patience:.0f} s"
            else:
                continue
            if lost:
                pool.remove(worker)
                if worker.seed is not None:
                    tally.stopped(worker.seed, why)
                elif why:
                    raise SystemExit(f"a worker did not start: {why}")
                if has_more():
                    pool.append(Worker(options))
            elif has_more():
                worker.give(waiting.pop(), patience)
            else:
                worker.give(None, patience)
                worker.process.join()
                pool.remove(worker)
    tally.rest = waiting[::-1]


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
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for failures and counts")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no kernel later (default: no limit)")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds: a kernel that takes longer hangs (30)")
    parser.add_argument("--show", type=int, default=20, help="failures to print and write (default 20)")
    options = parser.parse_args()
    if options.no_sim and not options.gpu:
        parser.error("--no-sim without --gpu leaves nothing to run")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    tally = Tally(options.seeds, options.out, options.show)
    where_run = {"gpu": options.gpu, "sim": not options.no_sim}
    run(tally, max(1, options.workers), where_run, options.patience, started + options.seconds)
    seconds = time.monotonic() - started
    tally.write(where_run, seconds)
    print(tally.summary(seconds))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
