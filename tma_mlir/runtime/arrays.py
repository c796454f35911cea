"""Anyone's array as an ``ArrayView``: pointer, shape, strides, element type, device.

Known frameworks are read through their own attributes, which is fast and knows bf16 and fp8; the rest through
``__dlpack__`` (old and versioned capsules) or ``__cuda_array_interface__``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
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

    Raises ``TypeError`` for anything that is not an array, for an array that a kernel could not address, and for an
    exporter that says what cannot be or raises anything but ``BufferError``, which is how exporters refuse.
    """
    if isinstance(array, np.ndarray):
        return of_numpy(array)
    try:
        return _checked(_of_foreign(array, stream))
    except (TypeError, BufferError):
        raise
    except Exception as error:  # an exporter is anybody's code
        name = f"{type(array).__module__}.{type(array).__qualname__}"
        raise TypeError(f"{name} cannot be read as an array: {type(error).__name__}: {error}") from error


def _of_foreign(array: Any, stream: int) -> ArrayView:
    framework = framework_of(type(array))
    if framework == "torch":
        return _of_torch(array)
    if framework == "cupy":
        return _of_cupy(array)
    if hasattr(type(array), "__dlpack__"):
        return _of_dlpack(array, stream, framework)
    if _has_cuda_array_interface(array):
        return _of_cuda_array_interface(array)
    raise TypeError(
        f"{type(array).__module__}.{type(array).__qualname__} is not an array: it has neither __dlpack__ nor "
        "__cuda_array_interface__"
    )


def _checked(found: ArrayView) -> ArrayView:
    """``found`` if an array can be so: nobody vouches for what an exporter says."""
    if len(found.shape) != len(found.strides) or min(found.shape, default=0) < 0:
        raise TypeError(f"an array of shape {list(found.shape)} and strides {list(found.strides)}")
    if found.itemsize < 1:
        raise TypeError(f"elements of {found.itemsize} bytes")
    reach = [(n - 1) * stride * found.itemsize for n, stride in zip(found.shape, found.strides, strict=True)]
    last = found.pointer + sum(step for step in reach if step > 0) + found.itemsize
    if 0 not in found.shape and not 0 <= found.pointer + sum(step for step in reach if step < 0) < last <= 1 << 64:
        raise TypeError(
            f"an array at address {found.pointer:#x} with shape {list(found.shape)} and strides {list(found.strides)} "
            "leaves memory"
        )
    if found.pointer >> 64:
        raise TypeError(f"an address of {found.pointer:#x}")
    return found


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


_MASKED = "a masked array: pass its data and its mask as two arguments"


def of_numpy(array: np.ndarray, *, owner: Any = None, readonly: bool = False) -> ArrayView:
    """A NumPy array; the launch stages it to the device and copies it back."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(_MASKED)
    if array.dtype.hasobject:
        raise TypeError(f"elements are {array.dtype}: references to Python objects mean nothing to a kernel")
    if not array.itemsize:
        raise TypeError(f"elements are {array.dtype}, which have no bytes")
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
    device_type, device = map(int, array.__dlpack_device__())
    _check_device(device_type, device)
    tensor = dlpack.export(array, None if device_type in dlpack.ON_HOST else stream)
    _check_device(tensor.device_type, tensor.device_id)
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
        device=device if tensor.device_type == dlpack.CUDA else None,
        readonly=tensor.readonly,
        framework=framework,
        owner=(array, tensor.owner),
    )


def _check_device(device_type: int, device: int) -> None:
    if device_type not in (*dlpack.ON_HOST, *dlpack.ON_GPU):
        raise TypeError(f"memory of DLPack device type {device_type}: needed: an NVIDIA GPU or the CPU")
    if device < 0:
        raise TypeError(f"memory of device {device}")


def _of_cuda_array_interface(array: Any) -> ArrayView:
    interface = array.__cuda_array_interface__
    if not isinstance(interface, Mapping):
        raise TypeError(f"__cuda_array_interface__ is {type(interface).__qualname__}, needed: a dictionary")
    missing = [name for name in ("shape", "typestr", "data") if name not in interface]
    if missing:
        raise TypeError(f"__cuda_array_interface__ has no {', '.join(missing)}")
    if interface.get("mask") is not None:
        raise TypeError(_MASKED)
    kind = interface["typestr"]
    if not isinstance(kind, str):
        raise TypeError(f"the typestr of __cuda_array_interface__ is {kind!r}, needed: a text as '<f4'")
    dtype: np.dtype | None = np.dtype(kind)
    itemsize = dtype.itemsize
    if dtype.hasobject:
        raise TypeError(f"elements are {dtype}: references to Python objects mean nothing to a kernel")
    if kind[1:2] == "V":  # how exporters spell what NumPy has no name for
        dtype = None
    elif kind[0] == ">":
        raise TypeError(f"big-endian elements ({kind})")
    shape = _integers(interface["shape"])
    strides = interface.get("strides")
    pointer, readonly = interface["data"]
    producer = interface.get("stream")
    if producer is not None and operator.index(producer) < 1:
        raise TypeError(f"the stream of __cuda_array_interface__ is {producer}, needed: 1 or more")
    return ArrayView(
        pointer=operator.index(pointer),
        shape=shape,
        strides=dlpack.dense_strides(shape) if strides is None else _elements(_integers(strides), itemsize),
        dtype=dtype,
        itemsize=itemsize,
        device=None,
        readonly=bool(readonly),
        producer_stream=None if producer is None else operator.index(producer),
        owner=array,
    )


def _integers(values: Any) -> tuple[int, ...]:
    return tuple(operator.index(each) for each in values)


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
        or _has_cuda_array_interface(value)
    )


def _has_cuda_array_interface(value: Any) -> bool:
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:  # it has one; ``view`` says what it raises
        return True
