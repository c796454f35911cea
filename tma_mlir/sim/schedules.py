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
    max_steps: int | None = None,
    chip: str = DEFAULT_CHIP,
) -> SimulationResult:
    """``simulate`` under schedules 0 .. ``schedules - 1``, each from the same inputs; arrays hold the result.

    ``max_steps`` is for each schedule. Profile and trace are those of schedule 0.
    Raises ``SimulationError``, its message naming the schedule, on the first
    error and when two schedules give different bytes (floating-point reductions in another order may).
    """
    if isinstance(schedules, bool) or not isinstance(schedules, int) or schedules < 1:
        raise ValueError(f"schedules is {schedules!r}, needed: an integer, 1 or more")
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
        raise ValueError(f"max_steps is {max_steps!r}, needed: an integer, 1 or more")
    program = load_program(module, signature.name, signature.dynamic_shared_bytes, chip)
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    several = schedules > 1  # copies of large arrays are not made for nothing
    before = [a.copy() for a in arrays] if several else []
    first: SimulationResult | None = None
    result: list[np.ndarray] = []
    for seed in range(schedules):
        if seed:
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
                max_steps=max_steps,
                program=program,
            )
        except SimulationError as error:
            if seed == 0:
                raise
            raise SimulationError(
                error.kind, f"{error.message} (schedule {seed})", error.location, error.notes
            ) from error
        if first is None:
            first, result = run, [a.copy() for a in arrays] if several else []
            continue
        for index, (array, expected) in enumerate(zip(arrays, result, strict=True)):
            if array.tobytes() != expected.tobytes():
                raise SimulationError(
                    "schedule dependent result",
                    f"schedules 0 and {seed} give different bytes in array argument {index}: a race",
                )
    assert first is not None
    return first


TELL_AFTER_S = 5
TELL_ABOVE_S = 60
"""Where nobody sees a bar, a run that takes a minute more after its first seconds is told once."""


class ProgressBar:
    """A bar with the time left, on a terminal's stderr, for runs that take longer than a second.

    Elsewhere one line for runs of minutes.
    """

    def __init__(self, label: str = "simulating", width: int = 32):
        self.label = label
        self.width = width
        self.started = time.monotonic()
        self.shown = 0.0
        self.active = sys.stderr.isatty()
        self.told = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        elapsed = now - self.started
        left = elapsed * (total - done) / max(1, done)
        if not self.active:
            if not self.told and elapsed > TELL_AFTER_S:
                self.told = True
                if left > TELL_ABOVE_S:
                    said = f"{done} of {total} clusters done, about {_time(left)} left; a smaller grid is faster"
                    sys.stderr.write(f"note: {self.label}: {said}\n")
            return
        if elapsed < 1 or (now - self.shown < 0.1 and done < total):
            return
        self.shown = now
        filled = self.width * done // max(1, total)
        line = f"{self.label} [{'#' * filled}{'.' * (self.width - filled)}] {done}/{total} clusters"
        end = f", about {_time(left)} left  " if done < total else f"{' ' * 24}\n"
        sys.stderr.write(f"\r{line}{end}")
        sys.stderr.flush()


def _time(seconds: float) -> str:
    """``90 s``, ``12 min`` or ``3.4 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
