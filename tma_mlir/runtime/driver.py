"""The CUDA driver: loaded when first used, results as exceptions, one primary context a device.

Everything else in the runtime reaches the driver through ``cuda()`` and ``call``.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..chips import native_name
from .errors import CudaError, NoDevice

MINIMUM_DRIVER = 12000
"""Tensor maps and ``cuLibrary`` came with CUDA 12.0 (driver API)."""


@cache
def cuda() -> Any:
    """``cuda.bindings.driver``, initialised. Raises ``NoDevice`` without a usable driver or GPU."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise NoDevice(f"cuda.bindings is missing ({error}): pip install 'tma-mlir[cuda]'") from None
    try:
        (result,) = driver.cuInit(0)
    except Exception as error:  # cuda.pathfinder's own classes, which differ between its versions
        raise NoDevice(
            f"no CUDA driver on this machine ({type(error).__name__}). Install the NVIDIA driver, or use the simulator"
        ) from None
    if result != 0:
        raise NoDevice(str(CudaError("cuInit", result.name, int(result))))
    version = _checked(driver, "cuDriverGetVersion", driver.cuDriverGetVersion())
    if version < MINIMUM_DRIVER:
        raise NoDevice(
            f"the driver supports CUDA {_dotted(version)}, needed: {_dotted(MINIMUM_DRIVER)} or newer. Update it"
        )
    return driver


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def available() -> bool:
    """Whether there is a GPU to run on."""
    try:
        return device_count() > 0
    except NoDevice:
        return False


def call(name: str, *arguments: Any, context: str = "") -> Any:
    """Calls the driver function ``name``; its values without the result code (one value, a tuple, or None).

    Raises ``CudaError``; ``context`` says what the call was for.
    """
    driver = cuda()
    return _checked(driver, name, getattr(driver, name)(*arguments), context)


def _checked(driver: Any, name: str, answer: tuple, context: str = "") -> Any:
    result, *values = answer
    if result != 0:
        raise CudaError(name, result.name, int(result), context)
    return values[0] if len(values) == 1 else tuple(values) or None


@cache
def driver_version() -> int:
    """The CUDA version the driver supports, as 1000 * major + 10 * minor."""
    return call("cuDriverGetVersion")


@cache
def device_count() -> int:
    return call("cuDeviceGetCount")


@dataclass(frozen=True)
class Device:
    """A GPU and its primary context, which PyTorch, CuPy and JAX use as well.

    ``shared_bytes``: most shared memory a block can have (static and dynamic), in bytes.
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    shared_bytes: int
    context: Any

    @property
    def chip(self) -> str:
        """What to compile for."""
        return native_name(*self.capability)


@cache
def device(ordinal: int) -> Device:
    """GPU number ``ordinal``; raises ``NoDevice`` if there is none."""
    if not 0 <= ordinal < device_count():
        raise NoDevice(f"there is no GPU {ordinal}: this machine has {device_count()} (see CUDA_VISIBLE_DEVICES)")
    handle = call("cuDeviceGet", ordinal)
    attributes = cuda().CUdevice_attribute

    def attribute(suffix: str) -> int:
        return call("cuDeviceGetAttribute", getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{suffix}"), handle)

    return Device(
        ordinal=ordinal,
        name=call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode(),
        capability=(attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")),
        shared_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        context=call("cuDevicePrimaryCtxRetain", handle, context=f"GPU {ordinal}"),
    )


def native_chip() -> str:
    """The chip of the current device, or of GPU 0 when no context is current."""
    current = current_device()
    return device(0 if current is None else current).chip


def current_device() -> int | None:
    """Ordinal of the device whose context is current in this thread, or None."""
    if not int(call("cuCtxGetCurrent")):
        return None
    return int(call("cuCtxGetDevice"))


@contextlib.contextmanager
def current(ordinal: int) -> Iterator[None]:
    """The primary context of GPU ``ordinal`` for a while, then the one that was current before."""
    before = call("cuCtxGetCurrent")
    context = device(ordinal).context
    if int(before) == int(context):
        yield
        return
    call("cuCtxSetCurrent", context)
    try:
        yield
    finally:
        call("cuCtxSetCurrent", before)


@contextlib.contextmanager
def during_capture() -> Iterator[None]:
    """Lets this thread load modules and allocate while some stream is being captured into a graph."""
    relaxed = cuda().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)


def is_capturing(stream: int) -> bool:
    """Whether work on the stream goes into a CUDA graph instead of the device."""
    return int(call("cuStreamIsCapturing", cuda().CUstream(stream))) != 0


_peers: set[tuple[int, int]] = set()
_peers_lock = threading.Lock()


def enable_peer(ordinal: int, peer: int) -> bool:
    """Makes memory of GPU ``peer`` accessible to kernels on GPU ``ordinal``; False where the hardware cannot."""
    if ordinal == peer or (ordinal, peer) in _peers:
        return True
    with _peers_lock:
        if not call("cuDeviceCanAccessPeer", call("cuDeviceGet", ordinal), call("cuDeviceGet", peer)):
            return False
        with current(ordinal):
            try:
                call("cuCtxEnablePeerAccess", device(peer).context, 0)
            except CudaError as error:
                if error.name != "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED":
                    raise
        _peers.add((ordinal, peer))
    return True


@cache
def tensor_map_calls() -> tuple[Callable[..., int], Callable[..., int]]:
    """``cuTensorMapEncodeTiled`` and ``cuTensorMapReplaceAddress`` on raw addresses, returning the result's number.

    ``cuda.bindings`` writes into an object of its own, which is not 128-byte aligned (CUDA 13 declares the descriptor
    so), and replacing an address takes twice as long there as through ctypes.
    """
    cuda()
    library = ctypes.CDLL("libcuda.so.1")
    pointer, u32, enum = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
    encode, replace = library.cuTensorMapEncodeTiled, library.cuTensorMapReplaceAddress
    encode.argtypes = [pointer, enum, u32, pointer, pointer, pointer, pointer, pointer, enum, enum, enum, enum]
    replace.argtypes = [pointer, pointer]
    encode.restype = replace.restype = enum
    return encode, replace


def result_name(code: int) -> str:
    """``CUDA_ERROR_...`` for a result number."""
    try:
        return cuda().CUresult(code).name
    except ValueError:
        return "unknown result"
