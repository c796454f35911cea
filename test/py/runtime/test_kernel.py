"""Marshalling: what reaches the driver for given arguments."""

import ctypes
import gc
import struct
import threading
import weakref

import numpy as np
import pytest

from tma_mlir.abi.parameters import parameter_sizes
from tma_mlir.abi.signature import KernelSignature, MemRefArgument, ScalarArgument, TensorMapArgument
from tma_mlir.dtypes import dtype
from tma_mlir.layout.expr import Expr, Symbol
from tma_mlir.plan.tensor_map import Swizzle, TensorMap
from tma_mlir.runtime import ArgumentTypeError, CudaError, DescriptorError, Kernel, RuntimeFault, Unloaded

MATRIX = MemRefArgument(dtype("f16"), (8, 256), (256, 1))
ANY = MemRefArgument(dtype("f32"), (None, None), (None, 1), None)
# Dimension 0 innermost: 64 x 8 x 4, as for an 8x256 f16 tile in four 128-byte columns.
COLUMNS = TensorMap("FLOAT16", (64, 8, 4), (512, 128), (64, 8, 4), (1, 1, 1), Swizzle.B128)


def signature(**fields):
    values = {"name": "copy", "tensor_maps": (), "arguments": (), "block": (128, 1, 1), **fields}
    return KernelSignature(**values)


class GpuArray:
    """What any framework may export: device memory is host memory with the fake driver."""

    def __init__(self, array, stream=None, typestr=None, readonly=False):
        self.array, self.stream, self.typestr, self.readonly = array, stream, typestr, readonly

    @property
    def __cuda_array_interface__(self):
        interface = self.array.__array_interface__
        return {
            "shape": self.array.shape,
            "typestr": self.typestr or interface["typestr"],
            "data": (interface["data"][0], self.readonly),
            "strides": self.array.strides,
            "version": 3,
            "stream": self.stream,
        }


def aligned(shape, kind):
    """A NumPy array on a 256-byte boundary."""
    count = int(np.prod(shape)) * np.dtype(kind).itemsize
    raw = np.zeros(count + 256, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + count].view(kind).reshape(shape)


def address(array):
    return array.__array_interface__["data"][0]


def test_numpy_goes_in_and_comes_back(fake_driver):
    sig = signature(arguments=(MATRIX, MATRIX))
    fake = fake_driver(parameter_sizes(sig))

    def double(parameters):
        source, target = (struct.unpack("<Q", p)[0] for p in parameters)
        read = np.ctypeslib.as_array((ctypes.c_uint16 * 2048).from_address(source)).view(np.float16)
        np.ctypeslib.as_array((ctypes.c_uint16 * 2048).from_address(target)).view(np.float16)[:] = 2 * read

    fake.kernel = double
    x = np.arange(2048, dtype=np.float16).reshape(8, 256)
    y = np.zeros_like(x)
    Kernel(b"cubin", sig).launch((1,), None, x, y)
    np.testing.assert_array_equal(y, 2 * np.arange(2048, dtype=np.float16).reshape(8, 256))
    assert fake.memory == {}  # all staging memory was freed


def test_a_read_only_array_is_not_written(fake_driver):
    sig = signature(arguments=(MATRIX,))
    fake = fake_driver(parameter_sizes(sig))
    x = np.ones((8, 256), np.float16)
    x.flags.writeable = False
    Kernel(b"", sig).launch(1, None, x)
    assert len(fake.launches) == 1
    assert x.min() == 1


def test_strided_numpy_keeps_its_strides_and_the_gaps(fake_driver):
    wide = MemRefArgument(dtype("f16"), (8, 256), (512, 1))
    sig = signature(arguments=(wide,))
    fake = fake_driver(parameter_sizes(sig))
    parent = np.full((8, 512), 7, np.float16)

    def clear(parameters):
        start = struct.unpack("<Q", parameters[0])[0]
        np.ctypeslib.as_array((ctypes.c_uint16 * (7 * 512 + 256)).from_address(start))[:] = 0

    fake.kernel = clear
    Kernel(b"", sig).launch(1, None, parent[:, :256])
    assert parent[:, :256].max() == 0
    assert parent[:, 256:].min() == 7  # not part of the argument


def test_the_same_array_twice_is_one_buffer(fake_driver):
    sig = signature(arguments=(MATRIX, MATRIX))
    fake = fake_driver(parameter_sizes(sig))
    x = np.zeros((8, 256), np.float16)
    Kernel(b"", sig).launch(1, None, x, x)
    first, second = fake.launches[0].parameters
    assert first == second


def test_partly_overlapping_host_arrays_are_refused(fake_driver):
    sig = signature(arguments=(MATRIX, MATRIX))
    fake_driver(parameter_sizes(sig))
    x = np.zeros((12, 256), np.float16)
    with pytest.raises(ArgumentTypeError, match="overlap"):
        Kernel(b"", sig).launch(1, None, x[:8], x[4:])


def test_descriptor_comes_first_aligned_and_with_the_array_s_address(fake_driver):
    sig = signature(tensor_maps=(TensorMapArgument(0, COLUMNS),), arguments=(MATRIX, ScalarArgument(dtype("i32"))))
    fake = fake_driver(parameter_sizes(sig))
    x = aligned((8, 256), np.float16)
    Kernel(b"", sig).launch(1, None, GpuArray(x), -5)
    (launch,) = fake.launches
    assert launch.addresses[0] % 128 == 0
    assert struct.unpack("<Q", launch.parameters[0][:8])[0] == address(x)
    assert struct.unpack("<Q", launch.parameters[1])[0] == address(x)
    assert struct.unpack("<i", launch.parameters[2])[0] == -5
    (encoded,) = fake.encoded
    assert (encoded.dims, encoded.strides, encoded.box) == ([64, 8, 4], [512, 128], [64, 8, 4])
    assert encoded.data_type == 6  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16
    assert encoded.enums == (0, 3, 2, 0)  # no interleave, 128B, 128 B promotion, zero fill


def test_dims_and_strides_of_the_descriptor_follow_the_array(fake_driver):
    rows, columns, pitch = (Expr.of(Symbol(f"arg0.{name}")) for name in ("dim0", "dim1", "stride0"))
    wanted = TensorMap("FLOAT32", (columns, rows), (pitch * 4,), (32, 8), (1, 1))
    sig = signature(tensor_maps=(TensorMapArgument(0, wanted),), arguments=(ANY,), bare_pointers=False)
    fake = fake_driver(parameter_sizes(sig))
    x = aligned((10, 40), np.float32)
    Kernel(b"", sig).launch(1, None, GpuArray(x[:, :36]))
    (encoded,) = fake.encoded
    assert (encoded.dims, encoded.strides) == ([36, 10], [160])
    expanded = [struct.unpack("<q", p)[0] for p in fake.launches[0].parameters[1:]]
    assert expanded == [address(x), address(x), 0, 10, 36, 40, 1]


def test_static_offset_lies_before_the_array(fake_driver):
    shifted = MemRefArgument(dtype("f16"), (8, 256), (256, 1), 64)
    tensor_map = TensorMap("FLOAT16", (256, 8), (512,), (64, 8), (1, 1), base_offset_bytes=128)
    sig = signature(tensor_maps=(TensorMapArgument(0, tensor_map),), arguments=(shifted,))
    fake = fake_driver(parameter_sizes(sig))
    x = aligned((8, 256), np.float16)
    Kernel(b"", sig).launch(1, None, GpuArray(x))
    assert struct.unpack("<Q", fake.launches[0].parameters[1])[0] == address(x) - 128
    assert fake.encoded[0].address == address(x)


def test_small_spans_get_bit_21_cleared(fake_driver):
    sig = signature(tensor_maps=(TensorMapArgument(0, COLUMNS),), arguments=(MATRIX,))
    fake = fake_driver(parameter_sizes(sig))
    Kernel(b"", sig).launch(1, None, GpuArray(aligned((8, 256), np.float16)))
    word = struct.unpack("<Q", fake.launches[0].parameters[0][8:16])[0]
    assert word == 0xFFFFFFFFFFFFFFFF & ~(1 << 21)


@pytest.mark.parametrize(
    ("grid", "block", "needed"),
    [((1, 1, 1), (64,), r"block \(64, 1, 1\).*compiled for \(128, 1, 1\)"), (None, None, "does not say its grid"),
     (1, (0,), "at least 1 each"),
     ((-1,), None, "at least 0 each"), ((1, 2, 3, 4), None, "one to three"), (1.5, None, "one to three")],
)  # fmt: skip
def test_wrong_extents(fake_driver, grid, block, needed):
    fake_driver()
    with pytest.raises((TypeError, ValueError), match=needed):
        Kernel(b"", signature()).launch(grid, block)


def test_a_grid_without_blocks_launches_nothing_but_arguments_are_checked(fake_driver):
    sig = signature(arguments=(MATRIX,))
    fake = fake_driver(parameter_sizes(sig))
    kernel, x = Kernel(b"", sig), GpuArray(aligned((8, 256), np.float16))
    for grid in (0, (4, 0), (1, 1, 0)):
        kernel.launch(grid, None, x)
        kernel[grid, None](x)
    kernel.bind(0, None, x)()
    assert fake.launches == []
    with pytest.raises(ArgumentTypeError):
        kernel.launch(0, None, 3)


def test_with_nothing_but_empty_arrays_there_is_nothing_to_do(fake_driver):
    """The driver has no descriptor for them, and a kernel cannot change what has no elements."""
    rows = Expr.of(Symbol("arg0.dim0"))
    wanted = TensorMapArgument(0, TensorMap("FLOAT32", (40, rows), (160,), (32, 8), (1, 1)))
    sig = signature(tensor_maps=(wanted,), arguments=(ANY, ANY), bare_pointers=False)
    fake = fake_driver(parameter_sizes(sig))
    kernel, empty, full = Kernel(b"", sig), np.zeros((0, 40), np.float32), np.zeros((8, 40), np.float32)
    kernel.launch(1, None, empty, empty)
    kernel.launch(1, None, GpuArray(empty), GpuArray(empty))
    assert fake.launches == []
    with pytest.raises(DescriptorError, match=r"dims \[40, 0\] are empty"):
        kernel.launch(1, None, empty, full)  # it may still write the other one


def test_an_empty_array_without_a_tensor_map_is_an_argument_like_others(fake_driver):
    sig = signature(arguments=(ANY, ANY), bare_pointers=False)
    fake = fake_driver(parameter_sizes(sig))
    full = np.zeros((8, 40), np.float32)
    Kernel(b"", sig).launch(1, None, np.zeros((0, 40), np.float32), full)
    (launch,) = fake.launches
    assert [struct.unpack("<q", word)[0] for word in launch.parameters[3:5]] == [0, 40]


def test_problems_of_all_descriptors_are_listed(fake_driver):
    pitch = [Expr.of(Symbol(f"arg{i}.stride0")) * 4 for i in range(2)]
    maps = [TensorMapArgument(i, TensorMap("FLOAT32", (8, 4), (pitch[i],), (8, 4), (1, 1))) for i in (0, 1, 1)]
    sig = signature(tensor_maps=tuple(maps), arguments=(ANY, ANY), bare_pointers=False)
    fake_driver(parameter_sizes(sig))
    odd = [np.zeros((4, columns), np.float32)[:, :8] for columns in (9, 11)]
    with pytest.raises(DescriptorError) as caught:
        Kernel(b"", sig).launch(1, None, *odd)
    assert [problem.partition(";")[0] for problem in caught.value.problems] == [
        "argument 0: stride 1 is 36 B",
        "argument 1: stride 1 is 44 B",
    ]


def test_all_argument_problems_are_listed():
    kernel = Kernel(b"", signature(arguments=(MATRIX, MATRIX, ScalarArgument(dtype("i8")), MATRIX)))
    wrong = np.zeros((4, 512), np.float32)[:, ::2]
    with pytest.raises(ArgumentTypeError) as caught:
        kernel.launch(1, None, wrong, 3, 300, np.zeros(3, np.float16))
    assert list(caught.value.problems) == [
        "argument 0: elements are float32, needed: f16 (float16). "
        "Convert the array, or compile the kernel for its type",
        "argument 0: dimension 0 has 4 elements, needed: 8 (8x256xf16, strides [256, 1])",
        "argument 0: dimension 0 has stride 512 elements, needed: 256 (8x256xf16, strides [256, 1]). "
        "Make the array contiguous, or compile the kernel for this stride",
        "argument 0: dimension 1 has stride 2 elements, needed: 1 (8x256xf16, strides [256, 1]). "
        "Make the array contiguous, or compile the kernel for this stride",
        "argument 1: int is given, needed: an array of 8x256xf16, strides [256, 1]",
        "argument 2: 300 does not fit i8 (-128 .. 255)",
        "argument 3: rank 1 (shape [3]), needed: rank 2 (8x256xf16, strides [256, 1]). Reshape the array",
    ]
    assert "7 problems" in str(caught.value)
    assert "\n  7. argument 3" in str(caught.value)


def test_wrong_count_names_what_is_needed():
    kernel = Kernel(b"", signature(arguments=(MATRIX, ScalarArgument(dtype("i32")))))
    with pytest.raises(ArgumentTypeError, match=r"1 arguments given, needed: 2 \(0: 8x256xf16.*; 1: i32\)"):
        kernel.launch(1, None, np.zeros((8, 256), np.float16))


def test_launch_attributes_reach_the_driver(fake_driver):
    fake = fake_driver()
    kernel = Kernel(b"", signature())
    kernel.launch(4, None, cluster=2, attributes={"cooperative": True, "programmatic": True, "priority": -1})
    made = {a.id.removeprefix("CU_LAUNCH_ATTRIBUTE_"): a.value for a in fake.launches[0].attributes}
    assert set(made) == {"CLUSTER_DIMENSION", "COOPERATIVE", "PROGRAMMATIC_STREAM_SERIALIZATION", "PRIORITY"}
    assert vars(made["CLUSTER_DIMENSION"].clusterDim) == {"x": 2, "y": 1, "z": 1}
    assert made["PRIORITY"].priority == -1


def test_unknown_attribute_and_odd_cluster_are_refused(fake_driver):
    fake_driver()
    kernel = Kernel(b"", signature())
    with pytest.raises(TypeError, match="unknown launch attributes fast; known: cooperative, programmatic, priority"):
        kernel.launch(1, None, attributes={"fast": 1})
    with pytest.raises(ValueError, match=r"grid \(3, 1, 1\) is not a multiple of the cluster \(2, 1, 1\)"):
        kernel.launch(3, None, cluster=2)


def test_shared_memory_over_the_limit_names_the_parts(fake_driver):
    fake_driver()
    with pytest.raises(
        RuntimeFault, match=r"needs 232000 B of dynamic .* 1024 B of static; .* at most 232448 B together"
    ):
        Kernel(b"", signature(dynamic_shared_bytes=232000)).launch(1, None)


def test_shared_memory_is_raised_when_needed_and_never_lowered(fake_driver):
    fake = fake_driver()
    kernel = Kernel(b"", signature())
    for size in (1000, 100_000, 60_000, 200_000):
        kernel.launch(1, None, shared_memory=size)
    assert [call[3] for call in fake.calls if call[0] == "cuFuncSetAttribute"] == [100_000, 200_000]
    assert [launch.shared for launch in fake.launches] == [1000, 100_000, 60_000, 200_000]


def test_a_producer_s_stream_is_waited_for_and_waits(fake_driver):
    sig = signature(arguments=(MATRIX,))
    fake = fake_driver(parameter_sizes(sig))
    Kernel(b"", sig).launch(1, None, GpuArray(aligned((8, 256), np.float16), stream=7))
    waits = [call[1:3] for call in fake.calls if call[0] in ("cuEventRecord", "cuStreamWaitEvent")]
    assert waits == [("event", 7), (0, "event"), ("event", 0), (7, "event")]


def test_wrong_chip_says_both(fake_driver):
    fake = fake_driver()
    fake.fail["cuLibraryLoadData"] = fake.CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU
    with pytest.raises(CudaError, match=r"compiled for sm_100a, GPU 0 is sm_90a.*chip='native'"):
        Kernel(b"", signature(), chip="sm_100a").launch(1, None)


def test_after_unload_nothing_is_launched(fake_driver):
    fake_driver()
    kernel = Kernel(b"", signature())
    kernel.launch(1, None)
    kernel.unload()
    with pytest.raises(Unloaded, match=r"Kernel\.load"):
        kernel.launch(1, None)


def test_debug_names_the_launch(fake_driver, monkeypatch):
    monkeypatch.setenv("TMA_MLIR_DEBUG", "1")
    fake = fake_driver()
    kernel = Kernel(b"", signature())
    kernel.launch(3, None)
    fake.fail["cuStreamSynchronize"] = fake.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(
        CudaError, match=r"launch of kernel 'copy' on GPU 0, grid \(3, 1, 1\).*launch number 2"
    ) as caught:
        kernel[3, None]()
    assert caught.value.sticky


def test_arrays_are_not_kept_alive(fake_driver):
    sig = signature(arguments=(MATRIX,))
    fake_driver(parameter_sizes(sig))
    kernel, array = Kernel(b"", sig), GpuArray(aligned((8, 256), np.float16))
    kernel.launch(1, None, array)
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is None


def test_bound_launch_repeats_and_keeps_its_arrays(fake_driver):
    sig = signature(arguments=(MATRIX,))
    fake = fake_driver(parameter_sizes(sig))
    kernel, array = Kernel(b"", sig), GpuArray(aligned((8, 256), np.float16))
    run, gone = kernel.bind(1, None, array), weakref.ref(array)
    del array
    run()
    run()
    assert len(fake.launches) == 2
    assert fake.launches[0].parameters == fake.launches[1].parameters
    assert gone() is not None


def test_many_threads_launch_one_kernel(fake_driver):
    sig = signature(tensor_maps=(TensorMapArgument(0, COLUMNS),), arguments=(MATRIX,))
    fake = fake_driver(parameter_sizes(sig))
    kernel = Kernel(b"", sig)
    arrays = [aligned((8, 256), np.float16) for _ in range(8)]

    def work(array):
        for _ in range(50):
            kernel.launch(1, None, GpuArray(array))

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fake.launches) == 400
    for launch in fake.launches:
        assert launch.parameters[0][:8] == launch.parameters[1]  # descriptor and pointer of the same array
    assert {struct.unpack("<Q", launch.parameters[1])[0] for launch in fake.launches} == set(map(address, arrays))


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"grid": 1 << 31}, ValueError, r"grid is \(2147483648, 1, 1\), needed: at most \(2147483647, 65535, 65535\)"),
        ({"grid": (1, 65536)}, ValueError, "grid is"),
        ({"grid": 10**5000}, ValueError, "grid is a value of type tuple, needed: at most"),
        ({"grid": np.zeros(2, int)}, TypeError, "needed: one to three integers"),
        ({"cluster": 17}, ValueError, "cluster is"),
        ({"cluster": (4, 4, 2)}, ValueError, "has 32 blocks, needed: at most 16"),
        ({"shared_memory": -1}, ValueError, "shared_memory is -1 bytes"),
        ({"shared_memory": 1 << 40}, ValueError, "shared_memory is"),
        ({"shared_memory": "x"}, TypeError, "shared_memory is 'x', needed: a number of bytes"),
        ({"stream": -1}, TypeError, "-1 is not the handle of a stream"),
        ({"stream": 1 << 64}, TypeError, "is not the handle of a stream"),
        ({"attributes": 5}, TypeError, "attributes is 5, needed: LaunchAttributes or a dictionary"),
        ({"attributes": {1: 2}}, TypeError, "unknown launch attributes 1"),
        ({"attributes": {"priority": "high"}}, TypeError, "priority is 'high', needed: an integer"),
        ({"attributes": {"cooperative": "yes"}}, TypeError, "cooperative is 'yes', needed: True or False"),
    ],
)
def test_numbers_that_no_gpu_takes_do_not_reach_the_driver(fake_driver, options, kind, text):
    fake = fake_driver()
    with pytest.raises(kind, match=text):
        Kernel(b"cubin", signature()).launch(**{"grid": 1, "block": None, **options})
    assert fake.launches == []


@pytest.mark.parametrize("block", [1025, (32, 33), (1, 1, 65)])
def test_blocks_that_no_gpu_takes_do_not_reach_the_driver(fake_driver, block):
    fake_driver()
    with pytest.raises(ValueError, match="block"):
        Kernel(b"cubin", signature(block=None)).launch(1, block)


def test_a_stream_that_raises_is_not_a_stream(fake_driver):
    class Broken:
        @property
        def ptr(self):
            raise RuntimeError("destroyed")

    fake_driver()
    with pytest.raises(TypeError, match="Broken cannot be read as a stream: RuntimeError: destroyed"):
        Kernel(b"cubin", signature()).launch(1, None, stream=Broken())
