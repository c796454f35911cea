"""A ring of two stages between a producer and two warps of consumers, and what is said when one line of it is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tma_mlir.testing
from tma_mlir.compile.compiler import compile_file
from tma_mlir.sim.errors import SimulationError

RING = """
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!ring = memref<2x16x64xf32, #gpu.address_space<workgroup>>
!one = memref<16x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!token = !nvgpu.mbarrier.token
module attributes {gpu.container_module} {
  gpu.module @m {
    memref.global "private" @ring : !ring
    gpu.func @k(%in: memref<128x64xf32>, %out: memref<64xf32>) kernel
        attributes {known_block_size = array<i32: 96, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %t = gpu.thread_id x
      %ring = memref.get_global @ring : !ring
      %full = nvgpu.mbarrier.create -> !bars
      %empty = nvgpu.mbarrier.create -> !bars
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        scf.for %s = %c0 to %c2 step %c1 {
          nvgpu.mbarrier.init %full[%s], %c1 : !bars
          nvgpu.mbarrier.init %empty[%s], %c64 : !bars
        }
        nvvm.fence.mbarrier.init
      }
      gpu.barrier
      %is_producer = arith.cmpi eq, %t, %c64 : index
      scf.if %is_producer {
        scf.for %k = %c0 to %c8 step %c1 {
          %stage = arith.remui %k, %c2 : index
          %round = arith.divui %k, %c2 : index
          %bit = arith.remui %round, %c2 : index
          %parity = arith.cmpi eq, %bit, %c0 : index
          "tile.wait"(%empty, %stage, %parity) : (!bars, index, i1) -> ()
          %row = arith.muli %k, %c16 : index
          %one = memref.subview %ring[%stage, 0, 0] [1, 16, 64] [1, 1, 1] : !ring to !one
          "tile.copy_async"(%in, %one, %row, %full, %stage) {
            static_source_offsets = array<i64: -9223372036854775808, 0>, static_destination_offsets = array<i64: 0, 0>,
            sizes = array<i64: 16, 64>,
            expect_tx, variant = "tma", operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0, 0, 0>
          } : (memref<128x64xf32>, !one, index, !bars, index) -> ()
        }
      }
      %is_consumer = arith.cmpi ult, %t, %c64 : index
      scf.if %is_consumer {
        %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (f32) {
          %stage = arith.remui %k, %c2 : index
          %round = arith.divui %k, %c2 : index
          %bit = arith.remui %round, %c2 : index
          %parity = arith.cmpi eq, %bit, %c1 : index
          "tile.wait"(%full, %stage, %parity) : (!bars, index, i1) -> ()
          %part = scf.for %r = %c0 to %c16 step %c1 iter_args(%a = %acc) -> (f32) {
            %v = memref.load %ring[%stage, %r, %t] : !ring
            %s = arith.addf %a, %v : f32
            scf.yield %s : f32
          }
          %token = nvgpu.mbarrier.arrive %empty[%stage] : !bars -> !token
          scf.yield %part : f32
        }
        memref.store %sum, %out[%t] : memref<64xf32>
      }
      gpu.return
    }
  }
}
"""
PRODUCER_WAIT = '          "tile.wait"(%empty, %stage, %parity) : (!bars, index, i1) -> ()\n'
ARRIVE = "          %token = nvgpu.mbarrier.arrive %empty[%stage] : !bars -> !token\n"
CONSUMER_PARITY = "%parity = arith.cmpi eq, %bit, %c1"
PRODUCER_PARITY = "%parity = arith.cmpi eq, %bit, %c0"

CHANGES = {
    # (what is changed, kinds of error, words that the message has)
    "the producer does not wait": (
        [(PRODUCER_WAIT, "")],
        {"too many arrivals", "stage reused too early"},
        "no thread waits on mbarrier %empty[0]",
    ),
    "empty counts 32 of 64": (
        [("%empty[%s], %c64", "%empty[%s], %c32")],
        {"deadlock", "stage reused too early"},
        "mbarrier %empty[0] (created at ring.mlir:22:16) counts 32, but 64 arrivals come",
    ),
    "empty counts 1 of 64": (
        [("%empty[%s], %c64", "%empty[%s], %c1")],
        {"too many arrivals", "stage reused too early", "deadlock"},
        "%empty[0]",
    ),
    "empty counts 96 of 64": (
        [("%empty[%s], %c64", "%empty[%s], %c96"), ("%c64 = ", "%c96 = arith.constant 96 : index\n      %c64 = ")],
        {"deadlock"},
        "64 of 96 arrivals came",
    ),
    "the consumers do not arrive": ([(ARRIVE, "")], {"deadlock"}, "%empty[0]"),
    "one warp of the consumers does not arrive": (
        [
            (
                ARRIVE,
                "          %low = arith.cmpi ult, %t, %c32 : index\n          scf.if %low {\n"
                + ARRIVE
                + "          }\n",
            )
        ],
        {"deadlock"},
        "32 of 64 arrivals came",
    ),
    "the consumers arrive twice": (
        [(ARRIVE, ARRIVE + ARRIVE.replace("%token", "%again"))],
        {"too many arrivals", "stage reused too early", "deadlock"},
        "%empty[0] (created at ring.mlir:22:16) counts 64, but 128 arrivals come",
    ),
    "the consumers always arrive on stage 0": (
        [(ARRIVE, ARRIVE.replace("%stage", "%c0"))],
        {"deadlock", "too many arrivals", "stage reused too early"},
        "%empty[",
    ),
    "the producer's parity is inverted": (
        [(PRODUCER_PARITY, "%parity = arith.cmpi eq, %bit, %c1")],
        {"deadlock"},
        "%empty[",
    ),
    "the consumers' parity is inverted": (
        [(CONSUMER_PARITY, "%parity = arith.cmpi eq, %bit, %c0")],
        {"wrong parity", "deadlock", "uninitialised read", "read before completion"},
        "",
    ),
    "the producer waits on full": (
        [(PRODUCER_WAIT, PRODUCER_WAIT.replace("%empty", "%full"))],
        {"deadlock", "stage reused too early"},
        "no thread waits on mbarrier %empty[0]",
    ),
    "the consumers wait for the other stage": (
        [
            ('"tile.wait"(%full, %stage, %parity)', '"tile.wait"(%full, %other, %parity)'),
            (
                CONSUMER_PARITY + ' : index\n          "tile',
                "%other = arith.subi %c1, %stage : index\n          " + CONSUMER_PARITY + ' : index\n          "tile',
            ),
        ],
        {"read before completion", "uninitialised read", "stage reused too early", "deadlock", "wrong parity"},
        "",
    ),
}


@pytest.fixture
def ring(tmp_path: Path):
    def run(changes: list[tuple[str, str]], schedules) -> list[SimulationError | None]:
        text = RING
        for before, after in changes:
            assert before in text, before
            text = text.replace(before, after)
        path = tmp_path / "ring.mlir"
        path.write_text(text)
        compiled = compile_file(path, keep=("lowered",), assemble_cubin=False)
        return outcomes(compiled, schedules)

    return run


def outcomes(compiled, schedules) -> list[SimulationError | None]:
    x = np.arange(128 * 64, dtype=np.float32).reshape(128, 64) % 7
    found: list[SimulationError | None] = []
    try:
        out = np.zeros(64, np.float32)
        tma_mlir.testing.simulate(compiled, args=[x, out], schedules=schedules)
        np.testing.assert_array_equal(out, x.sum(0))
        found.append(None)
    except SimulationError as error:
        found.append(error)
    return found


def test_the_ring_is_right(ring):
    assert ring([], 20) == [None]


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_line_is_found_with_its_cause(name, ring):
    changes, kinds, words = CHANGES[name]
    (error,) = ring(changes, 20)
    assert error is not None
    assert error.kind in kinds, str(error)
    assert words in error.message, str(error)
    assert error.location
