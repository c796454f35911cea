"""Many launches over changing tensors: neither host nor device memory grows."""

import os
import resource
import time

import pytest

from tma_mlir.plan.tensor_map import TensorMap
from tma_mlir.runtime import native

LAUNCHES = int(os.environ.get("TMA_MLIR_SOAK_LAUNCHES", "200000"))


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("way", ["native", "python"])
def test_memory_does_not_grow(tile_kernel, torch, record_property, monkeypatch, way):
    if way == "python":
        monkeypatch.setattr(native, "launch", lambda slow, alive: slow)
    elif native.module() is None:
        pytest.skip(f"launches are not native here: {native.why_not}")
    kernel = tile_kernel("load", TensorMap("UINT8", (4096,), (), (128,), (1,)))
    out = torch.zeros(65536, dtype=torch.uint8, device="cuda")
    pool = torch.zeros(1 << 26, dtype=torch.uint8, device="cuda")

    def launch(count):
        for step in range(count):
            start = (step * 7919 * 16) % ((1 << 26) - 8192)
            kernel(pool[start : start + 4096 + 16 * (step % 100)], out, 128, 16 * (step % 100))
            if step % 1000 == 0:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return resident_bytes(), torch.cuda.mem_get_info()[0]

    host_before, free_before = launch(LAUNCHES // 10)
    start = time.perf_counter()
    host_after, free_after = launch(LAUNCHES)
    spent = time.perf_counter() - start
    record_property(
        "measured",
        f"{LAUNCHES} launches in {spent:.1f} s: host {host_before / 1e6:.1f} -> {host_after / 1e6:.1f} MB resident, "
        f"device {free_before / 1e6:.1f} -> {free_after / 1e6:.1f} MB free",
    )
    assert host_after - host_before < 8 << 20
    assert free_before - free_after < 2 << 20
