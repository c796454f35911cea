"""Clusters: multicast loads, remote arrivals, distributed shared memory; with the bugs peers met there.

Two CTAs each load one half of a tile and multicast it to both, in two rounds on one stage.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature, tensor_map
from tma_mlir.sim.errors import SimulationError

SCHEDULES = range(20)

TILE = "memref<16x64xf16, 3>"
HALF = "memref<8x64xf16, strided<[64, 1], offset: ?>, 3>"
MAP = (
    "!nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, "
    "interleave = none>"
)
BAR = "!nvgpu.mbarrier.group<memorySpace = 3>"
CLUSTER_BARRIER = "nvvm.cluster.arrive\n      nvvm.cluster.wait"

REMOTE_ARRIVE = """
            %peer = arith.constant {rank} : i32
            %remote = nvvm.mapa %empty, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
            nvvm.mbarrier.arrive %remote {{scope = #nvvm.mem_scope<cluster>}} : !llvm.ptr<7>
"""


def both(step: str) -> str:
    """Arrive on the empty barrier of both CTAs."""
    first = REMOTE_ARRIVE.format(rank=0)
    second = first.replace("%peer", "%peer1").replace("%remote", "%remote1").replace(" 0 ", " 1 ")
    return step.format(first + second)


def multicast(
    expected: str = "%bytes",
    init_sync: str = CLUSTER_BARRIER,
    arrivals: str = both("{}"),
    empty_count: int = 2,
    wait_empty: bool = True,
    end: str = CLUSTER_BARRIER,
) -> str:
    wait = """
          %first = arith.cmpi eq, %i, %c0 : index
          %not_first = arith.xori %first, %true : i1
          scf.if %not_first {
            nvvm.mbarrier.try_wait.parity %empty, %zero32, %ticks32 : !llvm.ptr<3>, i32, i32
          }"""
    return f"""
      %desc = builtin.unrealized_conversion_cast %map : !llvm.ptr to {MAP}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %bytes = arith.constant 2048 : index
      %half = arith.constant 1024 : index
      %ticks = arith.constant 10000000 : index
      %ticks32 = arith.constant 10000000 : i32
      %zero32 = arith.constant 0 : i32
      %count = arith.constant {empty_count} : i32
      %mask = arith.constant 3 : i16
      %true = arith.constant true
      %t = gpu.thread_id x
      %rank32 = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %rank = arith.index_cast %rank32 : i32 to index
      %is0 = arith.cmpi eq, %t, %c0 : index
      %s = memref.get_global @s : {TILE}
      %e = memref.get_global @empty : memref<1xi64, 3>
      %ei = memref.extract_aligned_pointer_as_index %e : memref<1xi64, 3> -> index
      %e64 = arith.index_cast %ei : index to i64
      %empty = llvm.inttoptr %e64 : i64 to !llvm.ptr<3>
      %bar = nvgpu.mbarrier.create -> {BAR}
      scf.if %is0 {{
        nvgpu.mbarrier.init %bar[%c0], %c1 : {BAR}
        nvvm.mbarrier.init %empty, %count : !llvm.ptr<3>, i32
      }}
      {init_sync}
      %own = arith.muli %rank, %c8 : index
      %part = memref.subview %s[%own, 0] [8, 64] [1, 1] : {TILE} to {HALF}
      scf.for %i = %c0 to %c2 step %c1 {{
        %row = arith.muli %i, %c16 : index
        scf.if %is0 {{
          nvgpu.mbarrier.arrive.expect_tx %bar[%c0], {expected} : {BAR}
          {wait if wait_empty else ""}
          %from = arith.addi %row, %own : index
          nvgpu.tma.async.load %desc[%c0, %from], %bar[%c0] to %part multicast_mask = %mask : {MAP}, {BAR} -> {HALF}
        }}
        %bit = arith.remui %i, %c2 : index
        %parity = arith.cmpi eq, %bit, %c1 : index
        nvgpu.mbarrier.try_wait.parity %bar[%c0], %parity, %ticks : {BAR}
        scf.for %r = %c0 to %c16 step %c1 {{
          %v = memref.load %s[%r, %t] : {TILE}
          %base = arith.muli %rank, %c32 : index
          %o0 = arith.addi %row, %r : index
          %o = arith.addi %base, %o0 : index
          memref.store %v, %out[%o, %t] : memref<64x64xf16>
        }}
        gpu.barrier
        scf.if %is0 {{
          {arrivals}
        }}
      }}
      {end}"""


def execute(body: str, seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    text = kernel(
        body,
        "%map: !llvm.ptr, %in: memref<32x64xf16>, %out: memref<64x64xf16>",
        shared("s", "16x64xf16") + "\n    " + shared("empty", "1xi64", 8),
        threads=64,
    )
    x = np.arange(32 * 64, dtype=np.float16).reshape(32, 64)
    out = np.zeros((64, 64), np.float16)
    sign = signature([("f16", (32, 64)), ("f16", (64, 64))], [(0, tensor_map(32, 64, (8, 64)))])
    run(text, sign, [x, out], seed, grid=(2, 1, 1), cluster=(2, 1, 1))
    return x, out, text


def outcome(body: str, seed: int) -> SimulationError | None:
    try:
        execute(body, seed)
    except SimulationError as error:
        return error
    return None


@pytest.mark.parametrize("seed", SCHEDULES)
def test_multicast_halves_reach_both_ctas(seed):
    x, out, _ = execute(multicast(), seed)
    np.testing.assert_array_equal(out, np.concatenate([x, x]))


WRONG = {
    "P41 each CTA expects only the bytes it issues itself": (
        multicast(expected="%half"),
        {"expect_tx too small", "expect_tx missing"},
        "1024 B",
    ),
    "P42 the issuer waits only for its own CTA's readers": (
        multicast(arrivals="%st = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64", empty_count=1),
        {"stage reused too early"},
        "before it refills the stage",
    ),
    "P43 the arrival of the other CTA is missing": (
        multicast(arrivals=REMOTE_ARRIVE.format(rank=0)),
        {"deadlock"},
        "@empty",
    ),
    "P48 the barrier's initialisation is not synchronised across the cluster": (
        multicast(init_sync="gpu.barrier"),
        {"barrier used before init is visible", "barrier not initialised"},
        "mbarrier",
    ),
    "a CTA exits while the other still multicasts into it": (
        multicast(end=""),
        {"remote CTA has exited"},
        "cluster barrier before the end",
    ),
}


@pytest.mark.parametrize("arrive", ["nvvm.cluster.arrive", "nvvm.cluster.arrive.relaxed"])
def test_an_arrival_at_the_cluster_barrier_needs_a_wait(arrive):
    for seed in SCHEDULES:
        error = outcome(multicast(init_sync=f"{arrive}\n      {CLUSTER_BARRIER}"), seed)
        assert error is not None
        assert error.kind == "cluster.arrive without wait"
        assert error.location
        assert outcome(multicast(init_sync=f"{CLUSTER_BARRIER}\n      {CLUSTER_BARRIER}"), seed) is None


@pytest.mark.parametrize("name", WRONG)
def test_the_wrong_cluster_kernel_is_reported(name):
    body, kinds, message = WRONG[name]
    errors = [error for seed in SCHEDULES if (error := outcome(body, seed)) is not None]
    # Whether a CTA leaves too early depends on the order; everything else is found on every schedule.
    assert len(errors) == len(SCHEDULES) or (errors and name.startswith("a CTA exits"))
    for error in errors:
        assert error.kind in kinds, str(error)
        assert message in error.message, str(error)
        assert error.location
