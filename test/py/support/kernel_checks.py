"""A random kernel by definition, in the simulator and on the GPU: every byte of every tensor is compared."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tma_mlir.bindings import ir
from tma_mlir.compile.compiler import CompiledModule, CompileError, compile_text
from tma_mlir.dialect import make_context
from tma_mlir.sim.errors import SimulationError
from tma_mlir.sim.simulate import simulate

from .random_kernels import RandomKernel, random_kernel
from .random_kernels.tensors import Tensor

ATTEMPTS = 5
"""Kernels that are tried for a seed, if the planner refuses."""


@dataclass
class Outcome:
    """``failure``: what is wrong, empty if all bytes are equal. ``refused``: what the planner said of the kernels that
    were tried before this one. ``lost``: the GPU's context cannot be used any more."""

    seed: int
    family: str
    features: list[str]
    text: str
    failure: str = ""
    refused: list[str] = field(default_factory=list)
    lost: bool = False


def check_kernel(seed: int, *, gpu: bool = False, sim: bool = True, assemble: bool = True) -> Outcome:
    """Makes, compiles and runs the kernel of ``seed``; never raises for what is wrong with it."""
    refused: list[str] = []
    for attempt in range(ATTEMPTS):
        kernel = random_kernel(seed, attempt)
        outcome = Outcome(seed, kernel.family, kernel.features, kernel.text, refused=refused)
        try:
            made = compile_text(
                kernel.text, "sm_90a", keep=("lowered",), assemble_cubin=assemble or gpu, context=_context()
            )
        except Exception as error:
            if isinstance(error, CompileError) and (said := _refusal(str(error))):
                refused.append(said)
                continue
            outcome.failure = f"compiling: {type(error).__name__}: {error}"
            return outcome
        problems = [*(_simulated(kernel, made) if sim else []), *(_launched(kernel, made, outcome) if gpu else [])]
        outcome.failure = "\n".join(problems)
        return outcome
    outcome.failure = f"refused {ATTEMPTS} times"
    return outcome


@functools.cache
def _context() -> ir.Context:
    """The one that this process compiles in: making it takes as long as planning a kernel."""
    return make_context()


def _refusal(message: str) -> str:
    """The planner's located error by a rule, empty if the message is something else."""
    found = re.search(r"^\S+:\d+:\d+: error: 'tile\.copy_async' op .*\(rule: .*$", message, re.MULTILINE)
    return found[0] if found else ""


def _simulated(kernel: RandomKernel, made: CompiledModule) -> list[str]:
    memories, arguments = kernel.arrays()
    try:
        result = simulate(
            made.texts["lowered"], made.signatures["k"], arguments, kernel.grid, kernel.block,
            schedule_seed=kernel.seed % 8,
        )  # fmt: skip
    except SimulationError as error:
        return [f"simulator: {error}"]
    except Exception as error:
        return [f"simulator: {type(error).__name__}: {error}"]
    return [
        *(f"simulator, finding: {finding}" for finding in result.findings),
        *(f"simulator, other bytes: {each}" for each in kernel.differences(memories)),
    ]


def _launched(kernel: RandomKernel, made: CompiledModule, outcome: Outcome) -> list[str]:
    """On the GPU: seeds take turns between NumPy arrays and memory of the device with gaps that are compared too."""
    from tma_mlir.runtime import Kernel
    from tma_mlir.runtime.errors import CudaError

    assert made.cubin is not None
    try:
        launch = Kernel(made.cubin, made.signatures["k"])
        if kernel.seed % 2:
            memories, arguments = kernel.arrays()
            launch[kernel.grid, kernel.block](*arguments)
        else:
            memories = _launched_in_place(kernel, launch)
        launch.unload()
    except CudaError as error:
        outcome.lost = True
        return [f"GPU: {error}"]
    except Exception as error:
        return [f"GPU: {type(error).__name__}: {error}"]
    return [f"GPU, other bytes: {each}" for each in kernel.differences(memories)]


@dataclass
class DeviceArray:
    """A tensor in device memory at ``pointer``, for ``__cuda_array_interface__``."""

    tensor: Tensor
    pointer: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        tensor = self.tensor
        view = tensor.array(tensor.memory)
        kind = view.dtype.str if view.dtype.kind in "iuf" and view.dtype.isbuiltin == 1 else f"|V{view.itemsize}"
        start = self.pointer + tensor.offset * tensor.element_bytes
        return {"version": 3, "shape": view.shape, "strides": view.strides, "typestr": kind, "data": (start, False)}


def _launched_in_place(kernel: RandomKernel, launch: Any) -> list[np.ndarray]:
    from tma_mlir.runtime import driver

    memories = [tensor.memory.copy() for tensor in kernel.tensors]
    with driver.current(0):
        pointers = [int(driver.call("cuMemAlloc", memory.nbytes)) for memory in memories]
        for pointer, memory in zip(pointers, memories, strict=True):
            driver.call("cuMemcpyHtoD", pointer, memory.ctypes.data, memory.nbytes)
        arrays = iter(DeviceArray(*each) for each in zip(kernel.tensors, pointers, strict=True))
        arguments = [next(arrays) if isinstance(each, Tensor) else each for each in kernel.arguments]
        launch[kernel.grid, kernel.block](*arguments)
        driver.call("cuCtxSynchronize")
        for pointer, memory in zip(pointers, memories, strict=True):
            driver.call("cuMemcpyDtoH", memory.ctypes.data, pointer, memory.nbytes)
            driver.call("cuMemFree", pointer)
    return memories
