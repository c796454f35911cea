"""Runs a fuzzer on many seeds: ``python test/fuzz/run.py planner --seeds 0:1000000 --workers 16``.

A fuzzer is a module of this folder with ``cases(seed)``, which makes an input, and ``check(input)``, which gives None
or a ``Failure``. Workers are forked and run many cases each. The seed of the case under way lies in shared memory, so
that a death by a signal or an exit, or a case that takes longer than ``--limit``, is that case's failure; the worker
is then replaced. Prints counts by kind and examples; with ``--out`` writes them to NAME.json there. Exit code 1 if
anything was found.
"""

from __future__ import annotations

import argparse
import importlib
import json
import mmap
import os
import re
import select
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1]), str(FOLDER.parents[1] / "test/py")]

CHUNK = 200
"""Cases of a worker; then it is replaced, so that what a case leaves behind does not reach far."""
NOW = struct.Struct("<qd")
"""The seed of the case under way and when it began, in seconds of the monotonic clock. Written as a whole:
``pack_into`` fills with zeros first, which the parent would take for a case that began long ago."""


@dataclass
class Worker:
    """A forked process that runs ``seeds``, its output's read end, the memory that tells where it is, and the file
    that its standard error goes to."""

    process: int
    seeds: range
    output: int
    now: mmap.mmap
    errors: IO[bytes]
    done: int = 0
    text: bytearray = field(default_factory=bytearray)


@dataclass
class Found:
    """Counts by kind, and the first seeds and details of each."""

    cases: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, seed: int, kind: str, detail: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < 20:
            examples.append((seed, detail))


def start(fuzzer: Any, seeds: range, memory_bytes: int, until: float) -> Worker:
    """Forks a worker for ``seeds``, which begins no case after ``until``."""
    now = mmap.mmap(-1, NOW.size)
    now[:] = NOW.pack(seeds.start, time.monotonic())
    read, write = os.pipe()
    errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the worker has ended)
    sys.stdout.flush()
    process = os.fork()
    if process:
        os.close(write)
        return Worker(process, seeds, read, now, errors)
    code = 1
    try:
        os.close(read)
        _work(fuzzer, seeds, write, now, errors, memory_bytes, until)
        code = 0
    finally:
        os._exit(code)


def _work(
    fuzzer: Any, seeds: range, write: int, now: mmap.mmap, errors: IO[bytes], memory_bytes: int, until: float
) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(errors.fileno(), 2)
    with os.fdopen(write, "w") as output:
        for seed in seeds:
            if time.monotonic() > until:
                return
            now[:] = NOW.pack(seed, time.monotonic())
            failure = fuzzer.check(fuzzer.cases(seed))
            output.write(json.dumps([seed, failure and [failure.kind, failure.detail[:20000]]]) + "\n")
            if failure:
                output.flush()


def read(worker: Worker, found: Found) -> bool:
    """Takes over what ``worker`` has written; False at its end."""
    data = os.read(worker.output, 1 << 16)
    worker.text += data
    *lines, rest = bytes(worker.text).split(b"\n")
    worker.text = bytearray(rest)
    for line in lines:
        seed, failure = json.loads(line)
        worker.done = seed + 1 - worker.seeds.start
        found.cases += 1
        if failure:
            found.add(seed, *failure)
    return bool(data)


def finish(worker: Worker, found: Found, late: bool) -> range:
    """Waits for the end of ``worker``, and gives the seeds that it has left."""
    os.close(worker.output)
    status = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
    worker.errors.seek(0)
    said = worker.errors.read().decode(errors="replace")[-2000:]
    worker.errors.close()
    if not status and not late:
        return range(0)
    seed, _ = NOW.unpack(worker.now[:])
    lost = seed - (worker.seeds.start + worker.done)
    found.cases += max(0, lost) + 1  # what was done, but not yet written
    reason = re.findall(r"Assertion `.*|LLVM ERROR: .*|.*UNREACHABLE.*|^error: .*", said)
    kind = "takes too long" if late else f"signal {-status}" if status < 0 else f"exit {status}"
    found.add(seed, f"{kind}: {reason[-1][:150]}" if reason else kind, said)
    return range(seed + 1, worker.seeds.stop)


def run(name: str, seeds: range, workers: int = 1, seconds: float = 0.0, limit: float = 60.0, memory: int = 0) -> Found:
    """``seeds`` of the fuzzer ``name``, for at most ``seconds`` (0: all). A case may take ``limit`` seconds."""
    fuzzer, found = importlib.import_module(name), Found()
    until = time.monotonic() + (seconds or float("inf"))
    waiting = _chunks(seeds)
    left: list[range] = []
    running: list[Worker] = []
    while True:
        while len(running) < workers and time.monotonic() < until:
            chunk = left.pop() if left else next(waiting, None)
            if chunk is None:
                break
            running.append(start(fuzzer, chunk, memory, until))
        if not running:
            return found
        ready = select.select([worker.output for worker in running], [], [], 0.2)[0]
        for worker in list(running):
            alive = worker.output not in ready or read(worker, found)
            late = alive and time.monotonic() - NOW.unpack(worker.now[:])[1] > limit
            if late:
                os.kill(worker.process, 9)
            if late or not alive:
                while late and read(worker, found):
                    pass
                running.remove(worker)
                rest = finish(worker, found, late)
                left += [rest] if rest else []


def _chunks(seeds: range) -> Iterator[range]:
    for first in range(seeds.start, seeds.stop, CHUNK):
        yield range(first, min(first + CHUNK, seeds.stop))


def _seeds(text: str) -> range:
    first, _, end = text.partition(":")
    return range(int(first), int(end)) if end else range(int(first), int(first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a module of test/fuzz, as planner")
    parser.add_argument("--seeds", type=_seeds, default=range(1000), metavar="A:B", help="A up to B (without B: A)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=0.0, help="begin nothing new after this time")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a case may take")
    parser.add_argument("--memory", type=float, default=0.0, metavar="GIB", help="address space of a worker (0: any)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for NAME.json")
    parser.add_argument("--show", type=int, default=1, help="examples of each kind to print")
    options = parser.parse_args()
    began = time.monotonic()
    memory = int(options.memory * (1 << 30))
    found = run(options.name, options.seeds, options.workers, options.seconds, options.limit, memory)
    for kind, count in sorted(found.counts.items(), key=lambda item: -item[1]):
        print(f"{count} x {kind}")
        for seed, detail in found.examples[kind][: options.show]:
            print(f"  seed {seed}: " + detail[:4000].replace("\n", "\n  "))
    seconds = time.monotonic() - began
    print(f"{options.name}: {found.cases} cases in {seconds:.0f} s, {sum(found.counts.values())} failures")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        content = {"cases": found.cases, "counts": found.counts, "examples": found.examples}
        (options.out / f"{options.name}.json").write_text(json.dumps(content, indent=1))
    return 1 if found.counts else 0


if __name__ == "__main__":
    sys.exit(main())
