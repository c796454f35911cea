"""A correct pipelined matmul, and what is said when one line of its synchronisation is changed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tma_mlir.testing
from tma_mlir.sim.errors import SimulationError

SOURCE = (Path(__file__).resolve().parents[3] / "bench/pipelined_matmul.mlir").read_text()
ONE_BLOCK = SOURCE.replace("known_grid_size = array<i32: 4, 4, 1>", "known_grid_size = array<i32: 1, 1, 1>")
ARRIVE = "          %state = nvgpu.mbarrier.arrive %empty[%s] : !bars -> !nvgpu.mbarrier.token\n"
MMA = "          %new = nvgpu.warpgroup.mma"
EXPECT = "nvgpu.mbarrier.arrive.expect_tx %full[%s], %bytes : !bars"

CHANGES: dict[str, tuple[list[tuple[str, str]], set[str]]] = {
    "the consumers do not wait": (
        [("nvgpu.mbarrier.try_wait.parity %full", "// ")],
        {"read before completion"},
    ),
    "the producer does not wait": (
        [("nvgpu.mbarrier.try_wait.parity %empty", "// ")],
        {"too many arrivals", "stage reused too early"},
    ),
    "the consumers release nothing": ([(ARRIVE, "")], {"deadlock"}),
    "the consumers release before they read": ([(ARRIVE, ""), (MMA, ARRIVE + MMA)], {"stage reused too early"}),
    "the consumers release while wgmma reads": ([("waitGroup = 0", "waitGroup = 1")], {"stage reused too early"}),
    "half of the bytes are expected": (
        [("%bytes = arith.constant 32768", "%bytes = arith.constant 16384")],
        {"expect_tx too small"},
    ),
    "twice the bytes are expected": (
        [("%bytes = arith.constant 32768", "%bytes = arith.constant 65536")],
        {"deadlock"},
    ),
    "no bytes are expected": (
        [(EXPECT, "%announced = nvgpu.mbarrier.arrive %full[%s] : !bars -> !nvgpu.mbarrier.token")],
        {"expect_tx missing"},
    ),
    "no barrier after the initialisation": (
        [("      gpu.barrier\n", "")],
        {"barrier used before init is visible", "barrier not initialised"},
    ),
    "the producer's parity is inverted": (
        [("%parity = arith.cmpi eq, %bit, %c0", "%parity = arith.cmpi eq, %bit, %c1")],
        {"deadlock"},
    ),
    "the consumers' parity is inverted": (
        [("%parity = arith.cmpi eq, %bit, %c1", "%parity = arith.cmpi eq, %bit, %c0")],
        {"wrong parity", "deadlock"},
    ),
    "the consumers' parity is fixed": (
        [("%parity = arith.cmpi eq, %bit, %c1", "%parity = arith.cmpi eq, %c1, %c0")],
        {"wrong parity", "deadlock"},
    ),
    "the empty barrier counts too many": (
        [("init %empty[%s], %c128", "init %empty[%s], %bytes")],
        {"deadlock"},
    ),
    "the full barrier counts two": ([("init %full[%s], %c1", "init %full[%s], %c2")], {"deadlock"}),
    "one tile overlaps the other": (
        [("%at_b = arith.addi %at, %c16384", "%at_b = arith.addi %at, %c0")],
        {"stage reused too early"},
    ),
}


@cache
def operands() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(4)
    a, b = (random.standard_normal((512, 512)).astype(ml_dtypes.bfloat16) for _ in range(2))
    return a, b


def multiply(source: str, schedules: int) -> np.ndarray:
    c = np.zeros((512, 512), np.float32)
    tma_mlir.testing.simulate(source, args=[*operands(), c], schedules=schedules)
    return c[:128, :128]


def test_the_pipeline_is_right_on_every_schedule():
    a, b = operands()
    expected = a[:128].astype(np.float32) @ b[:, :128].astype(np.float32)
    np.testing.assert_allclose(multiply(ONE_BLOCK, 20), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", CHANGES)
def test_a_broken_pipeline_is_reported_for_its_cause(name):
    changes, kinds = CHANGES[name]
    source = ONE_BLOCK
    for before, after in changes:
        assert before in source
        source = source.replace(before, after, 1)
    with pytest.raises(SimulationError) as error:
        multiply(source, 1)
    assert error.value.kind in kinds, str(error.value)
    assert error.value.location
