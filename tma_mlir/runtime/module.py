"""A cubin in the driver: loaded once a process, its kernel fetched once a device."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ..abi.signature import KernelSignature
from . import driver
from .errors import CudaError, RuntimeFault, Unloaded

PORTABLE_CLUSTER = 8


@dataclass(frozen=True)
class Function:
    """A kernel on one device. ``static_shared_bytes``, and whether its cluster is fixed, are the cubin's."""

    handle: Any
    device: driver.Device
    static_shared_bytes: int
    cluster_compiled: bool


class Module:
    """Loads lazily, so that a kernel can be made, saved and looked at on a machine without a GPU."""

    def __init__(self, cubin: bytes, signature: KernelSignature, chip: str = "") -> None:
        self._cubin, self._signature, self._chip = cubin, signature, chip
        self._library: Any = None
        self._functions: dict[int, Function] = {}
        self._unloaded = False
        self._lock = threading.Lock()

    def function(self, ordinal: int) -> Function:
        """The kernel on GPU ``ordinal``; raises ``CudaError`` if the cubin is for another chip."""
        found = self._functions.get(ordinal)
        if found is not None:
            return found
        with self._lock:
            if self._unloaded:
                raise Unloaded(f"kernel {self._signature.name!r} was unloaded. Load it again with Kernel.load")
            if ordinal not in self._functions:
                with driver.current(ordinal), driver.during_capture():
                    self._functions[ordinal] = self._load(ordinal)
            return self._functions[ordinal]

    def unload(self) -> None:
        """Frees the device's copies. Launches under way must be finished and graphs holding the kernel dropped."""
        with self._lock:
            self._unloaded = True
            self._functions.clear()
            if self._library is not None:
                library, self._library = self._library, None
                driver.call("cuLibraryUnload", library, context=f"kernel {self._signature.name!r}")

    def _load(self, ordinal: int) -> Function:
        place = driver.device(ordinal)
        name = self._signature.name
        context = f"kernel {name!r} compiled for {self._chip or 'another chip'}, GPU {ordinal} is {place.chip}"
        if self._library is None:
            self._library = driver.call("cuLibraryLoadData", self._cubin, [], [], 0, [], [], 0, context=context)
        kernel = driver.call("cuLibraryGetKernel", self._library, name.encode(), context=context)
        handle = driver.call("cuKernelGetFunction", kernel, context=context)
        attributes = driver.cuda().CUfunction_attribute

        def attribute(suffix: str) -> int:
            return driver.call("cuFuncGetAttribute", getattr(attributes, f"CU_FUNC_ATTRIBUTE_{suffix}"), handle)

        return Function(handle, place, attribute("SHARED_SIZE_BYTES"), attribute("REQUIRED_CLUSTER_WIDTH") > 0)


def allow_shared(function: Function, kernel: str, dynamic_bytes: int) -> None:
    """Lets launches have ``dynamic_bytes`` of dynamic shared memory; never lowers what they may have."""
    attribute = driver.cuda().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    if dynamic_bytes <= driver.call("cuFuncGetAttribute", attribute, function.handle):
        return
    try:
        driver.call("cuFuncSetAttribute", function.handle, attribute, dynamic_bytes)
    except CudaError as error:
        if error.name != "CUDA_ERROR_INVALID_VALUE":
            raise
        place = function.device
        raise RuntimeFault(
            f"kernel {kernel!r} needs {dynamic_bytes} B of dynamic shared memory and {function.static_shared_bytes} B "
            f"of static; a block on GPU {place.ordinal} ({place.name}) has at most {place.shared_bytes} B together. "
            "Use fewer stages or a smaller tile"
        ) from None


def allow_cluster(function: Function, blocks: int) -> None:
    """Lets launches of ``function`` have clusters above the portable size of 8 blocks."""
    if blocks > PORTABLE_CLUSTER:
        attribute = driver.cuda().CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        driver.call("cuFuncSetAttribute", function.handle, attribute, 1)
