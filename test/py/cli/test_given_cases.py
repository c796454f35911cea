"""Small inputs that once went wrong, each with its right outcome: exit code, place and words of the message."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tma_mlir.testing import simulate

CASES = Path(__file__).resolve().parents[3].parent / "shared/cases"
SIM = ("--device", "sim")

# (file, tool, options, exit code, regular expressions that the output matches)
TO_CUBIN = ("--tile-to-cubin", "-o", "/dev/null")
OUTCOMES = [
    ("01_offset_2e28", "opt", TO_CUBIN, 0, []),
    ("02_offset_2e31", "opt", TO_CUBIN, 0, []),
    ("06_load_i1", "run", (), 0, []),
    ("07_mma_shape", "opt", TO_CUBIN, 1, [":4:10: error: mmaShape has 2 numbers"]),
    ("08_memref_overflow", "opt", TO_CUBIN, 1, [":3:26: error: .* has to fit 63 bits"]),
    ("09_block_minus_1", "opt", TO_CUBIN, 1, [":3:3: error: .* known_block_size = -1"]),
    ("10_block_minus_64", "opt", TO_CUBIN, 1, [":3:3: error: .* known_block_size = -64"]),
    ("11_setmaxregister", "opt", ("--tile-to-cubin=chip=sm_90",), 1, [":4:5: error: .* which sm_90 lacks"]),
    ("11_setmaxregister", "opt", ("--tile-to-cubin=chip=sm_90a", "-o", "/dev/null"), 0, []),
    ("12_workgroup_dynamic_stride", "opt", TO_CUBIN, 1, [":3:3: error: .* known when it is compiled"]),
    ("13_mma_store_rank0", "opt", TO_CUBIN, 1, [":6:5: error: .* needed: rank 2"]),
    ("14_addr_space_unit", "opt", TO_CUBIN, 1, [":2:32: error: addr_space"]),
    ("15_shared_dynamic_stride", "opt", ("--tile-plan-copies",), 1, [":4:3: error: .* strides are known"]),
    ("16_launch_2e31", "opt", TO_CUBIN, 1, [":11:5: error: .* a grid of 2147483648"]),
    (
        "22_read_wait_then_load",
        "run",
        ("--arg", "2=iota", "--schedules", "2"),
        3,
        [r":34:9: error", "store not complete"],
    ),
    ("23_expect_after_issue", "run", ("--arg", "0=random:1", "--schedules", "5"), 0, ["verified"]),
    ("24_kept_copy", "opt", ("--tile-to-cubin", "-o", "/dev/null"), 0, []),
    ("25_raise_in_launch", "opt", ("--tile-raise-copies", "--tma-remarks"), 0, ["gpu-kernel-outlining"]),
    (
        "25_raise_in_launch",
        "opt",
        ("--tile-raise-copies", "--tile-to-cubin"),
        1,
        [":6:3: error", "gpu-kernel-outlining"],
    ),
    ("26_launch_inline", "opt", ("--tile-to-cubin",), 1, [":14:3: error", "gpu-kernel-outlining"]),
    ("26_launch_inline", "run", (), 1, [":14:3: error", "gpu-kernel-outlining"]),
    ("26_launch_inline", "explain", (), 1, [":14:3: error", "gpu-kernel-outlining"]),
    ("27_transposed_shared_global", "run", ("--arg", "0=random:1"), 1, [":6:5: error", "identity layout"]),
    ("28_nan_i8", "run", ("--arg", "0=random:1"), 1, [":20:9: error", "NaN"]),
    ("29_matmul_128x64", "run", (), 1, ["error", "128"]),
    ("30_cp_async_edge", "run", ("--arg", "0=random:1"), 0, ["verified"]),
    ("31_halo_34", "run", ("--arg", "0=random:1"), 0, ["verified", "warning: .*one thread makes this copy"]),
    ("32_halo_36", "run", ("--arg", "0=random:1"), 0, ["verified", "never a multiple of 16 B", "by one thread"]),
    ("33_store_bounds", "opt", ("--tile-plan-copies",), 0, ['variant = "tma"']),
    ("34_swizzle_wide_row", "explain", (), 0, ["hint: .*#tile.atoms", "not cp_async: 64 instructions instead of"]),
    ("35_raise_transfer_loop", "opt", ("--tile-raise-copies", "--tma-remarks"), 0, ['"tile.copy_async"']),
    ("36_raise_cp_async_loop", "opt", ("--tile-raise-copies", "--tma-remarks"), 0, ['"tile.copy_async"']),
    (
        "37_ring_no_empty_wait",
        "run",
        ("--arg", "0=small:1"),
        3,
        [":38:11: error", "no thread waits on mbarrier %empty"],
    ),
    ("38_ring_empty_count", "run", ("--arg", "0=small:1"), 3, ["error", r"%empty\[0\].* counts 32, but 64 arrivals"]),
    ("39_matmul_atoms_64", "run", (), 1, ["error", "128B"]),
    ("40_store_by_warp", "run", ("--arg", "1=random:1"), 0, [":25:9: warning: 32 lanes", "executed 32 times"]),
    ("41_one_thread_fallback", "run", ("--arg", "0=random:1"), 0, [":20:9: warning", "one thread", 'scope = "cta"']),
    ("41_one_thread_fallback", "explain", (), 0, ["by one thread, 1024 copies", "Pad the pitch"]),
    ("44_scalar_i8", "run", ("--arg", "0=zeros", "--arg", "1=300"), 1, ["300 does not fit i8"]),
    ("45_divergent_barrier", "run", (), 3, [":9:7: error", "lanes 8-31"]),
    ("17_descriptors_attr", "opt", TO_CUBIN, 1, [":3:3: error: .*needed: an array of #tile.tensor_map"]),
    ("46_livelock_atomic", "run", ("--arg", "0=zeros"), 3, ["error", "loops for ever"]),
]


def path_of(name: str) -> Path:
    path = CASES / f"{name}.mlir"
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    return path


@pytest.mark.parametrize(
    ("name", "tool", "options", "code", "words"), OUTCOMES, ids=[f"{case[1]} {case[0]}" for case in OUTCOMES]
)
def test_the_outcome_is_right(name, tool, options, code, words, capfd):
    device = SIM if tool == "run" else ()
    found = import_module(f"tma_mlir.cli.{tool}").main([str(path_of(name)), *device, *options])
    output = "".join(capfd.readouterr())
    assert found == code, output
    for each in words:
        assert re.search(each, output), output


def reduced(a: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray]:
    result = a.copy()
    result[8 : 8 + len(b)] += b[: len(a) - 8]
    return 0, result


def rounded(a: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray]:
    bits = a[8:24].view(np.uint32)
    return 1, ((bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)).view(np.float32)


def summed(a: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray]:
    return 1, b + a.sum(0)


@pytest.mark.parametrize(("name", "meaning"), [("03_reduce_add", reduced), ("04_tf32", rounded), ("05_splitk", summed)])
def test_the_result_is_numpys_and_the_references(name, meaning, tmp_path, capfd):
    path = path_of(name)
    shapes = re.findall(r"%\w+: memref<([\dx]+)xf32>", path.read_text().partition("kernel")[0])[:2]
    random = np.random.default_rng(1)
    arrays = [random.integers(-4, 5, [int(n) for n in shape.split("x")]).astype(np.float32) for shape in shapes]
    if name == "04_tf32":
        arrays[0] = random.random(arrays[0].shape, np.float32)
    index, expected = meaning(*arrays)
    options = []
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
        options += ["--arg", f"{number}={tmp_path / f'{number}.npy'}"]
    np.save(tmp_path / "expected.npy", expected)
    options += ["--expect", f"{index}={tmp_path / 'expected.npy'}"]
    assert import_module("tma_mlir.cli.run").main([str(path), *SIM, *options]) == 0
    assert f"argument {index} equals" in "".join(capfd.readouterr())
    simulate(path, args=arrays)
    np.testing.assert_array_equal(arrays[index], expected)
