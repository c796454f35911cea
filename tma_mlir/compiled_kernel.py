"""A kernel that ``tma_mlir.compile`` has just made: it runs on a GPU, and from its source in the simulator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .abi.extents import Extent, promised, promised_cluster
from .runtime.arrays import HOST, ArrayView
from .runtime.artifact import unpack
from .runtime.binding import convert
from .runtime.errors import ArgumentTypeError
from .runtime.kernel import Kernel, changes_nothing
from .runtime.staging import span_bytes

if TYPE_CHECKING:
    from .sim.simulate import SimulationResult


class CompiledKernel(Kernel):
    """A ``Kernel`` with its source: text, and its name in messages. A kernel read from a file has none and cannot be
    simulated."""

    def __init__(self, *arguments: Any, source: str | bytes, source_name: str = "-", **fields: Any) -> None:
        super().__init__(*arguments, **fields)
        self.source, self.source_name = source, source_name
        self._lowered: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_bytes(), self.source, self.source_name)

    def simulate(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        cluster: Extent = None,
        schedules: int = 1,
        check: bool = True,
        profile: bool = False,
        max_steps: int | None = None,
        trace: str | os.PathLike[str] | None = None,
    ) -> SimulationResult:
        """What ``kernel[grid, block](*arguments)`` does on a GPU, done here: arrays are changed in place.

        Arrays are those of the host (NumPy, PyTorch on the CPU), and arguments, grid, block and cluster are checked as
        a launch checks them. ``schedules``: the orders of warps and copies to try; all have to give the same bytes.
        ``check``: whether to look for races and other hazards (faults and hangs are always found). ``profile``: count
        bank conflicts and sectors. ``max_steps``: steps after which a run counts as endless (10^10).
        ``trace``: a file for a timeline. The result is that of the first schedule.

        Raises ``SimulationError`` for what is wrong in the kernel, ``ArgumentTypeError``, and ``TypeError`` or
        ``ValueError`` for grid, block and cluster.
        """
        from .sim.schedules import simulate_schedules
        from .sim.simulate import SimulationResult

        signature, name = self.signature, self.signature.name
        values = convert(signature, arguments)
        grid3 = promised("grid", grid, signature.grid, name)
        block3 = promised("block", block, signature.block, name)
        cluster3 = promised_cluster(cluster, signature.cluster, grid3, name)
        passed = _passed(name, values, arguments)
        if 0 in grid3 or changes_nothing(signature, values):
            return SimulationResult((), 0, 0, 0)
        result = simulate_schedules(
            self._lowered_text(),
            signature,
            passed,
            grid3,
            block3,
            cluster3,
            schedules=schedules,
            checks=check,
            profile=profile,
            max_steps=max_steps,
            trace=trace is not None,
            chip=self.chip,
        )
        if trace is not None and result.trace is not None:
            result.trace.write(Path(trace))
        return result

    def _lowered_text(self) -> str:
        """The lowered module, made at the first call."""
        if self._lowered is None:
            from .compile.compiler import compile_text

            made = compile_text(self.source, self.chip, name=self.source_name, keep=("lowered",), assemble_cubin=False)
            self._lowered = made.texts["lowered"]
        return self._lowered


def _restored(data: bytes, source: str | bytes, source_name: str) -> CompiledKernel:
    return CompiledKernel(**unpack(data), source=source, source_name=source_name)


def _passed(kernel: str, values: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """``arguments`` with arrays as the simulator takes them: NumPy's; of a read-only one a copy."""
    passed, problems = [], []
    for index, (value, given) in enumerate(zip(values, arguments, strict=True)):
        if not isinstance(value, ArrayView):
            passed.append(given)
        elif value.device != HOST or value.host is None:
            problems.append(
                f"argument {index}: an array on a GPU, needed: one of the host. Copy it, or launch the kernel"
            )
        else:
            passed.append(_writable(value.host))
    if problems:
        raise ArgumentTypeError(kernel, problems)
    return passed


def _writable(array: np.ndarray) -> np.ndarray:
    if array.flags.writeable:
        return array
    copy = np.ndarray(array.shape, array.dtype, bytearray(span_bytes(array)), strides=array.strides)
    copy[...] = array
    return copy
