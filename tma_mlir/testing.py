"""Help for tests of kernels: run them in the simulator, without a GPU.

def test_copy():
    x, y = np.arange(2048, dtype=np.float16).reshape(8, 256), np.zeros((8, 256), np.float16)
    tma_mlir.testing.simulate("copy.mlir", grid=1, block=128, args=[x, y], schedules=20)
    np.testing.assert_array_equal(y, x)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .abi.signature import KernelSignature
from .compile.compiler import CompiledModule, compile_file, compile_text
from .sim.errors import Finding, SimulationError
from .sim.schedules import simulate_schedules
from .sim.simulate import SimulationResult

__all__ = ["Finding", "SimulationError", "SimulationResult", "simulate"]


def simulate(
    kernel: str | Path | CompiledModule,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    args: Sequence[Any] = (),
    *,
    name: str | None = None,
    cluster: int | Sequence[int] | None = None,
    schedules: int = 1,
    checks: bool | str = True,
    profile: bool = False,
    max_steps: int | None = None,
    trace: str | Path | None = None,
) -> SimulationResult:
    """Compile ``kernel`` and run it on ``args``; NumPy arrays among them are changed in place.

    ``kernel``: a file, MLIR text, or a compiled module that kept its ``lowered`` text. ``name`` picks one of several
    kernels. ``grid``, ``block`` and ``cluster`` default to what the kernel says. ``schedules``: run that many orders of
    warps and copies and require one answer. ``max_steps``: steps
    after which a run counts as endless (10^10). ``trace``: write the timeline of the first for Perfetto. Raises
    ``SimulationError`` for hangs, races, faults and out-of-bounds accesses, with source locations.
    """
    compiled = _compiled(kernel)
    signature = _signature(compiled, name)
    result = simulate_schedules(
        compiled.texts["lowered"],
        signature,
        args,
        grid,
        block,
        cluster,
        schedules=schedules,
        checks=checks,
        profile=profile,
        max_steps=max_steps,
        trace=trace is not None,
    )
    if trace is not None and result.trace is not None:
        result.trace.write(trace)
    return result


def _compiled(kernel: str | Path | CompiledModule) -> CompiledModule:
    if isinstance(kernel, CompiledModule):
        if "lowered" not in kernel.texts:
            raise ValueError('the compiled module has no lowered text: compile with keep=("lowered",)')
        return kernel
    if isinstance(kernel, Path) or "\n" not in kernel:
        return compile_file(kernel, keep=("lowered",), assemble_cubin=False)
    return compile_text(kernel, keep=("lowered",), assemble_cubin=False)


def _signature(compiled: CompiledModule, name: str | None) -> KernelSignature:
    signatures = compiled.signatures
    if name is None and len(signatures) == 1:
        return next(iter(signatures.values()))
    if name not in signatures:
        raise ValueError(f"name one of the kernels {', '.join(signatures) or '(none)'}; got {name!r}")
    return signatures[name]
