"""Anyone's array as an ``ArrayView``: pointer, shape, strides, element type, device.

Known frameworks are read through their own attributes, which is fast and knows bf16 and fp8; the rest through
``__dlpack__`` (old and versioned capsules) or ``__cuda_array_interface__``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import TORCH_DTYPES
from . import dlpack

HOST = -1
"""``ArrayView.device`` of memory that only the CPU sees."""


@dataclass(frozen=True)
class ArrayView:
    """Memory of an array, without owning it.

    ``pointer``: address of the first element (index 0 in every dimension). ``shape`` and ``strides`` in elements,
    outermost first. ``dtype``: NumPy's, bf16 and fp8 from ml_dtypes; None for raw bits of ``itemsize`` bytes that the
    exporter could not name. ``device``: a GPU's ordinal, ``HOST``, or None for memory of some GPU not named.
    ``framework``: whose array it is (``torch``, ``cupy``, ``jax``, ``numpy`` or empty). ``producer_stream``: the
    stream it may still be written on. ``owner`` keeps the memory, and an exporter's capsule, alive. ``host``: the NumPy
    array of a ``HOST`` view.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype | None
    itemsize: int
    device: int | None
    readonly: bool = False
    framework: str = ""
    producer_stream: int | None = None
    owner: Any = field(default=None, repr=False, compare=False)
    host: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def dtype_name(self) -> str:
        return str(self.dtype) if self.dtype is not None else f"{8 * self.itemsize}-bit elements"


def view(array: Any, stream: int = 0) -> ArrayView:
    """The memory of ``array``; work on ``stream`` may use it (exporters are told, so that they order themselves).

    Raises ``TypeError`` for anything that is not an array, and for an array that a kernel could not address.
    """
    if isinstance(array, np.ndarray):
        return of_numpy(array)
    framework = framework_of(type(array))
    if framework == "torch":
        return _of_torch(array)
    if framework == "cupy":
        return _of_cupy(array)
    if hasattr(type(array), "__dlpack__"):
        return _of_dlpack(array, stream, framework)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_cuda_array_interface(array)
    raise TypeError(
        f"{type(array).__module__}.{type(array).__qualname__} is not an array: it has neither __dlpack__ nor "
        "__cuda_array_interface__"
    )


_FRAMEWORKS = {
    ("torch", "Tensor"): "torch",
    ("cupy", "ndarray"): "cupy",
    ("jaxlib", "ArrayImpl"): "jax",
    ("jaxlib", "Array"): "jax",
    ("jax", "ArrayImpl"): "jax",
    ("jax", "Array"): "jax",
}
"""Frameworks by the package and name of their array class."""


@cache
def framework_of(kind: type) -> str:
    """``torch``, ``cupy`` or ``jax`` for their array types and types derived from these, else an empty string."""
    for base in kind.__mro__:
        found = _FRAMEWORKS.get((base.__module__.partition(".")[0], base.__name__))
        if found:
            return found
    return ""


def of_numpy(array: np.ndarray, *, owner: Any = None, readonly: bool = False) -> ArrayView:
    """A NumPy array; the launch stages it to the device and copies it back."""
    return ArrayView(
        pointer=array.__array_interface__["data"][0],
        shape=array.shape,
        strides=_elements(array.strides, array.itemsize),
        dtype=array.dtype,
        itemsize=array.itemsize,
        device=HOST,
        readonly=readonly or not array.flags.writeable,
        framework="numpy",
        owner=array if owner is None else owner,
        host=array,
    )


def _of_torch(tensor: Any) -> ArrayView:
    place = tensor.device
    if str(tensor.layout) != "torch.strided":
        raise TypeError(f"a {tensor.layout} tensor has no single memory: use .to_dense()")
    if tensor.is_conj() or tensor.is_neg():
        raise TypeError("a lazily conjugated or negated tensor: use .resolve_conj().resolve_neg()")
    dtype = torch_dtype(tensor.dtype)
    if place.type == "cpu":
        pointer, shape, strides = tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride())
        host = dlpack.host_array(pointer, shape, strides, dtype, tensor)
        return of_numpy(host, owner=tensor)
    if place.type != "cuda":
        raise TypeError(f"a tensor on {place}: needed: an NVIDIA GPU or the CPU")
    return ArrayView(
        pointer=tensor.data_ptr(),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        dtype=dtype,
        itemsize=dtype.itemsize,
        device=place.index,
        framework="torch",
        owner=tensor,
    )


def torch_dtype(dtype: Any) -> np.dtype:
    """NumPy's dtype for a ``torch.dtype``."""
    name = str(dtype).removeprefix("torch.")
    if name in TORCH_DTYPES:
        return TORCH_DTYPES[name].numpy
    if name in ("complex64", "complex128"):
        return np.dtype(name)
    raise TypeError(f"no kernel can take elements of type {dtype}")


def _of_cupy(array: Any) -> ArrayView:
    return ArrayView(
        pointer=array.data.ptr,
        shape=tuple(array.shape),
        strides=_elements(array.strides, array.itemsize),
        dtype=np.dtype(array.dtype),
        itemsize=array.itemsize,
        device=array.device.id,
        framework="cupy",
        owner=array,
    )


def _of_dlpack(array: Any, stream: int, framework: str) -> ArrayView:
    device_type, device = array.__dlpack_device__()
    if int(device_type) not in (*dlpack.ON_HOST, *dlpack.ON_GPU):
        raise TypeError(f"memory of DLPack device type {int(device_type)}: needed: an NVIDIA GPU or the CPU")
    tensor = dlpack.export(array, None if int(device_type) in dlpack.ON_HOST else stream)
    if tensor.device_type in dlpack.ON_HOST:
        if tensor.dtype is None:
            raise TypeError("host memory with elements of an unknown DLPack type")
        host = dlpack.host_array(tensor.pointer, tensor.shape, tensor.strides, tensor.dtype, tensor.owner)
        return of_numpy(host, owner=tensor.owner, readonly=tensor.readonly)
    return ArrayView(
        pointer=tensor.pointer,
        shape=tensor.shape,
        strides=tensor.strides,
        dtype=tensor.dtype,
        itemsize=tensor.itemsize,
        # Pinned and managed memory is addressable from every GPU.
        device=int(device) if tensor.device_type == dlpack.CUDA else None,
        readonly=tensor.readonly,
        framework=framework,
        owner=(array, tensor.owner),
    )


def _of_cuda_array_interface(array: Any) -> ArrayView:
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("a masked array: pass its data and its mask as two arguments")
    kind = interface["typestr"]
    dtype: np.dtype | None = np.dtype(kind)
    itemsize = dtype.itemsize
    if kind[1:2] == "V":  # how exporters spell what NumPy has no name for
        dtype = None
    elif kind[0] == ">":
        raise TypeError(f"big-endian elements ({kind})")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    pointer, readonly = interface["data"]
    return ArrayView(
        pointer=pointer,
        shape=shape,
        strides=dlpack.dense_strides(shape) if strides is None else _elements(strides, itemsize),
        dtype=dtype,
        itemsize=itemsize,
        device=None,
        readonly=bool(readonly),
        producer_stream=interface.get("stream"),
        owner=array,
    )


def _elements(strides_bytes: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if any(stride % itemsize for stride in strides_bytes):
        raise TypeError(
            f"strides of {', '.join(map(str, strides_bytes))} B are not whole elements of {itemsize} B (a field of a "
            "structured array?). Copy it into an array of its own"
        )
    return tuple(stride // itemsize for stride in strides_bytes)


def is_array(value: Any) -> bool:
    """Whether ``view`` would take it (without looking inside)."""
    if isinstance(value, np.generic):
        return False
    kind = type(value)
    return bool(
        isinstance(value, np.ndarray)
        or framework_of(kind)
        or hasattr(kind, "__dlpack__")
        or hasattr(value, "__cuda_array_interface__")
    )
