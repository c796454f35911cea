"""Runs a kernel on a GPU or in the simulator and compares with what its copies mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..abi.extents import Extent
from ..abi.signature import KernelSignature
from ..compile.compiler import CompiledModule
from ..sim.reference_copy import recorded
from .arguments import Value
from .reference import Reference, copy_arguments, lower_reference, storage_of

Values = Sequence[Value]


class RunError(Exception):
    """The kernel could not be run; the message says why and what to do."""


@dataclass(frozen=True)
class Mismatch:
    """Argument ``argument`` differs from the reference in ``count`` elements, first at ``index``."""

    argument: int
    count: int
    total: int
    index: tuple[int, ...]
    found: str
    expected: str

    def __str__(self) -> str:
        at = ", ".join(map(str, self.index))
        return (
            f"argument {self.argument}: {self.count} of {self.total} elements differ, first at [{at}]: "
            f"found {self.found}, expected {self.expected}"
        )


class Expected(list[Value]):
    """Arguments as the reference leaves them. ``slack``: for arguments whose elements are sums of several reductions of
    floats, how far another order of the reductions may lie from each element (``sim.definition_values.FloatSums``).
    ``executed``: copies of the kernel, counted in its text, that were executed at all."""

    def __init__(self, values: Values):
        super().__init__(values)
        self.slack: dict[int, np.ndarray] = {}
        self.executed = 0


def gpu_available() -> bool:
    """Whether a CUDA device can be used in this process."""
    from ..runtime import driver

    return driver.available()


@dataclass(frozen=True)
class Extents:
    """Grid, block and cluster to launch with; None for what the module says."""

    grid: Extent = None
    block: Extent = None
    cluster: Extent = None


def run_gpu(
    compiled: CompiledModule, signature: KernelSignature, arguments: Values, extents: Extents = Extents()
) -> None:
    """Launches on the first device and waits; arrays are changed in place."""
    from ..runtime.kernel import Kernel

    if compiled.cubin is None:
        raise RunError("there is no cubin to run")
    kernel = Kernel(compiled.cubin, signature)
    kernel.launch(extents.grid, extents.block, *arguments, cluster=extents.cluster)


def run_simulator(
    lowered: str,
    signature: KernelSignature,
    arguments: Values,
    extents: Extents = Extents(),
    *,
    seed: int = 0,
    checks: bool = True,
) -> None:
    """Executes a lowered module; arrays are changed in place."""
    from ..sim.simulate import simulate

    grid, block, cluster = extents.grid, extents.block, extents.cluster
    simulate(lowered, signature, arguments, grid, block, cluster, schedule_seed=seed, checks=checks)


def reference_result(
    text: str | bytes, name: str, kernel: str, arguments: Values, extents: Extents = Extents()
) -> Expected:
    """What ``arguments`` are after the kernel, every copy done by its definition; 0 for those that hold descriptors."""
    return run_reference(lower_reference(text, name), kernel, arguments, extents)


def run_reference(reference: Reference, kernel: str, arguments: Values, extents: Extents = Extents()) -> Expected:
    """``reference_result`` of what ``lower_reference`` gave."""
    lowered, signatures, scratch = reference
    result = Expected(copy_arguments(arguments))
    with recorded() as recording:
        run_simulator(lowered, signatures[kernel], result, extents, checks=False)
    for argument, value in enumerate(result):
        slack = recording.sums.slack(value) if isinstance(value, np.ndarray) else None
        if slack is not None:
            result.slack[argument] = slack
    for argument in scratch[kernel]:
        result[argument] = 0
    result.executed = len(recording.executed)
    return result


def compare(found: Values, expected: Values) -> list[Mismatch]:
    """Arrays whose bytes differ, and arrays between whose elements something was written.

    Elements with a ``slack`` may differ by as much: they are sums of several reductions, whose order is not defined.
    """
    mismatches = []
    slack = expected.slack if isinstance(expected, Expected) else {}
    for argument, (actual, wanted) in enumerate(zip(found, expected, strict=True)):
        if not isinstance(actual, np.ndarray) or not isinstance(wanted, np.ndarray):
            continue
        if argument in slack:
            wanted = _nearest(actual, wanted, slack[argument])
        different = (_bytes(actual) != _bytes(wanted)).any(axis=-1)
        if different.any():
            index = tuple(int(i) for i in np.argwhere(different)[0])
            count, total = int(different.sum()), different.size
            mismatches.append(Mismatch(argument, count, total, index, str(actual[index]), str(wanted[index])))
            continue
        stored, meant = storage_of(actual), storage_of(wanted)
        if stored.size == meant.size and (stored != meant).any():
            place = int(np.argmax(stored != meant))
            count = int((stored != meant).sum())
            mismatches.append(
                Mismatch(
                    argument,
                    count,
                    stored.size,
                    (place,),
                    f"byte {stored[place]:#x} between elements",
                    f"{meant[place]:#x}",
                )
            )
    return mismatches


def _nearest(actual: np.ndarray, wanted: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """``wanted`` with the elements of ``actual`` that lie within their slack of it."""
    (result,) = copy_arguments([wanted])
    assert isinstance(result, np.ndarray)
    with np.errstate(invalid="ignore"):
        near = np.abs(actual.astype(np.float64) - wanted.astype(np.float64)) <= slack
    near |= np.isnan(actual) & np.isnan(wanted) & (slack > 0)
    result[near] = actual[near]
    return result


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of each element along a new last axis, so that NaNs compare by pattern."""
    dense = np.ascontiguousarray(array)
    return dense.view(np.uint8).reshape(*array.shape, array.itemsize)
