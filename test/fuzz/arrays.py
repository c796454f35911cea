"""Random arguments for random signatures: arrays of every kind, exporters that lie or raise, numbers that are none.

Right are values that are the arguments', byte for byte, or one ``ArgumentTypeError`` with a text for each problem.
"""

from __future__ import annotations

import ctypes
import decimal
import fractions
import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from failure import Failure, of_exception
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, PointerArgument, ScalarArgument, ValueArgument
from tma_mlir.dtypes import DTYPES, DType
from tma_mlir.runtime.arrays import ArrayView
from tma_mlir.runtime.binding import convert
from tma_mlir.runtime.errors import ArgumentTypeError

WHOLE = [each for each in DTYPES.values() if not each.packed]
VALUES = {
    "vector<4xf32>": 4, "vector<3xi32>": 3, "complex<f32>": 2, "!llvm.array<3 x i16>": 3, "!llvm.struct<(i32, f64)>": 2,
    "i128": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """``honest``: by argument, the NumPy array whose memory a view has to be, where one was given as it is."""

    seed: int
    signature: KernelSignature
    arguments: tuple[Any, ...]
    honest: dict[int, np.ndarray]


def cases(seed: int) -> Case:
    rng = random.Random(seed)
    wanted: list[Any] = []
    given: list[Any] = []
    honest: dict[int, np.ndarray] = {}
    for index in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(("memref", "memref", "memref", "scalar", "scalar", "pointer", "value"))
        if kind == "memref":
            dtype = rng.choice(WHOLE)
            fitting = array_of(rng, dtype.numpy)
            wanted.append(_memref(rng, dtype, fitting))
            given.append(_offered(rng, fitting))
        elif kind == "scalar":
            wanted.append(ScalarArgument(rng.choice(WHOLE)))
            given.append(_number(rng))
        elif kind == "pointer":
            wanted.append(PointerArgument())
            given.append(rng.choice((_number, lambda r: _offered(r, array_of(r, r.choice(WHOLE).numpy)), hostile))(rng))
        else:
            text = rng.choice(list(VALUES))
            wanted.append(ValueArgument(text))
            given.append(_items(rng, VALUES[text]))
        if rng.random() < 0.15:
            given[-1] = rng.choice((hostile, _number, lambda r: _items(r, 2)))(rng)
        if type(given[-1]) is np.ndarray:
            honest[index] = given[-1]
    if rng.random() < 0.03:
        given.pop()
    return Case(seed, KernelSignature("k", (), tuple(wanted)), tuple(given), honest)


def check(case: Case) -> Failure | None:
    try:
        values = convert(case.signature, case.arguments)
    except ArgumentTypeError as error:
        return None if error.problems and all(error.problems) else Failure("an error without a text", repr(case))
    except Exception as error:
        return of_exception(error)
    for index, (wanted, given, value) in enumerate(zip(case.signature.arguments, case.arguments, values, strict=True)):
        wrong = _wrong_array(wanted, value, case.honest.get(index)) if isinstance(value, ArrayView) else (
            _wrong_bytes(wanted, given, value)
        )  # fmt: skip
        if wrong:
            return Failure(
                wrong, f"argument {index}: {wanted}, given {_text(given)}, passed {value!r}\nseed {case.seed}"
            )
    return None


def _text(given: Any) -> str:
    try:
        return f"{type(given)} {given!r}"[:1000]
    except Exception:
        return str(type(given))


def _wrong_array(wanted: Any, value: ArrayView, array: np.ndarray | None) -> str:
    if any(type(each) is not int for each in (value.pointer, *value.shape, *value.strides)):
        return "a place that is not made of integers"
    if value.pointer < 0 or value.pointer >= 1 << 64:
        return "an address that does not exist"
    if value.dtype is not None and value.dtype.hasobject:
        return "an array of Python objects is taken"
    if value.producer_stream is not None and (type(value.producer_stream) is not int or value.producer_stream < 1):
        return "a stream that is none"
    if array is not None:
        if value.pointer != array.ctypes.data or value.shape != array.shape:
            return "another memory than the array's"
        if tuple(s * array.itemsize for s in value.strides) != array.strides or value.host is not array:
            return "other strides than the array's"
        if value.readonly is array.flags.writeable:
            return "read-only is lost"
    if isinstance(value.host, np.ma.MaskedArray):
        return "a mask is dropped"
    if isinstance(wanted, MemRefArgument):
        if len(value.shape) != len(wanted.shape) or any(
            w not in (None, f) for w, f in zip(wanted.shape, value.shape, strict=True)
        ):
            return "an array of another shape is taken"
        if any(extent < 0 for extent in value.shape):
            return "a negative extent is taken"
        if value.itemsize != wanted.dtype.bytes:
            return "elements of another size are taken"
        if 0 not in value.shape and not value.pointer:
            return "a null pointer is taken"
        reach = sum((e - 1) * abs(s) for e, s in zip(value.shape, value.strides, strict=True)) * value.itemsize
        if 0 not in value.shape and value.pointer + reach >= 1 << 64:
            return "an array behind the end of memory is taken"
    return ""


def _wrong_bytes(wanted: Any, given: Any, value: bytes) -> str:
    if isinstance(wanted, ScalarArgument):
        return _wrong_number(wanted.dtype, given, value)
    if isinstance(wanted, PointerArgument):
        number = given.__index__()
        return (
            "" if number >= -(1 << 63) and int.from_bytes(value, "little") == number % (1 << 64) else "another address"
        )
    return "" if isinstance(wanted, ValueArgument) else "bytes for an array"


def _wrong_number(dtype: DType, given: Any, value: bytes) -> str:
    if len(value) != dtype.bytes:
        return "a number of another width"
    if not dtype.is_float:
        number = int(given) if isinstance(given, np.bool_) else given.__index__()
        back = int.from_bytes(value, "little")
        bits = 1 if dtype.name == "i1" else dtype.bits
        return "" if back == number % (1 << bits) and -(1 << bits) < number < 1 << bits else "another number is passed"
    number, back = float(given), float(np.frombuffer(value, dtype.numpy)[0])
    if math.isnan(number):
        return "" if math.isnan(back) or dtype.name == "f8E8M0FNU" else "NaN becomes a number"
    if math.isinf(number):
        return "" if back == number or math.isnan(back) or not math.isfinite(back) else "infinity becomes a number"
    return "" if math.isfinite(back) else "a number becomes infinite or NaN"


def array_of(rng: random.Random, dtype: np.dtype) -> np.ndarray:
    """Dense, a view with steps, transposed, broadcast, read-only, empty, misaligned."""
    shape = tuple(rng.choice((0, 1, 2, 3, 4, 8)) if rng.random() < 0.3 else rng.randint(1, 6)
                  for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))  # fmt: skip
    count = math.prod(shape)
    data = np.frombuffer(bytearray(rng.randbytes(count * dtype.itemsize + 16)), np.uint8)
    shift = rng.choice((0, 0, 0, 0, 0, 1, 2))
    array = data[shift : shift + count * dtype.itemsize].view(dtype).reshape(shape)
    kind = rng.random()
    if kind < 0.15 and array.ndim:
        array = array[tuple(slice(None, None, rng.choice((1, 2, -1))) for _ in shape)]
    elif kind < 0.3:
        array = array.T
    elif kind < 0.35 and array.ndim:
        array = np.broadcast_to(array, (rng.randint(0, 3), *shape))
    if rng.random() < 0.15 and array.flags.writeable:
        array.flags.writeable = False
    return array


def _memref(rng: random.Random, dtype: DType, array: np.ndarray) -> MemRefArgument:
    """One that ``array`` fits, mostly."""
    strides = [stride // array.itemsize for stride in array.strides]
    shape = list(array.shape)
    if rng.random() < 0.2 and shape:
        rng.choice((shape, strides))[rng.randrange(len(shape))] += rng.choice((-1, 1, 7))
    if rng.random() < 0.05:
        shape, strides = [*shape, 1], [*strides, 1]
    return MemRefArgument(
        dtype,
        tuple(None if rng.random() < 0.4 else each for each in shape),
        tuple(None if rng.random() < 0.4 else each for each in strides),
        rng.choice((0, 0, None)),
    )


def _offered(rng: random.Random, array: np.ndarray) -> Any:
    """The array, or something that says it is one."""
    kind = rng.random()
    if kind < 0.5:
        return array
    if kind < 0.6:
        return array.view(rng.choice((np.recarray, np.matrix if array.ndim == 2 else np.ndarray, np.ma.MaskedArray)))
    if kind < 0.8:
        return Exporter(rng, array)
    return CudaArray(rng, array)


def hostile(rng: random.Random, *, readable: bool = False) -> Any:
    """What is no array that a kernel can take, or hardly one. ``readable``: what is one has the memory that it says."""
    make = rng.choice((
        lambda: np.array([object(), None, {}]),
        lambda: np.array(["a", "bc"]),
        lambda: np.zeros(3, "M8[s]"),
        lambda: np.zeros(3, [("a", "i4"), ("b", "f8")]),
        lambda: np.zeros(3, [("a", "i4"), ("b", "f8")])["b"],
        lambda: np.zeros(3, ">f4"),
        lambda: np.zeros(3, np.longdouble),
        lambda: np.zeros((2, 2), complex),
        lambda: np.ma.masked_array(np.arange(6, dtype=np.float32).reshape(2, 3), mask=np.eye(2, 3, dtype=bool)),
        lambda: memoryview(bytearray(8)), lambda: bytearray(8), lambda: [1.0, 2.0], lambda: None, lambda: object(),
        lambda: np.float32, lambda: np.dtype("f4"), lambda: Raising(rng), lambda: {}, lambda: "8x8",
        lambda: Exporter(rng, np.arange(8, dtype=np.float32), share=0.9, readable=readable),
        lambda: CudaArray(rng, np.arange(8, dtype=np.float32), share=0.9),
    ))  # fmt: skip
    return make()


ERRORS = (RuntimeError, ValueError, KeyError, BufferError, TypeError, AttributeError, NotImplementedError, MemoryError,
          OSError, ZeroDivisionError, StopIteration, AssertionError, OverflowError, RecursionError)  # fmt: skip


class Raising:
    """Raises wherever it is looked at."""

    def __init__(self, rng: random.Random) -> None:
        self._error = rng.choice(ERRORS)

    def __dlpack__(self, **_: Any) -> Any:
        raise self._error("the exporter refuses")

    def __dlpack_device__(self) -> Any:
        raise self._error("the exporter refuses")

    @property
    def __cuda_array_interface__(self) -> Any:
        raise self._error("the exporter refuses")

    def __repr__(self) -> str:
        raise self._error("no text either")


class _Tensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 2))  # fmt: skip


class _Versioned(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor))  # fmt: skip


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Exporter:
    """A DLPack exporter of ``array``; with probability ``share`` one of its fields is a lie, but if ``readable`` none
    that only a read of the memory would show."""

    def __init__(self, rng: random.Random, array: np.ndarray, share: float = 0.5, readable: bool = False) -> None:
        self._array = array
        size = max(array.itemsize, 1)
        shape, strides = list(array.shape), [stride // size for stride in array.strides]
        self._tensor = tensor = _Tensor(
            array.ctypes.data, rng.choice((1, 1, 1, 2, 3, 13)), 0, array.ndim, CODES.get(array.dtype.kind, 4),
            8 * size % 256, 1,
        )  # fmt: skip
        self._device: Any = (tensor.device, 0)
        self._versioned = rng.random() < 0.5
        self._name = b"dltensor_versioned" if self._versioned else b"dltensor"
        self._version, self._flags, self._answer = (1, rng.choice((0, 1, 7))), rng.choice((0, 0, 1)), None
        no_strides = rng.random() < 0.2
        if rng.random() < share:
            lies = ["device", "ndim", "version", "name", "answer", "place", "old"]
            lies += [] if readable else ["data", "type", "extent", "stride", "offset"]
            lie = rng.choice(lies)
            if lie == "data":
                tensor.data = rng.choice((0, 1, (1 << 64) - 1, 1 << 63))
            elif lie == "device":
                tensor.device = rng.choice((0, -1, 4, 7, 1 << 30))
            elif lie == "ndim":
                tensor.ndim = rng.choice((-1, -(1 << 31), 65, 1000, (1 << 31) - 1))
            elif lie == "type":
                tensor.code, tensor.bits, tensor.lanes = rng.randrange(256), rng.randrange(256), rng.choice((0, 1, 4))
            elif lie == "extent" and shape:
                shape[rng.randrange(len(shape))] = rng.choice((-1, -(1 << 63), (1 << 63) - 1, 1 << 40, 1 << 62))
            elif lie == "stride" and strides:
                strides[rng.randrange(len(strides))] = rng.choice((-1, -(1 << 63), (1 << 63) - 1, 1 << 40, 0))
            elif lie == "offset":
                tensor.offset = rng.choice((1, (1 << 64) - 1, 1 << 63))
            elif lie == "version":
                self._version = rng.choice(((0, 0), (2, 0), (1 << 31, 0)))
            elif lie == "name":
                self._name = rng.choice((b"used_dltensor", b"nonsense", b"dltensor_versioned_used"))
            elif lie == "answer":
                self._answer = rng.choice((None, 5, "capsule", [], (1, 2)))
            elif lie == "place":
                self._device = rng.choice((None, (), (1,), (1, 2, 3), ("cpu", 0), (2, None), (2, -1), (1 << 80, 0), 5))
            elif lie == "old":
                self._version = None
        self._no_shape = share and tensor.ndim and rng.random() < 0.02
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = (ctypes.c_int64 * max(len(strides), 1))(*strides)
        tensor.shape = 0 if self._no_shape or not 0 <= tensor.ndim <= array.ndim else ctypes.addressof(self._shape)
        tensor.strides = 0 if no_strides else ctypes.addressof(self._strides)

    def __dlpack_device__(self) -> Any:
        return self._device

    def __dlpack__(self, *, stream: Any = None, **new: Any) -> Any:
        if self._version is None and new:
            raise TypeError("unexpected keyword argument 'max_version'")
        if self._answer is not None:
            return self._answer
        if not self._versioned or self._version is None:
            return _new_capsule(ctypes.addressof(self._tensor), self._name, None)
        self._made = _Versioned(*self._version, None, None, self._flags, self._tensor)
        return _new_capsule(ctypes.addressof(self._made), self._name, None)


class CudaArray:
    """Something with ``__cuda_array_interface__``; one entry may be a lie or missing."""

    def __init__(self, rng: random.Random, array: np.ndarray, share: float = 0.5) -> None:
        self._array = array
        entries: dict[str, Any] = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, not array.flags.writeable),
            "version": 3, "strides": rng.choice((None, array.strides)), "stream": rng.choice((None, 1, 2)),
        }  # fmt: skip
        if rng.random() < share:
            name = rng.choice(list(entries))
            if rng.random() < 0.3:
                del entries[name]
            else:
                entries[name] = rng.choice((
                    None, 5, "x", (), (-1,), (1 << 70,), ("a",), (None, None), (0, True), (1 << 64, False), (-8, 0),
                    2.5, {}, b"<f4", "<f4", "|V0", "|O", ">f4", "<U3", "<M8[s]", [("a", "<f4")], object(), (2.0, 3),
                    (1, 2, 3, 4), [4], np.int64(3), True,
                ))  # fmt: skip
        if rng.random() < 0.05:
            entries["mask"] = rng.choice((None, array, 5))
        self.__cuda_array_interface__: Any = rng.choice((None, 5, [], "x")) if rng.random() < 0.03 else entries


class Number:
    """Says that it is a number."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def __index__(self) -> Any:
        if isinstance(self._answer, type):
            raise self._answer("no number")
        return self._answer

    __float__ = __int__ = __index__


class FloatNumber(float):
    """A float that does not want to be one."""

    def __float__(self) -> float:
        raise ValueError("no number")


def _number(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice((1, -1)) * (1 << rng.choice((0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 1100))) + rng.randint(
            -1, 1
        )
    if kind < 0.5:
        return rng.choice((0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e308, 65504.0, 65520.0, 448.0, 464.0, 1e-50,
                           3.4028235e38, 3.5e38, 57344.0, 61440.0, rng.uniform(-1e3, 1e3)))  # fmt: skip
    if kind < 0.7:
        dtype = rng.choice(WHOLE).numpy
        return np.frombuffer(rng.randbytes(dtype.itemsize), dtype)[0]
    return rng.choice((
        True, False, None, "1", b"1", 1j, decimal.Decimal("1.5"), fractions.Fraction(1, 3), np.array(3), np.array(3.5),
        np.array([3]), np.array([1, 2]), np.str_("3"), np.bytes_(b"3"), np.void(b"abcd"), np.datetime64("2020-01-01"),
        np.timedelta64(5, "s"), np.bool_(True), np.longdouble(1.5), np.complex64(1), Number(5), Number(1 << 70),
        Number(ValueError), Number("5"), Number(None), Number(RuntimeError), 10**5000, FloatNumber(2.0), [], [1],
        object, Raising(rng), fractions.Fraction(10**400), np.float64(1e300), np.int64(-1), np.uint64((1 << 64) - 1),
    ))  # fmt: skip


def _items(rng: random.Random, count: int) -> Any:
    count = count if rng.random() < 0.8 else rng.choice((0, 1, count + 1, 100))
    if count == 1 and rng.random() < 0.6:
        return _number(rng)
    made = [_number(rng) if rng.random() < 0.3 else rng.choice((1, 2.0, 0)) for _ in range(count)]
    kind = rng.random()
    if kind < 0.5:
        return made
    if kind < 0.7:
        return tuple(made)
    return rng.choice((
        lambda: np.arange(count, dtype=rng.choice(("i4", "f4", "f8", "i8", "O"))), lambda: range(count),
        lambda: "x" * count, lambda: complex(1, 2), lambda: np.complex64(1j), lambda: [made] * count,
        lambda: np.zeros((), [("a", "i4"), ("b", "f8")])[()], lambda: np.zeros((count, 2)), set, lambda: iter(made),
    ))()  # fmt: skip
