"""Several threads at once, and forked children, give what one thread gives.

Each thread compiles, plans, simulates or parses in its own order; every result is compared with the serial one of the
same work. Exceptions count as results.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import planner
from failure import Failure

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("copy_8x256", "load_f32", "store_tile", "load_rank3", "python/copy_tiles")
WORK = ("compile", "compile", "cached", "plan", "plan", "simulate", "refuse", "pipeline")


@dataclass(frozen=True)
class Case:
    """``jobs``: for each thread, the names of its work with a number. ``fork``: a child does the last thread's work
    while the others are at theirs."""

    jobs: tuple[tuple[tuple[str, int], ...], ...]
    fork: bool


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    count = rng.choice((2, 4, 8))
    numbers = [rng.randrange(1000) for _ in range(3)]
    jobs = tuple(tuple((rng.choice(WORK), rng.choice(numbers)) for _ in range(rng.randint(1, 3))) for _ in range(count))
    return Case(jobs, rng.random() < 0.2)


def check(case: Case) -> Failure | None:
    wanted = {job: _done(*job) for jobs in case.jobs for job in jobs}
    found: list[list[Any]] = [[] for _ in case.jobs]
    ready = threading.Barrier(len(case.jobs))

    def work(index: int) -> None:
        ready.wait()
        for job in case.jobs[index]:
            found[index].append(_done(*job))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(case.jobs))]
    for thread in threads:
        thread.start()
    status = _in_a_child(case.jobs[-1], wanted) if case.fork else 0
    for thread in threads:
        thread.join()
    if status:
        return Failure(
            "a forked child gives another result" if status == 1 else f"a child ends with {status}", repr(case)
        )
    for jobs, results in zip(case.jobs, found, strict=True):
        for job, result in zip(jobs, results, strict=True):
            if result != wanted[job]:
                return Failure(
                    f"{job[0]} gives another result in a thread", f"{case}\n{job}\n{wanted[job]!r}\n{result!r}"[:5000]
                )
    return None


def _in_a_child(jobs: tuple[tuple[str, int], ...], wanted: dict[Any, Any]) -> int:
    """Plans only: MLIR may hold a lock in the thread that a child does not have."""
    process = os.fork()
    if process == 0:
        code = 2
        try:
            code = int(any(_done(*job) != wanted[job] for job in jobs if job[0] == "plan"))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _done(name: str, number: int) -> Any:
    try:
        return _JOBS[name](number)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _source(number: int) -> str:
    return (ROOT / f"examples/{EXAMPLES[number % len(EXAMPLES)]}.mlir").read_text()


def _compile(number: int) -> Any:
    from tma_mlir.compile.compiler import compile_text

    made = compile_text(_source(number), "sm_90a", assemble_cubin=False, keep=("lowered",))
    return made.ptx, made.texts["lowered"], repr(made.signatures), repr([each.plan for each in made.plans])


@cache
def _folder() -> str:
    return tempfile.mkdtemp(prefix="tma_fuzz_cache_")


def _cached(number: int) -> Any:
    """The cache of kernels under several writers and readers of one key."""
    from tma_mlir.runtime.disk_cache import DiskCache

    store, key = DiskCache(_folder(), limit_bytes=20000), f"{number % 7:064x}"
    content = f"{key}" * 100
    for _ in range(5):
        store.put(key, content.encode())
        found = store.get(key)
        if found is not None and found != content.encode():
            return "another entry"
    return "right"


def _plan(number: int) -> Any:
    failures = [planner.check(planner.cases(seed)) for seed in range(number * 20, number * 20 + 20)]
    return [failure.kind for failure in failures if failure]


def _simulate(number: int) -> Any:
    from tma_mlir.compiled_kernel import CompiledKernel

    kernel, source = _kernel(), np.random.default_rng(number).random((8, 36 + 4 * (number % 3)), np.float32)
    assert isinstance(kernel, CompiledKernel)
    target = np.zeros_like(source)
    result = kernel.simulate((2, 1), 32, source, target, schedules=1 + number % 2)
    return target.tobytes(), result.transfers, result.transfer_bytes


@cache
def _kernel() -> Any:
    from tma_mlir.compile.compiler import compile_text
    from tma_mlir.compiled_kernel import CompiledKernel

    text = (ROOT / "examples/python/copy_tiles.mlir").read_text()
    (signature,) = compile_text(text, "sm_90a", assemble_cubin=False).signatures.values()
    return CompiledKernel(b"cubin", signature, chip="sm_90a", source=text)


def _refuse(number: int) -> Any:
    """An error with its place: diagnostics of threads do not mix."""
    from tma_mlir.compile.compiler import compile_text

    text = "\n" * (number % 50) + _source(0).replace(
        "sizes = array<i64", f"sizes = array<i64: {number + 3}> , x = array<i64", 1
    )
    return repr(compile_text(text, "sm_90a", assemble_cubin=False))


def _pipeline(number: int) -> Any:
    from tma_mlir import run_pipeline
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context

    with make_context():
        module = ir.Module.parse(_source(number))
        run_pipeline(module, "builtin.module(tile-plan-copies,convert-tile-to-nvgpu,canonicalize)")
        return str(module)


_JOBS: dict[str, Callable[[int], Any]] = {
    "compile": _compile,
    "cached": _cached,
    "plan": _plan,
    "simulate": _simulate,
    "refuse": _refuse,
    "pipeline": _pipeline,
}
