"""Launch features: clusters, shared memory, cooperative and dependent launches, graphs, streams, threads, devices."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from tma_mlir.abi.signature import KernelSignature, MemRefArgument
from tma_mlir.assembler import assemble
from tma_mlir.dtypes import dtype
from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import CudaError, Kernel, RuntimeFault, Unloaded, driver

OUT = MemRefArgument(dtype("i32"), (None,), (1,))
ROW = TensorMap("UINT8", (4096,), (), (128,), (1,))

REPORT_PTX = """.version 8.7
.target {chip}
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry report(.param .u64 out)
{{
    .reg .b32 %a<4>; .reg .b64 %o, %x;
    ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o;
    mov.u32 %a0, %ctaid.x; mul.wide.u32 %x, %a0, 16; add.u64 %o, %o, %x;
    mov.u32 %a1, %cluster_nctaid.x; mov.u32 %a2, %cluster_ctarank; mov.u32 %a3, %dynamic_smem_size;
    st.global.v4.b32 [%o], {{%a0, %a1, %a2, %a3}};
    griddepcontrol.launch_dependents; griddepcontrol.wait;
    ret;
}}
"""


@pytest.fixture
def report():
    """Each block writes its index, the cluster's size, its rank in it, and the dynamic shared memory; block 32."""
    signature = KernelSignature("report", (), (OUT,), block=(32, 1, 1))
    return Kernel(assemble(REPORT_PTX.format(chip="sm_90"), "sm_90"), signature)


def rows(report, grid, **options):
    out = np.full(4 * grid, -1, np.int32)
    report.launch(grid, None, out, **options)
    return out.reshape(grid, 4)


def test_clusters(report):
    np.testing.assert_array_equal(rows(report, 8)[:, 1:3], [[1, 0]] * 8)
    np.testing.assert_array_equal(rows(report, 8, cluster=4)[:, 1:3], [[4, i % 4] for i in range(8)])
    assert rows(report, 16, cluster=16)[:, 1].tolist() == [16] * 16  # above the portable size


def test_dynamic_shared_memory_up_to_the_limit(report):
    limit = driver.device(0).shared_bytes
    for size in (0, 1000, 48 * 1024 + 16, limit, 64):
        assert rows(report, 2, shared_memory=size)[:, 3].tolist() == [size] * 2
    with pytest.raises(RuntimeFault, match=f"at most {limit} B"):
        rows(report, 2, shared_memory=limit + 16)


def test_cooperative(report):
    assert rows(report, 16, attributes={"cooperative": True})[:, 0].tolist() == list(range(16))
    with pytest.raises(CudaError, match=r"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE.*use a smaller grid"):
        report.launch(1 << 20, None, np.zeros(4 << 20, np.int32), attributes={"cooperative": True})


def test_programmatic_dependent_launches(report, torch):
    out = torch.zeros(64, 4, dtype=torch.int32, device="cuda")
    for _ in range(20):
        report.launch(64, None, out.view(-1), attributes={"programmatic": True, "priority": 0})
    assert out[:, 0].tolist() == list(range(64))


def test_a_graph_holds_the_descriptors(tile_kernel, torch):
    """Capture two launches on different tensors, then change the tensors' contents and replay."""
    kernel = tile_kernel("load", ROW)
    inputs = [torch.zeros(4096, dtype=torch.uint8, device="cuda") for _ in range(2)]
    outputs = [torch.zeros(65536, dtype=torch.uint8, device="cuda") for _ in range(2)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the first launch of this kernel: it is loaded while capturing
        for source, target in zip(inputs, outputs, strict=True):
            kernel(source, target, 128, 256)
    for round_ in range(3):
        for number, source in enumerate(inputs):
            source.fill_(10 * round_ + number)
        graph.replay()
        torch.cuda.synchronize()
        for number, target in enumerate(outputs):
            assert (target[:128] == 10 * round_ + number).all()


def test_host_arrays_cannot_be_captured(scale, torch):
    x = np.ones(128, np.float32)
    with (
        pytest.raises(CudaError, match="only launches on arrays that are on the device"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        scale.launch(1, None, x, x.copy(), 1.0, 128, 1, stream=torch.cuda.current_stream())  # fmt: skip


def test_threads_and_streams(tile_kernel, torch):
    kernel, failures = tile_kernel("load", ROW), []

    def work(number):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for step in range(100):
                source = torch.full((4096,), (number * 31 + step) % 251, dtype=torch.uint8, device="cuda")
                target = torch.zeros(65536, dtype=torch.uint8, device="cuda")
                kernel(source, target, 128, 1024)
                if not (target[:128] == source[0]).all():
                    failures.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_thread_that_never_used_cuda(scale, torch):
    x, y, errors = torch.ones(128, device="cuda"), torch.zeros(128, device="cuda"), []
    scale[1, None](x, y, 2.0, 128, 1)
    scale[1, None](x, y, 2.0, 128, 1)

    def work():
        try:
            scale[1, None](x, y, 3.0, 128, 1)
            scale[1, None](x, y, 3.0, 128, 1)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []
    assert (y == 3).all()


def test_bound_launches(scale, torch):
    x, y = torch.ones(128, device="cuda"), torch.zeros(128, device="cuda")
    run = scale.bind(1, None, x, y, 2.0, 128, 1)
    for value in (1, 5, 9):
        x.fill_(value)
        run()
        assert (y == 2 * value).all()


def test_another_chip_is_explained():
    signature = KernelSignature("report", (), (OUT,), block=(32, 1, 1))
    kernel = Kernel(assemble(REPORT_PTX.format(chip="sm_120"), "sm_120"), signature)
    with pytest.raises(CudaError, match=r"compiled for sm_120, GPU 0 is sm_\d+a?"):
        kernel.launch(1, None, np.zeros(4, np.int32))


def test_a_kernel_that_is_not_in_the_cubin_is_explained(report):
    missing = Kernel(report.cubin, KernelSignature("nothing", (), (OUT,)), chip="sm_90")
    with pytest.raises(CudaError, match=r"CUDA_ERROR_NOT_FOUND.*no kernel of that name"):
        missing.launch(1, 32, np.zeros(4, np.int32))


def test_unloading(report):
    rows(report, 1)
    report.unload()
    with pytest.raises(Unloaded):
        rows(report, 1)


def test_a_block_that_is_too_large(report):
    free = Kernel(report.cubin, KernelSignature("report", (), (OUT,)), chip="sm_90")
    with pytest.raises(ValueError, match="block"):  # said before the driver is asked
        free.launch(1, 4096, np.zeros(4, np.int32))


FAULT = """
import numpy as np, sys
sys.path.insert(0, {folder!r})
import torch
from kernels import make_tile_kernel
from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import CudaError
kernel = make_tile_kernel("store", TensorMap("UINT8", (4096,), (), (128,), (1,)))
tensor = torch.zeros(4096, dtype=torch.uint8, device="cuda")
shared = torch.zeros(65536, dtype=torch.uint8, device="cuda")
try:
    kernel(tensor, shared, 0)
    kernel(tensor, shared, -16)      # a store at a negative coordinate
    torch.cuda.synchronize()
except CudaError as error:
    print(error)
except Exception as error:
    print("torch:", error)
"""


@pytest.mark.parametrize("debug", ["1", "0"])
def test_debug_names_the_launch_that_died(debug, torch):
    """The context is lost with it, so this is another process."""
    import os
    from pathlib import Path

    code = FAULT.format(folder=str(Path(__file__).parent))
    environment = {**os.environ, "TMA_MLIR_DEBUG": debug}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if debug == "1":
        assert "CUDA_ERROR_ILLEGAL_INSTRUCTION" in done.stdout, done.stderr
        assert "launch of kernel 'store' on GPU 0, grid (1, 1, 1), block (128, 1, 1), launch number 2" in done.stdout
        assert "a store at a negative coordinate" in done.stdout
    else:
        assert done.stdout.startswith("torch:"), done.stdout + done.stderr


def test_two_devices(scale, torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    for place in (0, 1, 0, 1):
        x = torch.ones(128, device=f"cuda:{place}")
        y = torch.zeros(128, device=f"cuda:{place}")
        for _ in range(2):
            scale[1, None](x, y, 2.0 + place, 128, 1)
        assert (y == 2 + place).all()


def test_peer_memory(scale, torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    x, y = torch.ones(128, device="cuda:1"), torch.zeros(128, device="cuda:0")
    torch.cuda.synchronize(1)
    with torch.cuda.device(0):
        scale[1, None](x, y, 6.0, 128, 1)
    assert (y == 6).all()
