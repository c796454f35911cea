"""Arrays of PyTorch, CuPy, JAX and NumPy, used where they are."""

import gc

import ml_dtypes
import numpy as np
import pytest

from tma_mlir.abi.signature import KernelSignature, MemRefArgument
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import Swizzle, TensorMap
from tma_mlir.runtime import ArgumentTypeError, DescriptorError, Kernel, native, view
from tma_mlir.runtime.known_launches import KnownLaunches


def test_numpy(scale):
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    scale.launch(8, None, x, y, 3, 1000, 1)
    np.testing.assert_array_equal(y, 3 * np.arange(1000, dtype=np.float32))


def test_torch_in_place_fast_and_slow(scale, torch):
    x, y = torch.arange(1000, dtype=torch.float32, device="cuda"), torch.zeros(1000, device="cuda")
    for factor in (3.0, 3.0, 4.0, 3.0):
        scale[8, None](x, y, factor, 1000, 1)
        assert torch.equal(y, factor * x)


def test_torch_tensors_that_come_and_go(scale, torch):
    for step in range(200):
        x = torch.full((1000 + step % 3,), float(step), device="cuda")
        y = torch.empty_like(x)
        scale[9, None](x, y, 2.0, x.numel(), 1)
        assert (y == 2.0 * step).all()
        del x, y


def test_torch_views_with_offset(scale, torch):
    base = torch.arange(3000, dtype=torch.float32, device="cuda")
    out = torch.zeros(1000, device="cuda")
    scale[8, None](base[1001:2001], out, 2.0, 1000, 1)
    assert torch.equal(out, 2 * base[1001:2001])


def test_torch_parameters_and_cpu_tensors(scale, torch):
    x = torch.nn.Parameter(torch.ones(1000, device="cuda"))
    y = torch.zeros(1000)
    scale[8, None](x, y, 5.0, 1000, 1)
    assert (y == 5).all()


@pytest.mark.parametrize(
    "name",
    ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int16", "int64", "float64", "bool"],
)
def test_torch_types(torch, name):
    kind = getattr(torch, name)
    tensor = torch.zeros(64, device="cuda").to(kind)
    seen = view(tensor)
    assert seen.itemsize == tensor.element_size()
    assert seen.dtype == np.dtype(getattr(ml_dtypes, name, name if name != "bool" else np.bool_))
    assert (seen.pointer, seen.device) == (tensor.data_ptr(), tensor.device.index)


def test_work_is_ordered_with_torch_s_current_stream(scale, torch):
    """A long kernel writes x on a side stream; the launch on the same stream must see it, and so must torch after."""
    side = torch.cuda.Stream()
    count = 1 << 20
    for _ in range(5):
        x, y = torch.zeros(count, device="cuda"), torch.zeros(count, device="cuda")
        one = torch.ones(count, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            scale[count // 128, None](one, x, 7.0, count, 2000)
            scale[count // 128, None](x, y, 2.0, count, 1)
            total = y.sum()
        side.synchronize()
        assert total.item() == 14.0 * count


def test_a_stream_can_be_given(scale, torch):
    side = torch.cuda.Stream()
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    for stream in (side, side.cuda_stream):
        scale.launch(8, None, x, y, 2.0, 1000, 1, stream=stream)
    side.synchronize()
    assert (y == 2).all()


def test_cupy(scale):
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(1000, dtype=cupy.float32), cupy.zeros(1000, cupy.float32)
    for factor in (3.0, 3.0, 4.0):
        scale[8, None](x, y, factor, 1000, 1)
        assert (y == factor * x).all()
    cupy.cuda.Device().synchronize()  # x was made on another stream
    with cupy.cuda.Stream(non_blocking=True) as stream:
        z = cupy.zeros_like(x)
        scale[8, None](x, z, 2.0, 1000, 1)
        stream.synchronize()
        assert (z == 2 * x).all()


def test_torch_and_cupy_together(scale, torch):
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(1000, dtype=cupy.float32), torch.zeros(1000, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        scale[8, None](x, y, 3.0, 1000, 1)
        assert y.sum().item() == 3 * 999 * 1000 / 2


def test_jax(scale):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    x, y = jax.numpy.arange(1000, dtype="float32") + 1, np.zeros(1000, np.float32)
    scale[8, None](x, y, 2.0, 1000, 1)
    np.testing.assert_array_equal(y, 2 * (np.arange(1000, dtype=np.float32) + 1))
    bf16 = view(jax.numpy.zeros(8, "bfloat16"))
    assert bf16.dtype == np.dtype(ml_dtypes.bfloat16)


def test_cuda_array_interface(scale, torch):
    class Wrapped:
        def __init__(self, tensor):
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    scale[8, None](Wrapped(x), Wrapped(y), 2.0, 1000, 1)
    torch.cuda.synchronize()
    assert (y == 2).all()


def test_dlpack_of_an_unknown_exporter(scale, torch):
    class Exporter:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **keywords):
            return self.tensor.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    scale[8, None](Exporter(x), Exporter(y), 2.0, 1000, 1)
    torch.cuda.synchronize()
    assert (y == 2).all()
    del x, y
    gc.collect()


MAP = TensorMap("FLOAT16", (64, 8, 4), (512, 128), (64, 8, 4), (1, 1, 1), Swizzle.B128)


def test_tensor_map_on_a_torch_tensor(tile_kernel, torch):
    kernel = tile_kernel("load", MAP)
    data = torch.arange(8192, dtype=torch.int32, device="cuda").to(torch.uint8)
    for start in (0, 16, 32, 0):
        out = torch.zeros(65536, dtype=torch.uint8, device="cuda")
        kernel(data[start:], out, 4096, 0, 0, 0)
        expected = torch.sort(data[start : start + 4096]).values  # the swizzle moves bytes, and loses none
        assert torch.equal(torch.sort(out[:4096]).values, expected)
        assert (out[4096:] == 0xCD).all()


def test_a_slice_off_16_bytes_is_explained(tile_kernel, torch):
    data, out = (
        torch.zeros(8192, dtype=torch.uint8, device="cuda"),
        torch.zeros(65536, dtype=torch.uint8, device="cuda"),
    )
    with pytest.raises(DescriptorError, match="a multiple of 16 B"):
        tile_kernel("load", MAP)(data[8:], out, 4096, 0, 0, 0)


def test_a_tensor_that_changes_in_place(scale, torch):
    """Same object, other memory, size, strides or type: never what was there before."""
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")

    def doubled():
        for _ in range(3):
            scale[8, None](x, y, 2.0, x.numel(), 1)
        return torch.equal(y[: x.numel()], 2 * x)

    assert doubled()
    x.set_(torch.full((1000,), 3.0, device="cuda"))
    assert doubled()
    x.data = torch.full((700,), 4.0, device="cuda")
    assert doubled()
    x.resize_(300)
    assert doubled()
    x.data = x.data.view(torch.int32)
    with pytest.raises(ArgumentTypeError, match="elements are int32, needed: f32"):
        doubled()
    x.data = torch.ones(2000, device="cuda")[::2]
    with pytest.raises(ArgumentTypeError, match="stride 2"):
        doubled()


def test_known_launches_are_native(scale, torch, monkeypatch):
    if native.module() is None:
        pytest.skip(f"launches are not native here: {native.why_not}")
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    launch = scale[8, None]
    launch(x, y, 2.0, 1000, 1)
    monkeypatch.setattr(Kernel, "_launch", None)
    monkeypatch.setattr(KnownLaunches, "find", None)
    for factor in (3.0, 4.0):
        z = torch.empty_like(y)
        with torch.cuda.stream(torch.cuda.Stream()):
            launch(x, z, factor, 1000, 1)
            assert (z == factor).all()


def test_wrong_types_are_explained(scale, torch):
    x = torch.zeros(1000, dtype=torch.float16, device="cuda")
    with pytest.raises(ArgumentTypeError, match="elements are float16, needed: f32"):
        scale[8, None](x, x, 1.0, 1000, 1)


def test_negative_views_are_refused(torch):
    signature = KernelSignature("k", (), (MemRefArgument(dtype("f32"), (None,), (2,)),), block=(1, 1, 1))
    from tma_mlir.runtime.binding import convert

    imaginary = torch.zeros(8, dtype=torch.complex64, device="cuda").conj().imag
    with pytest.raises(ArgumentTypeError, match="resolve_neg"):
        convert(signature, [imaginary])
