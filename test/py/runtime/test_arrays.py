import ctypes
import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tma_mlir.abi import scalars
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, PointerArgument
from tma_mlir.dtypes import DTYPES, dtype
from tma_mlir.runtime import arrays, dlpack, view
from tma_mlir.runtime.binding import accepts, convert, memref_problems
from tma_mlir.runtime.errors import ArgumentTypeError


class Exporter:
    """Exports a NumPy array through ``__dlpack__`` alone; ``versions`` False: as exporters did before DLPack 1.0."""

    def __init__(self, array, versions=True):
        self.array, self.versions, self.asked = array, versions, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if not self.versions and "max_version" in keywords:
            raise TypeError("unexpected keyword 'max_version'")
        return self.array.__dlpack__(**keywords)


@pytest.mark.parametrize("versions", [True, False])
@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "bool"])
def test_dlpack_is_read_in_place(kind, versions):
    array = np.zeros((4, 6), kind)[1:, ::2]
    seen = view(Exporter(array, versions))
    assert seen.pointer == array.__array_interface__["data"][0]
    assert (seen.shape, seen.strides) == ((3, 3), (6, 2))
    assert (seen.dtype, seen.device) == (np.dtype(kind), arrays.HOST)


def test_versioned_capsules_say_read_only():
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    assert view(Exporter(array)).readonly


def test_a_capsule_lives_as_long_as_the_view_and_no_longer():
    class Tracked(np.ndarray):
        pass

    array = np.zeros(4, np.float32).view(Tracked)
    gone = weakref.ref(array)
    seen = view(Exporter(array))
    del array
    gc.collect()
    assert gone() is not None
    assert seen.host is not None
    seen.host[0] = 3
    del seen
    gc.collect()
    assert gone() is None


def test_what_is_no_fresh_capsule_is_refused():
    with pytest.raises(TypeError, match="no fresh DLPack capsule"):
        dlpack.read("capsule")


@pytest.mark.parametrize(
    ("code", "bits", "expected"),
    [(4, 16, ml_dtypes.bfloat16), (10, 8, ml_dtypes.float8_e4m3fn), (12, 8, ml_dtypes.float8_e5m2), (6, 8, np.bool_)],
)
def test_types_numpy_cannot_export(code, bits, expected):
    """A capsule built by hand, as PyTorch's for bf16 (DLDataTypeCode 4) and fp8."""
    shape = (ctypes.c_int64 * 1)(5)
    tensor = dlpack._Tensor(0x1000, dlpack.CUDA, 1, 1, code, bits, 1, shape, None, 64)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    read = dlpack.read(new(ctypes.addressof(tensor), b"dltensor", None))
    assert read.dtype == np.dtype(expected)
    assert (read.pointer, read.shape, read.strides, read.device_id) == (0x1040, (5,), (1,), 1)


def test_the_stream_is_given_to_device_exporters():
    class OnGpu:
        def __dlpack_device__(self):
            return (dlpack.CUDA, 0)

        def __dlpack__(self, **keywords):
            raise BufferError(str(keywords))

    with pytest.raises(BufferError, match=r"'stream': 1\b"):  # DLPack's number of the legacy default stream
        view(OnGpu(), stream=0)
    with pytest.raises(BufferError, match=r"'stream': 140"):
        view(OnGpu(), stream=140)


def test_memory_of_another_kind_of_device_is_refused():
    class Rocm:
        def __dlpack_device__(self):
            return (10, 0)

        def __dlpack__(self, **keywords):
            raise AssertionError

    with pytest.raises(TypeError, match="DLPack device type 10: needed: an NVIDIA GPU or the CPU"):
        view(Rocm())


class Interface:
    def __init__(self, **fields):
        self.__cuda_array_interface__: Any = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            **fields,
        }


def test_cuda_array_interface_without_strides_is_dense():
    seen = view(Interface())
    assert (seen.pointer, seen.shape, seen.strides, seen.dtype) == (4096, (2, 3), (3, 1), np.dtype(np.float32))


def test_cuda_array_interface_strides_are_bytes():
    assert view(Interface(strides=(64, 4))).strides == (16, 1)
    with pytest.raises(TypeError, match="not whole elements of 4 B"):
        view(Interface(strides=(6, 4)))


def test_raw_elements_match_by_width():
    seen = view(Interface(typestr="|V2"))
    assert accepts(dtype("bf16"), seen)
    assert not accepts(dtype("f32"), seen)


def test_what_is_no_array_says_so():
    with pytest.raises(TypeError, match="neither __dlpack__ nor __cuda_array_interface__"):
        view([1, 2, 3])


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"shape": (-1, 3)}, "an array of shape"),
        ({"shape": (2.0, 3)}, "cannot be interpreted as an integer"),
        ({"shape": "ab"}, "cannot be interpreted as an integer"),
        ({"strides": (4,)}, "an array of shape"),
        ({"typestr": "|V0", "strides": (4, 4)}, "cannot be read as an array: ZeroDivisionError"),
        ({"typestr": "|O"}, "references to Python objects"),
        ({"typestr": 5}, "the typestr of __cuda_array_interface__ is 5"),
        ({"typestr": "nonsense"}, "nonsense"),
        ({"data": (1 << 64, False)}, "leaves memory"),
        ({"data": (-8, False)}, "leaves memory"),
        ({"data": 5}, "cannot unpack"),
        ({"data": (4096, False), "shape": (1 << 40, 1 << 40)}, "leaves memory"),
        ({"stream": 0}, "the stream of __cuda_array_interface__ is 0"),
        ({"mask": 1}, "a masked array"),
    ],
)
def test_an_interface_that_cannot_be_is_refused(fields, text):
    with pytest.raises(TypeError, match=text):
        view(Interface(**fields))


def test_an_interface_that_lacks_something_is_refused():
    found = Interface()
    del found.__cuda_array_interface__["typestr"]
    with pytest.raises(TypeError, match="__cuda_array_interface__ has no typestr"):
        view(found)
    found.__cuda_array_interface__ = []
    with pytest.raises(TypeError, match="is list, needed: a dictionary"):
        view(found)


@pytest.mark.parametrize("kind", [RuntimeError, KeyError, StopIteration, MemoryError])
def test_whatever_an_exporter_raises_is_a_problem_of_its_argument(kind):
    class Broken:
        def __dlpack_device__(self):
            raise kind("gone")

        __dlpack__ = __dlpack_device__

    class Looked:
        @property
        def __cuda_array_interface__(self):
            raise kind("gone")

    signature = KernelSignature("k", (), (MemRefArgument(dtype("f32"), (2,), (1,)), PointerArgument()))
    with pytest.raises(ArgumentTypeError) as error:
        convert(signature, (Broken(), Looked()))
    assert [f"cannot be read as an array: {kind.__name__}" in text for text in error.value.problems] == [True, True]


@pytest.mark.parametrize(
    ("fields", "text"),
    [({"ndim": -1}, "-1 dimensions"), ({"ndim": 1 << 30}, "dimensions; this reads 0 to 64"),
     ({"shape": None}, "1 dimensions and no shape"), ({"bits": 0}, "1 x 0 bits"), ({"data": 0}, "a null pointer"),
     ({"extent": -2}, r"shape \[-2\]"), ({"extent": 1 << 62}, "cannot be read|leaves memory"),
     ({"device_type": 7}, "DLPack device type 7"), ({"byte_offset": (1 << 64) - 1}, "cannot be read|leaves memory")],
)  # fmt: skip
def test_a_capsule_that_cannot_be_is_refused(fields, text):
    memory = (ctypes.c_float * 2)()
    shape = (ctypes.c_int64 * 1)(fields.pop("extent", 2))
    tensor = dlpack._Tensor(
        data=ctypes.addressof(memory), device_type=1, ndim=1, code=2, bits=32, lanes=1,
        shape=ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
    )  # fmt: skip
    for name, value in fields.items():
        setattr(tensor, name, value)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Capsule:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return new(ctypes.addressof(tensor), b"dltensor", None)

    with pytest.raises(TypeError, match=text):
        view(Capsule())


def test_masks_and_python_objects_are_not_dropped_and_not_passed():
    with pytest.raises(TypeError, match="a masked array: pass its data and its mask"):
        view(np.ma.masked_array(np.zeros(3), mask=np.eye(3, dtype=bool)[1]))
    signature = KernelSignature("k", (), (PointerArgument(),))
    with pytest.raises(ArgumentTypeError, match="references to Python objects"):
        convert(signature, (np.array([object(), None]),))


@pytest.mark.parametrize("name", list(DTYPES))
def test_every_element_type_is_accepted_from_its_own_numpy_type(name):
    assert accepts(DTYPES[name], view(np.zeros(2, DTYPES[name].numpy)))


@pytest.mark.parametrize(
    ("name", "kind", "taken"),
    [("i32", np.uint32, True), ("ui32", np.int32, False), ("i32", np.float32, False), ("f16", np.int16, False),
     ("bf16", np.float16, False), ("i1", np.uint8, True), ("i8", np.bool_, False), ("tf32", np.float32, True)],
)  # fmt: skip
def test_signless_integers_take_both_signs_and_nothing_is_reinterpreted(name, kind, taken):
    assert accepts(dtype(name), view(np.zeros(2, kind))) is taken


def test_strides_of_single_elements_do_not_matter():
    argument = MemRefArgument(dtype("f32"), (1, 8), (8, 1))
    assert memref_problems(argument, view(np.zeros((1, 32), np.float32)[:, :8])) == []


def test_negative_strides_and_null_are_refused():
    argument = MemRefArgument(dtype("f32"), (None,), (None,))
    assert "negative strides [-1]" in memref_problems(argument, view(np.zeros(4, np.float32)[::-1]))[0]
    assert "null pointer" in memref_problems(argument, view(Interface(shape=(2,), data=(0, False))))[0]


def test_misaligned_elements_are_refused():
    argument = MemRefArgument(dtype("f32"), (None,), (None,))
    problems = memref_problems(argument, view(Interface(shape=(2,), data=(4098, False))))
    assert problems == ["address 0x1002 is not a multiple of the element size 4 B"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("i8", -1, b"\xff"), ("i8", 255, b"\xff"), ("ui16", 65535, b"\xff\xff"), ("i64", -2, b"\xfe" + b"\xff" * 7),
     ("i1", True, b"\x01"), ("i32", np.int16(-3), b"\xfd\xff\xff\xff"), ("f32", 1, b"\x00\x00\x80\x3f"),
     ("f16", 1.0, b"\x00\x3c"), ("bf16", 1.0, b"\x80\x3f"), ("f64", np.float32(-0.0), b"\x00" * 7 + b"\x80"),
     ("f8E4M3FN", 1.0, b"\x38"), ("f8E5M2", 1.0, b"\x3c"), ("i32", np.bool_(True), b"\x01\x00\x00\x00")],
)  # fmt: skip
def test_scalar_bytes(name, value, expected):
    assert scalars.to_bytes(value, dtype(name)) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("i8", 256), ("i8", -129), ("ui8", -1), ("i1", 2), ("i32", 1.0), ("i32", "1"), ("f32", "1"), ("f32", 1j),
     ("i64", 1 << 64), ("f32", 10**400), ("f32", np.str_("3")),
     ("f32", np.timedelta64(3, "s")), ("i64", np.timedelta64(3, "s"))],
)  # fmt: skip
def test_scalars_that_do_not_fit(name, value):
    with pytest.raises(TypeError):
        scalars.to_bytes(value, dtype(name))


class Unwilling(float):
    """A number that cannot be had, not even as text."""

    def __float__(self):
        raise RuntimeError("no number")

    __index__ = __repr__ = __float__


def test_numbers_without_a_text_are_refused_with_one():
    for value in (Unwilling(), 10**5000):  # of more digits than Python writes
        for name in ("f64", "i32"):
            with pytest.raises(TypeError, match=f"a value of type {type(value).__name__}"):
                scalars.to_bytes(value, dtype(name))
