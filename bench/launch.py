"""Host time of a launch: this runtime beside a bare ``cuLaunchKernel`` and Triton, in one process.

``python bench/launch.py [--batches N] [--json FILE]``; with ``TMA_MLIR_NATIVE=0`` launches go through Python. A launch
does nothing on the GPU, so what is timed is the issue alone: batches of launches, one variant after the other, a
synchronisation between batches outside of the time; medians.

``python bench/launch.py --compare [--against FOLDER] [--without-gpu]`` runs that in processes of its own, with and
without the launcher in C, in turns with another checkout in FOLDER, and prints all of it beside each other.
``--without-gpu``: on a stand-in for the driver (see without_gpu.py), so that only the time of this package counts.

*cached*: the same tensors again; *held*: without asking the kernel for its launcher each time. *fresh*: tensors never
seen, so that every descriptor is made anew. Triton encodes its host descriptors at each launch, cached or not.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tma_mlir.abi.signature import KernelSignature, MemRefArgument, TensorMapArgument
from tma_mlir.assembler import assemble
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import Swizzle, TensorMap
from tma_mlir.runtime import Kernel, NoDevice, driver, native
from tma_mlir.runtime.known_launches import PREPARED_LAUNCHES

ROWS, COLUMNS = 64, 256
LAUNCHES = 200
"""A batch: few enough for the driver's queue to take them without waiting."""

MATRIX = MemRefArgument(dtype("f16"), (ROWS, COLUMNS), (COLUMNS, 1))
MAP = TensorMap("FLOAT16", (COLUMNS, ROWS), (2 * COLUMNS,), (64, 8), (1, 1), Swizzle.B128)


@dataclass(frozen=True)
class Variant:
    """``call`` is timed ``LAUNCHES`` times a batch."""

    name: str
    tensors: int
    call: Callable[[], Any]


def empty_kernel(tensors: int) -> Kernel:
    """Takes ``tensors`` matrices and a descriptor of each, and returns at once."""
    maps = [f".param .align 128 .b8 m{i}[128]" for i in range(tensors)]
    pointers = [f".param .u64 p{i}" for i in range(tensors)]
    ptx = (
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        f".visible .entry empty({', '.join(maps + pointers)}) {{ ret; }}\n"
    )
    arguments = tuple(TensorMapArgument(i, MAP) for i in range(tensors))
    signature = KernelSignature("empty", arguments, (MATRIX,) * tensors, grid=(1, 1, 1), block=(32, 1, 1))
    return Kernel(assemble(ptx, "sm_90"), signature)


def bare_parameters(tensors: int) -> Any:
    """The ``void**`` of ``empty_kernel``'s parameters, which it does not look at."""
    content = (ctypes.c_char * (128 * tensors))()
    start = ctypes.addressof(content)
    places = [start + 128 * i for i in range(tensors)] + [start + 8 * i for i in range(tensors)]
    pointers = (ctypes.c_uint64 * (2 * tensors))(*places)
    pointers.content = content  # type: ignore[attr-defined]  # keeps it alive
    return pointers


def our_variants(torch: Any, tensors: int) -> list[Variant]:
    kernel = empty_kernel(tensors)
    arguments = [torch.zeros(ROWS, COLUMNS, dtype=torch.float16, device="cuda") for _ in range(tensors)]
    launcher = kernel[(1, 1, 1), (32, 1, 1)]
    launcher(*arguments)
    cuda, stream = driver.cuda(), driver.cuda().CUstream(torch.cuda.current_stream().cuda_stream)
    function, parameters = kernel._module.function(0).handle, bare_parameters(tensors)
    address = ctypes.addressof(parameters)

    # More addresses than launches are kept for, so that none is found again.
    buffer = torch.zeros(ROWS * COLUMNS + 8 * 4 * PREPARED_LAUNCHES, dtype=torch.float16, device="cuda")
    views = [buffer[8 * i : 8 * i + ROWS * COLUMNS].view(ROWS, COLUMNS) for i in range(4 * PREPARED_LAUNCHES)]
    windows = itertools.cycle([[views[(7 * i + k) % len(views)] for k in range(tensors)] for i in range(len(views))])

    return [
        Variant(
            "bare cuLaunchKernel", tensors,
            lambda _alive=parameters: cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, address, 0),
        ),
        Variant("kernel.bind(...)()", tensors, kernel.bind(None, None, *arguments)),
        Variant("kernel[grid, block](...), cached", tensors, lambda: kernel[(1, 1, 1), (32, 1, 1)](*arguments)),
        Variant("kernel[grid, block](...), held", tensors, lambda: launcher(*arguments)),
        Variant("kernel[grid, block](...), fresh", tensors, lambda: launcher(*next(windows))),
    ]  # fmt: skip


def triton_variants(torch: Any, tensors: int) -> list[Variant]:
    """The same in Triton: pointers, and host tensor descriptors."""
    import triton
    from triton.tools.tensor_descriptor import TensorDescriptor

    @triton.jit
    def empty1(a):
        pass

    @triton.jit
    def empty5(a, b, c, d, e):
        pass

    kernel = {1: empty1, 5: empty5}[tensors]
    arguments = [torch.zeros(ROWS, COLUMNS, dtype=torch.float16, device="cuda") for _ in range(tensors)]
    descriptors = [TensorDescriptor.from_tensor(each, [8, 64]) for each in arguments]
    variants = [
        Variant("triton, pointers", tensors, lambda: kernel[(1,)](*arguments)),
        Variant("triton, descriptors", tensors, lambda: kernel[(1,)](*descriptors)),
    ]
    for variant in variants:
        variant.call()
    return variants


def measure(variants: list[Variant], batches: int, synchronise: Callable[[], None]) -> dict[str, float]:
    """Median microseconds a launch, by ``name/tensors``."""
    times: dict[str, list[float]] = {f"{v.name}/{v.tensors}": [] for v in variants}
    gc.collect()
    gc.disable()
    try:
        for batch in range(batches + 3):
            turn = batch % len(variants)  # nobody always follows the same neighbour
            for variant in variants[turn:] + variants[:turn]:
                call = variant.call
                synchronise()
                start = time.perf_counter()
                for _ in range(LAUNCHES):
                    call()
                spent = time.perf_counter() - start
                if batch >= 3:  # the first ones warm the caches
                    times[f"{variant.name}/{variant.tensors}"].append(1e6 * spent / LAUNCHES)
    finally:
        gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def compare(folders: list[Path], rounds: int, batches: int, without_gpu: bool) -> int:
    """Microseconds of every variant for each folder, with and without the launcher in C: the best round of each."""
    runs = [(folder, chosen) for folder in folders for chosen in ("build", "0")]
    found: dict[tuple[Path, str], dict[str, float]] = {run: {} for run in runs}
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch, "us.json")
        for number in range(rounds):
            for folder, chosen in runs if number % 2 == 0 else runs[::-1]:
                command = [sys.executable, str(folder / "bench" / "launch.py")]
                if without_gpu:
                    command.insert(1, str(Path(__file__).with_name("without_gpu.py")))
                command += ["--batches", str(batches), "--json", str(answer)]
                answer.unlink(missing_ok=True)
                done = subprocess.run(
                    command, env={**os.environ, "TMA_MLIR_NATIVE": chosen}, capture_output=True, text=True
                )
                if not answer.exists():  # no GPU, or a failure: what it said is all there is
                    print(f"{folder}:\n{done.stdout}{done.stderr}")
                    return done.returncode
                best = found[folder, chosen]
                for name, value in json.loads(answer.read_text())["us"].items():
                    best[name] = min(value, best.get(name, value))
    names = {"build": "in C", "0": "Python"}
    labels = [f"{'here' if folder == folders[0] else 'there'}, {names[chosen]}" for folder, chosen in runs]
    for folder, label in zip(folders, ("here", "there"), strict=False):
        print(f"{label}: {folder}")
    print(f"{'host us a launch, tensors':36} " + " ".join(f"{label:>13}" for label in labels))
    for name in found[runs[0]]:
        cells = [f"{found[run][name]:13.2f}" if name in found[run] else f"{'-':>13}" for run in runs]
        print(f"{name:36} {' '.join(cells)}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--json", type=Path, help="write the medians there as well")
    parser.add_argument("--compare", action="store_true", help="with and without the launcher in C")
    parser.add_argument("--against", type=Path, help="with --compare: another checkout to measure too")
    parser.add_argument("--rounds", type=int, default=3, help="with --compare: processes of each kind")
    parser.add_argument("--without-gpu", action="store_true", help="with --compare: on a stand-in for the driver")
    options = parser.parse_args()
    if options.compare:
        folders = [Path(__file__).resolve().parents[1], *([options.against.resolve()] if options.against else [])]
        return compare(folders, options.rounds, options.batches, options.without_gpu)
    try:
        place = driver.device(0)
    except NoDevice as error:
        print(f"bench/launch.py needs a GPU: {error}")
        return 0
    import torch

    torch.zeros(1, device="cuda")
    variants: list[Variant] = []
    for tensors in (1, 5):
        variants += our_variants(torch, tensors)
        try:
            variants += triton_variants(torch, tensors)
        except Exception as error:  # the numbers of this runtime do not depend on a peer that fails
            print(f"without Triton for {tensors} tensors: {type(error).__name__}: {error}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    medians = measure(variants, options.batches, torch.cuda.synchronize)

    print(f"{place.name}, driver {driver.driver_version()}, Python {sys.version.split()[0]}, torch {torch.__version__}")
    print(f"launches in C: {'no, ' + native.why_not if native.module() is None else 'yes'}")
    print(f"{'host us a launch':34} {'1 tensor':>9} {'ratio':>6} {'5 tensors':>10} {'ratio':>6}")
    for name in dict.fromkeys(variant.name for variant in variants):
        if not all(f"{name}/{tensors}" in medians for tensors in (1, 5)):
            continue
        cells = []
        for tensors in (1, 5):
            bare, own = medians[f"bare cuLaunchKernel/{tensors}"], medians[f"{name}/{tensors}"]
            cells.append(f"{own:9.2f} {own / bare:6.2f}")
        print(f"{name:34} {cells[0]} {cells[1]:>17}")
    for tensors in (1, 5):
        bare, cached, fresh = (
            medians[f"{name}/{tensors}"]
            for name in ("bare cuLaunchKernel", "kernel[grid, block](...), cached", "kernel[grid, block](...), fresh")
        )
        print(
            f"{tensors} tensor{'s' * (tensors > 1)}: cached is bare + {cached - bare:.2f} us (goal 1.0); a fresh "
            f"descriptor costs {(fresh - cached) / tensors:.2f} us (goal 2.0)"
        )
    if options.json:
        options.json.write_text(json.dumps({"device": place.name, "us": medians}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
