"""Host time of a launch: this runtime beside a bare ``cuLaunchKernel`` and Triton, in one process.

``python bench/launch.py [--batches N] [--json FILE]``; with ``TMA_MLIR_NATIVE=0`` launches go through Python. A launch
does nothing on the GPU, so what is timed is the issue alone: batches of launches, one variant after the other, a
synchronisation between batches outside of the time; medians.

*cached*: the same tensors again; *held*: without asking the kernel for its launcher each time. *fresh*: tensors never
seen, so that every descriptor is made anew. Triton encodes its host descriptors at each launch, cached or not.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import statistics
import sys
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
from tma_mlir.runtime.kernel import PREPARED_LAUNCHES

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


def our_variants(torch: Any, tensors: int) -> list[Variant]:
    kernel = empty_kernel(tensors)
    arguments = [torch.zeros(ROWS, COLUMNS, dtype=torch.float16, device="cuda") for _ in range(tensors)]
    launcher = kernel[(1, 1, 1), (32, 1, 1)]
    launcher(*arguments)
    (special,) = kernel._specialisations.values()
    prepared = special.prepare([each.data_ptr() for each in arguments])
    assert prepared is not None
    cuda, stream = driver.cuda(), driver.cuda().CUstream(torch.cuda.current_stream().cuda_stream)
    function, address = kernel._module.function(0).handle, prepared.address

    # More addresses than launches are kept for, so that none is found again.
    buffer = torch.zeros(ROWS * COLUMNS + 8 * 4 * PREPARED_LAUNCHES, dtype=torch.float16, device="cuda")
    views = [buffer[8 * i : 8 * i + ROWS * COLUMNS].view(ROWS, COLUMNS) for i in range(4 * PREPARED_LAUNCHES)]
    windows = itertools.cycle([[views[(7 * i + k) % len(views)] for k in range(tensors)] for i in range(len(views))])

    return [
        Variant(
            "bare cuLaunchKernel", tensors,
            lambda: cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, address, 0),
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--json", type=Path, help="write the medians there as well")
    options = parser.parse_args()
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
