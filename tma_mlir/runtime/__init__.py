"""Launching compiled kernels on a GPU. Imports neither MLIR nor the CUDA driver."""

from .arrays import ArrayView, view
from .driver import available, device_count, native_chip
from .errors import ArgumentTypeError, CudaError, DescriptorError, NoDevice, RuntimeFault, Unloaded
from .kernel import Kernel
from .launch import LaunchAttributes

__all__ = [
    "ArgumentTypeError",
    "ArrayView",
    "CudaError",
    "DescriptorError",
    "Kernel",
    "LaunchAttributes",
    "NoDevice",
    "RuntimeFault",
    "Unloaded",
    "available",
    "device_count",
    "native_chip",
    "view",
]
