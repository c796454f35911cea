"""One kernel on several schedules: the same answer is expected from every one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..abi.extents import Extent
from ..abi.signature import KernelSignature
from ..chips import DEFAULT_CHIP
from .errors import SimulationError
from .simulate import SimulationResult, load_program, simulate


def simulate_schedules(
    module: Any,
    signature: KernelSignature,
    arguments: Sequence[Any],
    grid: Extent = None,
    block: Extent = None,
    cluster: Extent = None,
    *,
    schedules: int = 1,
    checks: bool | str = True,
    profile: bool = False,
    trace: bool = False,
    progress: Callable[[int, int], None] | None = None,
    chip: str = DEFAULT_CHIP,
) -> SimulationResult:
    """``simulate`` under schedules 0 .. ``schedules - 1``, each from the same inputs; arrays hold the result.

    Profile and trace are those of schedule 0. Raises ``SimulationError``, its message naming the schedule, on the first
    error and when two schedules give different bytes (floating-point reductions in another order may).
    """
    program = load_program(module, signature.name, signature.dynamic_shared_bytes, chip)
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    before = [a.copy() for a in arrays]
    first: SimulationResult | None = None
    result: list[np.ndarray] = []
    for seed in range(max(1, schedules)):
        for array, original in zip(arrays, before, strict=True):
            array[...] = original
        try:
            run = simulate(
                None,
                signature,
                arguments,
                grid,
                block,
                cluster,
                schedule_seed=seed,
                checks=checks,
                profile=profile and seed == 0,
                trace=trace and seed == 0,
                progress=progress,
                program=program,
            )
        except SimulationError as error:
            if seed == 0:
                raise
            raise SimulationError(
                error.kind, f"{error.message} (schedule {seed})", error.location, error.notes
            ) from error
        if first is None:
            first, result = run, [a.copy() for a in arrays]
            continue
        for index, (array, expected) in enumerate(zip(arrays, result, strict=True)):
            if array.tobytes() != expected.tobytes():
                raise SimulationError(
                    "schedule dependent result",
                    f"schedules 0 and {seed} give different bytes in array argument {index}: a race",
                )
    assert first is not None
    return first


class ProgressBar:
    """A bar on a terminal's stderr for runs that take longer than a second; nothing otherwise."""

    def __init__(self, label: str = "simulating", width: int = 32):
        self.label = label
        self.width = width
        self.started = time.monotonic()
        self.shown = 0.0
        self.active = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.active or now - self.started < 1 or (now - self.shown < 0.1 and done < total):
            return
        self.shown = now
        filled = self.width * done // max(1, total)
        sys.stderr.write(f"\r{self.label} [{'#' * filled}{'.' * (self.width - filled)}] {done}/{total} clusters")
        if done >= total:
            sys.stderr.write("\n")
        sys.stderr.flush()
