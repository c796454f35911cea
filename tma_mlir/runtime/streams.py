"""Stream handles: a stream of any framework as a number, and each framework's current stream."""

from __future__ import annotations

import sys
from typing import Any

from ..abi.scalars import shown
from . import driver

LEGACY = 0
"""Handle of CUDA's legacy default stream."""


MAX_STREAMS = 64
"""Streams that driver objects are kept for."""


class _DriverStreams(dict[int, Any]):
    """The driver's ``CUstream`` of a handle. Making one at each launch, or passing the number, costs 0.1 to 0.2 us."""

    def __missing__(self, handle: int) -> Any:
        if len(self) >= MAX_STREAMS:
            self.clear()
        made = self[handle] = driver.cuda().CUstream(handle)
        return made


DRIVER_STREAMS = _DriverStreams()
"""Of this process, for every GPU."""


def handle_of(stream: Any) -> int:
    """The ``CUstream`` number of a stream: an int, or a stream of PyTorch, CuPy, cuda.core, cuda.bindings or of any
    object with ``__cuda_stream__``. Raises ``TypeError`` for anything else."""
    handle = stream if isinstance(stream, int) else _handle_in(stream)
    if handle >> 64:
        raise TypeError(f"{shown(handle)} is not the handle of a stream: it is an address")
    return handle


def _handle_in(stream: Any) -> int:
    name = type(stream).__qualname__
    try:
        protocol: Any = getattr(stream, "__cuda_stream__", None)
        if callable(protocol):
            answer: Any = protocol()
            return int(answer[1])
        for each in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba and older cuda.core
            if hasattr(stream, each):
                return int(getattr(stream, each))
        if name == "CUstream":
            return int(stream)
    except Exception as error:  # a stream may be of anybody's class
        raise TypeError(f"{name} cannot be read as a stream: {type(error).__name__}: {error}") from error
    raise TypeError(
        f"{name} is not a stream: needed: an int, an object with __cuda_stream__, or a stream of PyTorch, CuPy or "
        "cuda-python"
    )


def current_of(framework: str, ordinal: int) -> int:
    """The stream that ``framework`` runs its work on for GPU ``ordinal``, or the legacy default stream."""
    if framework == "torch":
        # torch.cuda.current_stream builds an object for 5 us; this is what it asks.
        return sys.modules["torch"]._C._cuda_getCurrentRawStream(ordinal)
    if framework == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream(ordinal).ptr
    return LEGACY


def has_own_stream(framework: str) -> bool:
    """Whether the framework exposes its stream, so that launches on it are ordered with the framework's own work."""
    return framework in ("torch", "cupy")


def order_after(producer: int, consumer: int) -> None:
    """Makes later work on stream ``consumer`` wait for the work that is on stream ``producer`` now."""
    if producer == consumer or {producer, consumer} <= {0, 1}:
        return
    event = driver.call("cuEventCreate", int(driver.cuda().CUevent_flags.CU_EVENT_DISABLE_TIMING))
    try:
        driver.call("cuEventRecord", event, driver.cuda().CUstream(producer))
        driver.call("cuStreamWaitEvent", driver.cuda().CUstream(consumer), event, 0)
    finally:
        driver.call("cuEventDestroy", event)
