"""The simulator's options on a command line: checks, schedules, timeline, access report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..abi.extents import Extent
from ..abi.signature import KernelSignature
from ..chips import DEFAULT_CHIP
from .errors import Finding
from .schedules import ProgressBar, simulate_schedules
from .simulate import SimulationResult


def add_options(parser: argparse.ArgumentParser) -> None:
    """``--check``, ``--schedules``, ``--max-steps``, ``--trace`` and ``--report-access``."""
    group = parser.add_argument_group("simulator", "only with --device sim")
    group.add_argument(
        "--check", choices=("all", "none"), default="all", help="look for hangs and races (default all), or only run"
    )
    group.add_argument(
        "--schedules", type=_positive, default=1, metavar="N", help="try N orders of warps and copies (default 1)"
    )
    group.add_argument(
        "--max-steps", type=_positive, metavar="N", help="stop a run that takes more steps (default 10000000000)"
    )
    group.add_argument("--trace", type=Path, metavar="FILE.json", help="write a timeline for ui.perfetto.dev")
    group.add_argument(
        "--report-access", action="store_true", help="print bank conflicts and sectors of every load and store"
    )


def _positive(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def run_with_options(
    options: argparse.Namespace,
    module: Any,
    signature: KernelSignature,
    arguments: Sequence[Any],
    chip: str = DEFAULT_CHIP,
    *,
    grid: Extent = None,
    block: Extent = None,
    cluster: Extent = None,
    warn: Callable[[Finding], None] = lambda finding: print(finding, file=sys.stderr),
) -> SimulationResult:
    """Simulate as the options say; ``warn`` gets the warnings, stdout the reports. Raises ``SimulationError``."""
    result = simulate_schedules(
        module,
        signature,
        arguments,
        grid,
        block,
        cluster,
        schedules=options.schedules,
        checks=options.check,
        profile=options.report_access,
        trace=options.trace is not None,
        progress=ProgressBar(),
        max_steps=options.max_steps,
        chip=chip,
    )
    for finding in result.findings:
        warn(finding)
    if result.profile is not None:
        for site in result.profile.report():
            print(site)
    if result.trace is not None:
        result.trace.write(options.trace)
    return result
