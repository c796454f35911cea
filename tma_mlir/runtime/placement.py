"""Where a launch runs: which GPU, which stream, and what it has to wait for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import driver, streams
from .arrays import HOST, ArrayView, framework_of
from .errors import ArgumentTypeError


@dataclass(frozen=True)
class Order:
    """``stream``: the handle to launch on. ``given``: the caller chose it, and orders the work."""

    stream: int
    given: bool


def choose_stream(stream: Any, arguments: Sequence[Any]) -> Order:
    """The caller's stream, or the current one of the first argument's framework, or the legacy default stream."""
    if stream is not None:
        return Order(streams.handle_of(stream), True)
    for argument in arguments:
        framework = framework_of(type(argument))
        if framework == "torch" and argument.is_cuda:
            return Order(streams.current_of("torch", argument.get_device()), False)
        if framework == "cupy":
            return Order(streams.current_of("cupy", argument.device.id), False)
    return Order(streams.LEGACY, False)


def choose_device(kernel: str, views: Iterable[ArrayView], order: Order) -> int:
    """The GPU to launch on: the stream's, the arrays', the current one, or GPU 0, in this order.

    Enables peer access to arrays on other GPUs; raises ``ArgumentTypeError`` where that is impossible or the choice
    is open.
    """
    if driver.device_count() == 1:
        return 0
    places = {_ordinal(view) for view in views if view.device != HOST}
    chosen = _stream_device(order.stream) if order.given else None
    if chosen is None and len(places) == 1:
        (chosen,) = places
    if chosen is None:
        current = driver.current_device()
        if places and current not in places:
            listing = ", ".join(map(str, sorted(places)))
            raise ArgumentTypeError(
                kernel,
                [f"arrays are on GPUs {listing}. Make the GPU to run on current, or pass one of its streams"],
            )
        chosen = current or 0
    problems = [
        f"an array is on GPU {place}, which GPU {chosen} cannot reach. Copy it to GPU {chosen}"
        for place in sorted(places)
        if not driver.enable_peer(chosen, place)
    ]
    if problems:
        raise ArgumentTypeError(kernel, problems)
    return chosen


def _ordinal(view: ArrayView) -> int:
    if view.device is not None:
        return view.device
    if not view.pointer:
        return driver.current_device() or 0
    attribute = driver.cuda().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(driver.call("cuPointerGetAttribute", attribute, view.pointer, context=f"memory at {view.pointer:#x}"))


def _stream_device(stream: int) -> int | None:
    """The GPU of a stream; None for the default streams, which follow the current context."""
    if stream in (0, 1, 2):
        return None
    answer = driver.call("cuStreamGetCtx", driver.cuda().CUstream(stream))
    driver.call("cuCtxPushCurrent", answer[0] if isinstance(answer, tuple) else answer)
    try:
        return int(driver.call("cuCtxGetDevice"))
    finally:
        driver.call("cuCtxPopCurrent")


def other_streams(views: Iterable[ArrayView], order: Order) -> set[int]:
    """Streams of producers that the launch has to wait for, and that have to wait for the launch."""
    found = {view.producer_stream for view in views if view.producer_stream}
    if not order.given:
        found |= {
            streams.current_of(view.framework, view.device)
            for view in views
            if streams.has_own_stream(view.framework) and view.device is not None
        }
    return found - {order.stream}
