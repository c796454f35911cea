"""Parameters that are no memref and no number: what reaches the driver, and what is refused."""

import ctypes
import struct

import numpy as np
import pytest

from tma_mlir.abi.parameters import parameter_sizes
from tma_mlir.abi.signature import (
    KernelSignature,
    MemRefArgument,
    PointerArgument,
    ScalarArgument,
    TensorMapArgument,
    ValueArgument,
)
from tma_mlir.dtypes import dtype
from tma_mlir.layout.expr import Expr, Symbol
from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import ArgumentTypeError, Kernel

from .test_fast_path import Tensor, torch  # noqa: F401

ROWS = Expr.of(Symbol("arg1.dim0"))
PAIR = "!llvm.struct<(i8, i64)>"
SIGNATURE = KernelSignature(
    name="mixed",
    tensor_maps=(TensorMapArgument(1, TensorMap("FLOAT16", (256, ROWS), (512,), (64, 8), (1, 1))),),
    arguments=(
        ValueArgument("vector<3xf32>"),
        MemRefArgument(dtype("f16"), (None, 256), (256, 1)),
        PointerArgument(),
        ValueArgument(PAIR),
        ScalarArgument(dtype("i32")),
        ValueArgument("i128"),
    ),
    bare_pointers=False,
    block=(32, 1, 1),
)
POINTERS = KernelSignature("addresses", (), (PointerArgument(), ScalarArgument(dtype("i32"))), block=(32, 1, 1))


def words(*values):
    return [struct.pack("<Q", value) for value in values]


def test_every_parameter_has_its_own_bytes_in_the_order_of_the_kernel(fake_driver, torch):  # noqa: F811
    fake = fake_driver(parameter_sizes(SIGNATURE))
    kernel = Kernel(b"", SIGNATURE)
    for _ in range(2):  # what is known of the first launch must not spoil the second
        kernel.launch(1, None, [1, 2, 3], Tensor(0x10000), Tensor(0x30008, (5,), "int32"), (-1, 1 << 40), 9, 1 << 100)
    kernel.launch(1, None, [1, 2, 4], Tensor(0x10000), 0x30008, (-1, 1 << 40), 9, 1 << 100)
    vectors = [struct.pack("<3f4x", 1, 2, last) for last in (3, 3, 4)]
    for launch, vector in zip(fake.launches, vectors, strict=True):
        descriptor, *others = launch.parameters
        assert struct.unpack("<Q", descriptor[:8]) == (0x10000,)
        assert others == [
            vector,
            *words(0x10000, 0x10000, 0, 8, 256, 256, 1),
            *words(0x30008),
            struct.pack("<b7xq", -1, 1 << 40),
            struct.pack("<i", 9),
            (1 << 100).to_bytes(16, "little"),
        ]
        assert launch.addresses[0] % 128 == 0


def test_structured_values_of_other_layouts_are_read_again_at_every_launch(fake_driver, torch):  # noqa: F811
    """Equal bytes, equal Python types, other fields."""
    signature = KernelSignature("k", (), (PointerArgument(), ValueArgument(PAIR)), block=(32, 1, 1))
    fake = fake_driver(parameter_sizes(signature))
    kernel = Kernel(b"", signature)
    first = np.array((1, 2), [("a", "<i4"), ("b", "<i4")])[()]
    for value in (first, first.view([("a", "<i2"), ("b", "<i2"), ("c", "<i4")])[["a", "b"]]):
        kernel.launch(1, None, Tensor(0x1000), value)
    assert [launch.parameters[1] for launch in fake.launches] == [
        struct.pack("<b7xq", 1, 2),
        struct.pack("<b7xq", 1, 0),
    ]


def test_a_pointer_is_an_address_or_an_array_s(fake_driver, torch, monkeypatch):  # noqa: F811
    fake = fake_driver(parameter_sizes(POINTERS))
    kernel = Kernel(b"", POINTERS)
    for given in (0x7F0000001004, np.uint64(0x7F0000001004), Tensor(0x7F0000001004, (3,), "float32"), 0):
        kernel.launch(1, None, given, 1)
    monkeypatch.setattr(Kernel, "_launch", None)  # a known type, another address
    kernel.launch(1, None, Tensor(0x2000, (3,), "float32"), 1)
    seen = [struct.unpack("<Q", launch.parameters[0])[0] for launch in fake.launches]
    assert seen == [0x7F0000001004] * 3 + [0, 0x2000]


def test_an_address_as_a_number_takes_the_fast_path_too(fake_driver, torch, monkeypatch):  # noqa: F811
    signature = KernelSignature(
        "k", (), (MemRefArgument(dtype("f32"), (4,), (1,)), PointerArgument()), block=(32, 1, 1)
    )
    fake = fake_driver(parameter_sizes(signature))
    kernel = Kernel(b"", signature)
    array = Tensor(0x1000, (4,), "float32")
    kernel.launch(1, None, array, 0x7000)
    monkeypatch.setattr(Kernel, "_launch", None)
    for address in (0x7000, 0x8004, 0x7000):
        kernel.launch(1, None, array, address)
    assert [launch.parameters[1] for launch in fake.launches] == words(0x7000, 0x7000, 0x8004, 0x7000)


def test_host_memory_behind_a_pointer_is_copied_there_and_back(fake_driver):
    fake = fake_driver(parameter_sizes(POINTERS))

    def double(parameters):
        (address,) = struct.unpack("<Q", parameters[0])
        assert address in fake.memory
        staged = np.ctypeslib.as_array((ctypes.c_float * 8).from_address(address)).view(np.complex64)
        staged *= 2

    fake.kernel = double
    array = np.arange(4).astype(np.complex64)
    Kernel(b"", POINTERS).launch(1, None, array, 1)
    assert array.tolist() == [0, 2, 4, 6]


def test_empty_arrays_beside_an_address_do_not_stop_the_launch(fake_driver, torch):  # noqa: F811
    signature = KernelSignature(
        "k", (), (PointerArgument(), MemRefArgument(dtype("f32"), (None,), (1,))), bare_pointers=False, block=(32, 1, 1)
    )
    fake = fake_driver(parameter_sizes(signature))
    Kernel(b"", signature).launch(1, None, 0x1000, Tensor(0x2000, (0,), "float32"))
    assert len(fake.launches) == 1


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, [1, 2], r"argument 0: \[1, 2\] is given, needed: a sequence of 3 elements"),
        (0, Tensor(0x1000, (3,), "float32"), r"argument 0: an array is given, needed: a value of type vector<3xf32>\. "
         r"Pass array\.tolist\(\)"),
        (2, 1.5, "argument 2: float is given, needed: an address. Pass an array, for the address of its first element"),
        (2, np.zeros(4)[::-1], r"argument 2: negative strides \[-1\]\. Copy the array"),
        (2, -8, "argument 2: -8 does not fit ui64"),
        (3, (1,), r"argument 3: \(1,\) is given, needed: a sequence of 2 fields"),
        (3, (1 << 9, 1), "argument 3: 512 does not fit i8"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(fake_driver, torch, position, value, message):  # noqa: F811
    fake_driver(parameter_sizes(SIGNATURE))
    arguments = [[1, 2, 3], Tensor(0x10000), 0x1000, (1, 2), 9, 5]
    arguments[position] = value
    with pytest.raises(ArgumentTypeError, match=message):
        Kernel(b"", SIGNATURE).launch(1, None, *arguments)


def test_a_saved_kernel_knows_its_parameters():
    elements = (MemRefArgument(dtype("i64"), (4,), (1,)), ValueArgument('!llvm.struct<"a b", (i8)>'), PointerArgument())
    kernel = Kernel(b"cubin", KernelSignature("k", (), elements))
    assert Kernel.from_bytes(kernel.to_bytes()).signature == kernel.signature
