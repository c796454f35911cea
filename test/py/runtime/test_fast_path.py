"""The cached launch, with a stand-in for PyTorch that has exactly what the fast path reads."""

import struct
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tma_mlir.abi.parameters import parameter_sizes
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.dtypes import dtype
from tma_mlir.layout.expr import Expr, Symbol
from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import ArgumentTypeError, CudaError, DescriptorError, Kernel, driver
from tma_mlir.runtime.known_launches import KnownLaunches


class Tensor:
    """A CUDA tensor as PyTorch shows it; ``base`` is its address."""

    __module__ = "torch"
    layout = "torch.strided"

    def __init__(self, base, shape=(8, 256), kind="float16", strides=None, place=0):
        self.base, self.shape, self.place = base, shape, place
        self.strides = strides or (*[int(np.prod(shape[d + 1 :])) for d in range(len(shape))],)
        self.dtype = f"torch.{kind}"

    is_cuda = property(lambda self: self.place >= 0)
    device = property(lambda self: SimpleNamespace(type="cuda", index=self.place))

    def data_ptr(self):
        return self.base

    def stride(self):
        return self.strides

    def get_device(self):
        return self.place

    def is_conj(self):
        return False

    is_neg = is_conj


@pytest.fixture
def torch(monkeypatch):
    """``torch.streams``: the current stream of each device."""
    module = ModuleType("torch")
    module.streams = {0: 0, 1: 0}  # type: ignore[attr-defined]
    module._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: module.streams[ordinal])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


ROWS, PITCH, SCALE = (Expr.of(Symbol(name)) for name in ("arg0.dim0", "arg0.stride0", "arg1"))
SIGNATURE = KernelSignature(
    name="copy",
    tensor_maps=(TensorMapArgument(0, TensorMap("FLOAT16", (256, ROWS), (PITCH * 2,), (64, 8), (1, 1))),),
    arguments=(MemRefArgument(dtype("f16"), (None, 256), (None, 1), None), ScalarArgument(dtype("f32"))),
    block=(32, 1, 1),
)


@pytest.fixture
def launched(fake_driver, torch):
    """A fake driver and a kernel that was launched once at address 0x10000."""
    fake = fake_driver(parameter_sizes(SIGNATURE))
    kernel = Kernel(b"", SIGNATURE)
    kernel.launch(1, None, Tensor(0x10000), 1.0)
    return fake, kernel


def pointers(launch):
    """The addresses in the descriptor and in the memref parameter."""
    return struct.unpack("<Q", launch.parameters[0][:8])[0], struct.unpack("<Q", launch.parameters[1])[0]


def test_the_same_arguments_are_issued_without_another_look(launched, monkeypatch):
    fake, kernel = launched
    kernel.launch(1, None, Tensor(0x10000), 1.0)
    monkeypatch.setattr(Kernel, "_launch", None)
    monkeypatch.setattr(KnownLaunches, "find", None)
    calls = len(fake.calls)
    kernel.launch(1, None, Tensor(0x10000), 1.0)
    assert [call[0] for call in fake.calls[calls:]] == ["cuLaunchKernel"]
    assert fake.launches[-1].parameters == fake.launches[0].parameters


def test_another_address_only_replaces_it(launched):
    fake, kernel = launched
    kernel.launch(1, None, Tensor(0x20000), 1.0)
    assert pointers(fake.launches[-1]) == (0x20000, 0x20000)
    assert len(fake.encoded) == 1
    assert fake.replaced[-1] == 0x20000


def test_a_tensor_is_read_once(launched):
    """Reading is most of what a launch through Python costs."""
    _, kernel = launched
    reads = []
    for address in (0x10000, 0x20000, 0x20000):
        tensor = Tensor(address)
        tensor.data_ptr = lambda address=address: reads.append(address) or address  # type: ignore[method-assign]
        kernel.launch(1, None, tensor, 1.0)
    assert reads == [0x10000, 0x20000, 0x20000]


def test_an_error_of_the_driver_is_raised_for_known_launches_too(launched):
    fake, kernel = launched
    kernel.launch(1, None, Tensor(0x10000), 1.0)
    fake.fail["cuLaunchKernel"] = fake.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(CudaError, match=r"CUDA_ERROR_OUT_OF_MEMORY.*launch of kernel 'copy' on GPU 0"):
        kernel.launch(1, None, Tensor(0x10000), 1.0)


@pytest.mark.parametrize(
    ("tensor", "dims", "strides"),
    [
        (Tensor(0x10000, (16, 256)), [256, 16], [512]),
        (Tensor(0x10000, (8, 256), strides=(264, 1)), [256, 8], [528]),
    ],
)
def test_the_same_address_with_another_shape_is_encoded_again(launched, tensor, dims, strides):
    fake, kernel = launched
    kernel.launch(1, None, tensor, 1.0)
    assert (fake.encoded[-1].dims, fake.encoded[-1].strides) == (dims, strides)


def test_the_same_address_with_another_type_is_refused(launched):
    _, kernel = launched
    with pytest.raises(TypeError, match="elements are bfloat16"):
        kernel.launch(1, None, Tensor(0x10000, kind="bfloat16"), 1.0)


def test_a_misaligned_address_is_explained(launched):
    _, kernel = launched
    with pytest.raises(DescriptorError, match="argument 0: tensor starts at byte 65544 B; needed: a multiple of 16 B"):
        kernel.launch(1, None, Tensor(0x10008), 1.0)


@pytest.mark.parametrize("value", [2.5, -0.0, 0.0, float("nan"), 1, True, np.float32(3)])
def test_scalars_are_told_apart_by_their_bits(launched, value):
    fake, kernel = launched
    for scalar in (0.0, -0.0, value, value):
        kernel.launch(1, None, Tensor(0x10000), scalar)
        assert fake.launches[-1].parameters[2] == np.float32(scalar).tobytes()


def test_scalars_out_of_range_are_refused_on_the_fast_path_too(fake_driver, torch):
    signature = KernelSignature("k", (), (MemRefArgument(dtype("f16"), (8,), (1,)), ScalarArgument(dtype("i8"))))
    fake_driver(parameter_sizes(signature))
    kernel = Kernel(b"", signature)
    for value in (1, 2, 255):
        kernel.launch(1, 1, Tensor(0x10000, (8,)), value)
    with pytest.raises(TypeError, match="256 does not fit i8"):
        kernel.launch(1, 1, Tensor(0x10000, (8,)), 256)


def test_a_scalar_in_a_descriptor_makes_a_new_one(fake_driver, torch):
    tensor_map = TensorMap("FLOAT16", (SCALE,), (), (64,), (1,))
    arguments = (MemRefArgument(dtype("f16"), (None,), (1,)), ScalarArgument(dtype("i64")))
    signature = KernelSignature("k", (TensorMapArgument(0, tensor_map),), arguments)
    fake = fake_driver(parameter_sizes(signature))
    kernel = Kernel(b"", signature)
    for length in (100, 200, 100):
        kernel.launch(1, 1, Tensor(0x10000, (256,)), length)
    assert [encoded.dims for encoded in fake.encoded] == [[100], [200]]
    assert fake.launches[0].parameters == fake.launches[2].parameters != fake.launches[1].parameters


def test_grids_are_told_apart(launched):
    fake, kernel = launched
    for grid in (1, 2, (2, 3), [2, 3, 4], 1):
        kernel[grid, None](Tensor(0x10000), 1.0)
    assert [launch.grid for launch in fake.launches[1:]] == [(1, 1, 1), (2, 1, 1), (2, 3, 1), (2, 3, 4), (1, 1, 1)]


def test_options_are_told_apart_and_cached(launched, monkeypatch):
    fake, kernel = launched
    options = [{"cluster": 2}, {"shared_memory": 64}, {"attributes": {"programmatic": True}}, {}]
    for _ in range(2):
        for each in options:
            kernel.launch(2, None, Tensor(0x10000), 1.0, **each)
    monkeypatch.setattr(Kernel, "_launch", None)
    for each in options:
        kernel.launch(2, None, Tensor(0x10000), 1.0, **each)
    seen = [(len(launch.attributes), launch.shared) for launch in fake.launches[1:]]
    assert seen == [(1, 0), (0, 64), (1, 0), (0, 0)] * 3


def test_the_framework_s_current_stream_is_used_and_may_change(launched, torch):
    fake, kernel = launched
    for stream in (0, 77, 78):
        torch.streams[0] = stream
        kernel.launch(1, None, Tensor(0x10000), 1.0)
    kernel.launch(1, None, Tensor(0x10000), 1.0, stream=99)
    assert [launch.stream for launch in fake.launches[1:]] == [0, 77, 78, 99]


def test_a_thread_without_a_context_gets_one(launched):
    fake, kernel = launched
    real, contexts = fake.cuLaunchKernel, []

    def needs_context(*arguments):
        contexts.append(fake.context)
        return real(*arguments) if fake.context else (fake.CUresult.CUDA_ERROR_INVALID_CONTEXT,)

    fake.cuLaunchKernel = needs_context
    kernel.launch(2, None, Tensor(0x10000), 1.0)
    kernel.launch(2, None, Tensor(0x10000), 1.0)
    assert contexts == [100, 0, 100]
    assert fake.context == 0  # left as it was


def test_each_device_has_its_own_function_and_context(fake_driver, torch):
    fake = fake_driver(parameter_sizes(SIGNATURE))
    fake.devices = 2
    kernel = Kernel(b"", SIGNATURE)
    torch.streams[1] = 5
    for place in (0, 1, 0, 1):
        kernel.launch(1, None, Tensor(0x10000 + 0x10000 * place, place=place), 1.0)
    assert [launch.function for launch in fake.launches] == ["function in 100", "function in 101"] * 2
    assert [launch.stream for launch in fake.launches] == [0, 5, 0, 5]
    assert fake.context == 0
    assert len([call for call in fake.calls if call[0] == "cuLibraryLoadData"]) == 1


def test_arrays_on_two_devices_need_a_choice_and_peer_access(fake_driver, torch):
    signature = KernelSignature("k", (), (MemRefArgument(dtype("f16"), (8,), (1,)),) * 2)
    fake = fake_driver(parameter_sizes(signature))
    fake.devices = 2
    kernel = Kernel(b"", signature)
    pair = Tensor(0x10000, (8,), place=0), Tensor(0x20000, (8,), place=1)
    with pytest.raises(TypeError, match=r"arrays are on GPUs 0, 1\. Make the GPU to run on current"):
        kernel.launch(1, 1, *pair)
    with driver.current(1):
        kernel.launch(1, 1, *pair)
        kernel.launch(1, 1, *pair)
    assert [launch.function for launch in fake.launches] == ["function in 101"] * 2
    assert [call[1] for call in fake.calls if call[0] == "cuCtxEnablePeerAccess"] == [100]


def test_what_could_be_a_lazy_negation_is_looked_at_each_time(fake_driver, torch):
    signature = KernelSignature("k", (), (MemRefArgument(dtype("f32"), (None,), (None,)),))
    fake_driver(parameter_sizes(signature))
    kernel = Kernel(b"", signature)
    for strides in ((2,), (1,)):
        tensor = Tensor(0x10000, (8,), "float32", strides)
        kernel.launch(1, 1, tensor)
        kernel.launch(1, 1, tensor)
        if strides == (2,):
            assert kernel._known == {}
            tensor.is_neg = lambda: True  # type: ignore[method-assign]
            with pytest.raises(TypeError, match="resolve_neg"):
                kernel.launch(1, 1, tensor)
    (known,) = kernel._known.values()
    assert len(known.prepared) == 1


def test_caches_are_bounded(launched, monkeypatch):
    _, kernel = launched
    monkeypatch.setattr("tma_mlir.runtime.known_launches.PREPARED_LAUNCHES", 8)
    monkeypatch.setattr("tma_mlir.runtime.known_launches.SPECIALISATIONS", 4)
    for step in range(100):
        kernel.launch(1, None, Tensor(0x10000 + 16 * step, (8 + step // 10, 256)), 1.0)
    (known,) = kernel._known.values()
    assert len(known.prepared) == 8
    assert len(known.settled) == 4


def test_types_are_told_apart_and_bounded(launched, monkeypatch):
    """Python's numbers of several types go into one f32: each keeps launches of its own."""
    fake, kernel = launched
    monkeypatch.setattr("tma_mlir.runtime.kernel.ARGUMENT_TYPES", 2)
    for _ in range(2):
        for number in (1, 1.0, np.float32(1), np.float64(1)):
            kernel.launch(1, None, Tensor(0x10000), number)
    assert len(kernel._known) == 2
    assert [launch.parameters[2] for launch in fake.launches] == [np.float32(1).tobytes()] * 9


def test_types_that_alternate_are_known(launched, monkeypatch):
    fake, kernel = launched
    for number in (1.0, 1, 1.0, 1):
        kernel.launch(1, None, Tensor(0x10000), number)
    monkeypatch.setattr(Kernel, "_launch", None)
    calls = len(fake.calls)
    for number in (1.0, 1, 1.0, 1):
        kernel.launch(1, None, Tensor(0x10000), number)
    assert [call[0] for call in fake.calls[calls:]] == ["cuLaunchKernel"] * 4


ALIGNED = KernelSignature(
    name="bulk", tensor_maps=(), arguments=(MemRefArgument(dtype("f16"), (8, 256), (256, 1), 8, alignment=16),)
)
"""The allocation starts 16 bytes before the first element."""


def test_addresses_are_as_aligned_as_the_copies_rely_on(fake_driver, torch):
    """At every launch, whichever way it takes: first, again, at another address, bound."""
    fake = fake_driver(parameter_sizes(ALIGNED))
    kernel = Kernel(b"", ALIGNED)
    for address in (0x10010, 0x10010, 0x20010):
        kernel.launch(1, 32, Tensor(address))
    assert len(fake.launches) == 3
    needed = "is not a multiple of 16 B, which its copies rely on"
    for address in (0x10012, 0x30018, 0x10012):
        with pytest.raises(ArgumentTypeError, match=f"argument 0: address {hex(address - 16)} {needed}"):
            kernel.launch(1, 32, Tensor(address))
    with pytest.raises(ArgumentTypeError, match=needed):
        kernel.bind(1, 32, Tensor(0x10012))
    with pytest.raises(ArgumentTypeError, match=needed):
        Kernel(b"", ALIGNED).launch(1, 32, Tensor(0x10012))
    assert len(fake.launches) == 3


def test_a_misaligned_host_array_is_copied_to_an_aligned_address(fake_driver):
    """numpy's address does not matter: the GPU gets a copy."""
    fake = fake_driver(parameter_sizes(ALIGNED))
    raw = np.zeros(8 * 256 + 1, np.float16)[1:]
    Kernel(b"", ALIGNED).launch(1, 32, raw.reshape(8, 256))
    assert len(fake.launches) == 1
