"""A driver made of Python: device memory is host memory, a launch calls a Python function with its parameters."""
# ruff: noqa: N802, N815  # the driver's names

from __future__ import annotations

import ctypes
import enum
import struct
from types import SimpleNamespace

import pytest

from tma_mlir.runtime import driver, tensor_maps


class Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


OK = (Result.CUDA_SUCCESS,)


class Names:
    """Enum classes of the bindings: every member is its own name."""

    def __getattr__(self, name):
        return name


class FakeDriver:
    """As much of ``cuda.bindings.driver`` as the runtime uses. ``launches``: what was launched, parameters as bytes.

    ``kernel``: called at a launch with the parameters' bytes. ``fail``: function name to the ``Result`` it gives.
    """

    CUstream = int
    CUresult = Result
    CUfunction_attribute = CUdevice_attribute = CUstreamCaptureMode = CUpointer_attribute = Names()
    CUlaunchAttributeID = Names()
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUlaunchConfig = SimpleNamespace

    def __init__(self, parameter_sizes):
        self.parameter_sizes = parameter_sizes
        self.launches, self.memory, self.calls, self.fail = [], {}, [], {}
        self.kernel = lambda parameters: None
        self.encoded, self.replaced = [], []
        self.context, self.devices = 0, 1
        self.encode_result = 0
        self.dynamic, self.capturing = 47 * 1024, 0

    def CUlaunchAttribute(self):
        return SimpleNamespace(id=None, value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def __getattr__(self, name):
        """Any other call succeeds and gives nothing."""
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *arguments: self._answer(name, arguments)

    def _answer(self, name, arguments):
        self.calls.append((name, *arguments))
        return (self.fail.get(name, Result.CUDA_SUCCESS),)

    def _values(self, name, arguments, *values):
        result = self._answer(name, arguments)
        return (*result, *values)

    def cuDriverGetVersion(self):
        return (*OK, 13000)

    def cuDeviceGetCount(self):
        return (*OK, self.devices)

    def cuDeviceGet(self, ordinal):
        return (*OK, ordinal)

    def cuDeviceGetName(self, size, handle):
        return (*OK, b"Fake GPU\0")

    def cuDeviceGetAttribute(self, attribute, handle):
        return (*OK, {"MAJOR": 9, "MINOR": 0, "OPTIN": 232448}[attribute.rpartition("_")[2]])

    def cuDevicePrimaryCtxRetain(self, handle):
        return (*OK, 100 + handle)

    def cuCtxGetCurrent(self):
        return (*OK, self.context)

    def cuCtxSetCurrent(self, context):
        self.context = int(context)
        return OK

    def cuCtxGetDevice(self):
        return (*OK, self.context - 100)

    def cuStreamIsCapturing(self, stream):
        return (*OK, self.capturing)

    def cuThreadExchangeStreamCaptureMode(self, mode):
        return (*OK, mode)

    def cuLibraryLoadData(self, *arguments):
        return self._values("cuLibraryLoadData", arguments, "library")

    def cuLibraryGetKernel(self, library, name):
        return (*OK, "kernel")

    def cuKernelGetFunction(self, kernel):
        return (*OK, f"function in {self.context}")

    def cuFuncGetAttribute(self, attribute, function):
        suffix = attribute.removeprefix("CU_FUNC_ATTRIBUTE_")
        return (*OK, {"SHARED_SIZE_BYTES": 1024, "MAX_DYNAMIC_SHARED_SIZE_BYTES": self.dynamic}.get(suffix, 0))

    def cuFuncSetAttribute(self, function, attribute, value):
        if attribute.endswith("MAX_DYNAMIC_SHARED_SIZE_BYTES"):
            if value > 232448 - 1024:
                return (Result.CUDA_ERROR_INVALID_VALUE,)
            self.dynamic = value
        return self._answer("cuFuncSetAttribute", (function, attribute, value))

    def cuDeviceCanAccessPeer(self, device, peer):
        return self._values("cuDeviceCanAccessPeer", (device, peer), 1)

    def cuPointerGetAttribute(self, attribute, pointer):
        return (*OK, 0)

    def cuEventCreate(self, flags):
        return self._values("cuEventCreate", (flags,), "event")

    def cuMemAlloc(self, size):
        buffer = ctypes.create_string_buffer(size + 256)
        pointer = -(-ctypes.addressof(buffer) // 256) * 256
        self.memory[pointer] = buffer
        return self._values("cuMemAlloc", (size,), pointer)

    def cuMemFree(self, pointer):
        del self.memory[pointer]
        return OK

    def cuMemcpyHtoDAsync(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return OK

    cuMemcpyDtoHAsync = cuMemcpyHtoDAsync

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        return self._launch(function, (gx, gy, gz), (bx, by, bz), shared, stream, parameters, [])

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        return self._launch(
            function, grid, block, config.sharedMemBytes, config.hStream, parameters, config.attrs[: config.numAttrs]
        )

    def _launch(self, function, grid, block, shared, stream, parameters, attributes):
        pointers = (ctypes.c_uint64 * len(self.parameter_sizes)).from_address(parameters)
        values = [ctypes.string_at(p, n) for p, n in zip(pointers, self.parameter_sizes, strict=True)]
        self.launches.append(
            SimpleNamespace(
                function=function, grid=grid, block=block, shared=shared, stream=stream, parameters=values,
                addresses=list(pointers), attributes=attributes,
            )
        )  # fmt: skip
        self.kernel(values)
        return self._answer("cuLaunchKernel", ())

    def encode(self, target, data_type, rank, address, dims, strides, box, element_strides, *enums):
        """Writes the address in front and 0xFF after it, so that a test can see which descriptor arrived."""
        assert target % 128 == 0
        self.encoded.append(
            SimpleNamespace(
                data_type=data_type, rank=rank, address=address, dims=list(dims), strides=list(strides)[: rank - 1],
                box=list(box), element_strides=list(element_strides), enums=enums,
            )
        )  # fmt: skip
        ctypes.memmove(target, struct.pack("<Q", address) + b"\xff" * 120, 128)
        return self.encode_result

    def replace(self, target, address):
        assert target % 128 == 0
        self.replaced.append(address)
        ctypes.memmove(target, struct.pack("<Q", address), 8)
        return 0


@pytest.fixture
def fake_driver(monkeypatch):
    """``fake_driver(parameter_sizes)`` puts a ``FakeDriver`` under the runtime for the test."""

    def install(parameter_sizes=()):
        fake = FakeDriver(list(parameter_sizes))
        monkeypatch.setattr(driver, "cuda", lambda: fake)
        monkeypatch.setattr(driver, "tensor_map_calls", lambda: (fake.encode, fake.replace))
        monkeypatch.setattr(tensor_maps, "CACHE", tensor_maps.DescriptorCache())
        for cached in (driver.driver_version, driver.device_count, driver.device):
            cached.cache_clear()
        driver._peers.clear()
        return fake

    yield install
    for cached in (driver.driver_version, driver.device_count, driver.device):
        cached.cache_clear()
    driver._peers.clear()
