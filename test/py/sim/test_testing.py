"""The helper for users' tests, on the examples of the repository: no false alarm, the right result."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tma_mlir.testing
from tma_mlir.compile.compiler import compile_file
from tma_mlir.sim.command_line import add_options, run_with_options

ROOT = Path(__file__).resolve().parents[3]
SCHEDULES = 20


def test_the_demonstration_copies_its_tile_as_swizzled_atoms():
    x = np.arange(2048, dtype=np.float16).reshape(8, 256)
    out = np.zeros_like(x)
    result = tma_mlir.testing.simulate(ROOT / "examples/copy_8x256.mlir", args=[x, out], schedules=SCHEDULES)
    # Four atoms of 8 rows x 64 columns; in row r the 16-byte chunk c lies at chunk c ^ r.
    atoms = x.reshape(8, 4, 8, 8).transpose(1, 0, 2, 3)
    expected = atoms[:, np.arange(8)[:, None], np.arange(8)[None, :] ^ np.arange(8)[:, None]]
    np.testing.assert_array_equal(out.reshape(4, 8, 8, 8), expected)
    assert result.findings == ()
    assert result.transfer_bytes == 4096


def test_the_pipelined_matmul_matches_numpy():
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((512, 512)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((512, 512), np.float32)
    result = tma_mlir.testing.simulate(ROOT / "bench/pipelined_matmul.mlir", args=[a, b, c])
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)
    # 16 blocks, 8 steps, 32 KiB a step.
    assert result.transfer_bytes == 16 * 8 * 32768
    assert result.findings == ()


def test_a_trace_names_warps_waits_and_copies(tmp_path):
    x = np.arange(2048, dtype=np.float16).reshape(8, 256)
    path = tmp_path / "trace.json"
    tma_mlir.testing.simulate(ROOT / "examples/copy_8x256.mlir", args=[x, np.zeros_like(x)], trace=path)
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["name"] for event in events}
    assert {"process_name", "thread_name", "run"} <= names
    assert any(name.startswith("wait: mbarrier") for name in names)
    flights = [event for event in events if event.get("cat") == "copy"]
    assert [event["ph"] for event in flights] == ["b", "e"]
    assert flights[0]["ts"] <= flights[1]["ts"]
    assert flights[0]["args"]["bytes"] == 4096


@pytest.mark.parametrize("bad", ["none", None])
def test_a_kernel_that_is_not_there_is_named(bad):
    with pytest.raises(ValueError, match="name one of the kernels copy_8x256"):
        tma_mlir.testing.simulate(ROOT / "examples/copy_8x256.mlir", name=bad or "other")


def test_the_command_line_options_check_report_and_trace(tmp_path, capsys):
    compiled = compile_file(ROOT / "examples/store_tile.mlir", keep=("lowered",), assemble_cubin=False)
    signature = compiled.signatures["store_tile"]
    parser = argparse.ArgumentParser()
    add_options(parser)
    path = tmp_path / "trace.json"
    options = parser.parse_args(["--schedules", "2", "--trace", str(path), "--report-access"])
    out = np.zeros((128, 256), np.int32)
    run_with_options(options, compiled.texts["lowered"], signature, [out])
    np.testing.assert_array_equal(out, np.arange(128 * 256).reshape(128, 256))
    assert "shared store: 1024 warp accesses, 1024 wavefronts, 1024 without waste (1.00x)" in capsys.readouterr().out
    assert json.loads(path.read_text())["traceEvents"]
