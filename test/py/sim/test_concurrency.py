"""Known concurrency bugs of TMA kernels, each as a wrong kernel and its corrected twin, on twenty schedules.

The cases are public bug reports; the numbers are those of the project's survey (its table of barriers and
proxies).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature, tensor_map
from tma_mlir.sim.errors import SimulationError

SCHEDULES = range(20)

TILE = "memref<16x64xf16, 3>"
MAP = f"!nvgpu.tensormap.descriptor<tensor = {TILE}, swizzle = none, l2promo = none, oob = zero, interleave = none>"
BAR = "!nvgpu.mbarrier.group<memorySpace = 3>"
FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"

PROLOGUE = f"""
      %desc = builtin.unrealized_conversion_cast %map : !llvm.ptr to {MAP}
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c16 = arith.constant 16 : index
      %bytes = arith.constant 2048 : index
      %half = arith.constant 1024 : index
      %double = arith.constant 4096 : index
      %ticks = arith.constant 10000000 : index
      %zero = arith.constant 0.0 : f16
      %false = arith.constant false
      %t = gpu.thread_id x
      %is0 = arith.cmpi eq, %t, %c0 : index
      %s = memref.get_global @s : {TILE}
      %bar = nvgpu.mbarrier.create -> {BAR}
      %ptr64 = nvgpu.mbarrier.get %bar[%c0] : {BAR} -> i64
      %ptr = llvm.inttoptr %ptr64 : i64 to !llvm.ptr<3>
      %c32nd = arith.constant 32 : index
      %is32 = arith.cmpi eq, %t, %c32nd : index
      %bytes32 = arith.constant 2048 : i32
"""
INIT = f"nvgpu.mbarrier.init %bar[%c0], %c1, predicate = %is0 : {BAR}"
EXPECT = f"nvgpu.mbarrier.arrive.expect_tx %bar[%c0], %bytes : {BAR}"
ISSUE = f"nvgpu.tma.async.load %desc[%c0, %row], %bar[%c0] to %s : {MAP}, {BAR} -> {TILE}"
# Thread 0 announces the bytes of the copy that it has issued; thread 32 arrives, in order with it or not (SYNC).
EXPECT_BEFORE_ARRIVAL = f"""
          nvvm.mbarrier.expect_tx %ptr, %bytes32 : !llvm.ptr<3>, i32
        }}
        SYNC
        scf.if %is32 {{
          %state = nvgpu.mbarrier.arrive %bar[%c0] : {BAR} -> !nvgpu.mbarrier.token"""
WAIT = f"nvgpu.mbarrier.try_wait.parity %bar[%c0], %parity, %ticks : {BAR}"
PARITY = "%bit = arith.remui %i, %c2 : index\n        %parity = arith.cmpi eq, %bit, %c1 : index"


def loads(
    init: str = INIT,
    sync: str = "gpu.barrier",
    announce: str = EXPECT,
    after_issue: str = "",
    parity: str = PARITY,
    wait: str = WAIT,
    release: str = "gpu.barrier",
    loop_init: str = "",
) -> str:
    """Two rounds of: thread 0 loads a tile, all 64 threads wait for it and copy it out."""
    return f"""{PROLOGUE}
      {init}
      {sync}
      scf.for %i = %c0 to %c2 step %c1 {{
        {loop_init}
        %row = arith.muli %i, %c16 : index
        scf.if %is0 {{
          {announce}
          {ISSUE}
          {after_issue}
        }}
        {parity}
        {wait}
        scf.for %r = %c0 to %c16 step %c1 {{
          %v = memref.load %s[%r, %t] : {TILE}
          %o = arith.addi %row, %r : index
          memref.store %v, %out[%o, %t] : memref<32x64xf16>
        }}
        {release}
      }}"""


def stores(
    fence: str = FENCE,
    sync: str = "gpu.barrier",
    commit: str = "nvvm.cp.async.bulk.commit.group",
    wait: str = "nvvm.cp.async.bulk.wait_group 0 {read}",
    before_write: str = "gpu.barrier",
    last: str = "",
) -> str:
    """Two rounds of: all threads write a tile to shared memory, thread 0 stores it."""
    return f"""{PROLOGUE}
      scf.for %i = %c0 to %c2 step %c1 {{
        %row = arith.muli %i, %c16 : index
        {before_write}
        scf.for %r = %c0 to %c16 step %c1 {{
          %o = arith.addi %row, %r : index
          %v = memref.load %in[%o, %t] : memref<32x64xf16>
          memref.store %v, %s[%r, %t] : {TILE}
        }}
        {fence}
        {sync}
        scf.if %is0 {{
          nvgpu.tma.async.store %s to %desc[%c0, %row] : {TILE} -> {MAP}
          {commit}
          {wait}
        }}
      }}
      {last}"""


ZERO_FILL = f"""
        scf.for %z = %c0 to %c16 step %c1 {{
          memref.store %zero, %s[%z, %t] : {TILE}
        }}"""


def zero_first(fence: str) -> str:
    """Clear the tile through the generic proxy, then load over it."""
    return loads(sync=f"gpu.barrier\n{ZERO_FILL}\n        {fence}\n        gpu.barrier")


def subset_store(leader: str) -> str:
    """Threads 2..31 share a job that one of them stores."""
    return f"""{PROLOGUE}
      scf.for %r = %c0 to %c16 step %c1 {{
        %v0 = memref.load %in[%r, %t] : memref<32x64xf16>
        memref.store %v0, %s[%r, %t] : {TILE}
        %t2 = arith.addi %t, %c32 : index
        %v1 = memref.load %in[%r, %t2] : memref<32x64xf16>
        memref.store %v1, %s[%r, %t2] : {TILE}
      }}
      {FENCE}
      gpu.barrier
      {leader}
      scf.if %leader {{
        nvgpu.tma.async.store %s to %desc[%c0, %c0] : {TILE} -> {MAP}
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0 {{read}}
      }}""".replace("%is0 = arith.cmpi", "%c32 = arith.constant 32 : index\n      %is0 = arith.cmpi")


@dataclass(frozen=True)
class Case:
    """``kind`` and ``message`` of the error of ``wrong``; ``at``: text on the line it points to, ``other``: text on the
    line of one of its notes (empty: none asked for)."""

    name: str
    wrong: str
    right: str
    kinds: tuple[str, ...]
    message: str
    at: str
    other: str = ""
    threads: int = 64
    stores: bool = False
    rows: int = 32
    options: dict = field(default_factory=dict)


CASES = [
    Case(
        "P39 elected lane outside the active threads",
        subset_store(
            "%e = nvvm.elect.sync -> i1\n      %in_set = arith.cmpi uge, %t, %c2 : index\n"
            "      %leader = arith.andi %e, %in_set : i1"
        ),
        subset_store("%leader = arith.cmpi eq, %t, %c2 : index"),
        ("elected lane excluded",),
        "lane 0",
        "arith.andi",
        "nvvm.elect.sync",
        threads=32,
        stores=True,
        rows=16,
    ),
    Case(
        "P39 elect.sync that not every named lane reaches",
        subset_store(
            "%in_set = arith.cmpi uge, %t, %c2 : index\n      %leader = scf.if %in_set -> (i1) {\n"
            "        %e = nvvm.elect.sync -> i1\n        scf.yield %e : i1\n      } else {\n"
            "        scf.yield %false : i1\n      }"
        ),
        subset_store("%leader = arith.cmpi eq, %t, %c2 : index"),
        ("divergent operation",),
        "lanes 0-1",
        "nvvm.elect.sync",
        threads=32,
        stores=True,
        rows=16,
    ),
    Case(
        "P43 expect_tx after the issue",
        loads(announce="", after_issue=EXPECT_BEFORE_ARRIVAL.replace("SYNC", "")),
        loads(announce="", after_issue=EXPECT_BEFORE_ARRIVAL.replace("SYNC", "gpu.barrier")),
        ("expect_tx after issue", "expect_tx missing", "read before completion", "uninitialised read"),
        "",
        "",
    ),
    Case(
        "P43 expect_tx of half the bytes after the issue",
        loads(announce="", after_issue=EXPECT.replace("%bytes", "%half")),
        loads(announce="", after_issue=EXPECT),
        ("expect_tx too small",),
        "1024 B",
        "tma.async.load",
        "arrive.expect_tx",
    ),
    Case(
        "P43 expect_tx too small",
        loads(announce=EXPECT.replace("%bytes", "%half")),
        loads(),
        ("expect_tx too small",),
        "which expects 1024 B",
        "tma.async.load",
        "arrive.expect_tx",
    ),
    Case(
        "P43 expect_tx too large",
        loads(announce=EXPECT.replace("%bytes", "%double")),
        loads(),
        ("deadlock",),
        "expect_tx is too large by 2048 B",
        "try_wait.parity",
        "arrive.expect_tx",
    ),
    Case(
        "P45 no proxy fence before the store",
        stores(fence=""),
        stores(),
        ("missing proxy fence",),
        "no fence.proxy.async in between",
        "tma.async.store",
        "memref.store",
        stores=True,
    ),
    Case(
        "P45 no barrier between the writers and the store",
        stores(sync=""),
        stores(),
        ("unsynchronised write", "uninitialised read"),
        "shared memory at @s",
        "tma.async.store",
        stores=True,
    ),
    Case(
        "P45 no proxy fence between generic writes and a load over them",
        zero_first(""),
        zero_first(FENCE),
        ("missing proxy fence",),
        "no fence.proxy.async in between",
        "tma.async.load",
        "memref.store",
    ),
    Case(
        "P47 barrier initialised again in the loop",
        loads(init="", sync="", loop_init=f"{INIT}\n        gpu.barrier"),
        loads(),
        ("barrier re-initialised",),
        "Initialise once before the loop",
        "mbarrier.init",
        "mbarrier.init",
    ),
    Case(
        "P47 expect_tx missing",
        loads(announce=f"%state = nvgpu.mbarrier.arrive %bar[%c0] : {BAR} -> !nvgpu.mbarrier.token"),
        loads(),
        ("expect_tx missing", "expect_tx too small"),
        "expects 0 B",
        "tma.async.load",
        "mbarrier.init",
    ),
    Case(
        "P48 no barrier after the initialisation",
        loads(sync=""),
        loads(),
        ("barrier used before init is visible", "barrier not initialised"),
        "@__mbarrier",
        "try_wait.parity",
    ),
    Case(
        "P48 parity fixed at 0",
        loads(parity="%parity = arith.andi %false, %false : i1"),
        loads(),
        ("wrong parity", "deadlock"),
        "parity",
        "",
        "",
    ),
    Case(
        "P49 wait without a matching arrival",
        loads(init=INIT.replace("%c1", "%c2")),
        loads(),
        ("deadlock",),
        "1 of 2 arrivals came",
        "try_wait.parity",
        "arrive.expect_tx",
    ),
    Case(
        "read without a wait",
        loads(wait=""),
        loads(),
        # Where the reader comes before the issue, there is nothing to read yet.
        ("read before completion", "uninitialised read"),
        "shared memory at @s",
        "memref.load %s",
    ),
    Case(
        "stage refilled while others read it",
        loads(release=""),
        loads(),
        ("stage reused too early",),
        "must wait for every reader",
        "tma.async.load",
        "memref.load %s",
    ),
    Case(
        "tile overwritten while a store reads it",
        stores(wait="", last="nvvm.cp.async.bulk.wait_group 0 {read}"),
        stores(),
        ("write during transfer",),
        "may still read it",
        "memref.store %v, %s",
        "tma.async.store",
        stores=True,
    ),
    Case(
        "kernel ends before its store has read shared memory",
        stores(wait="", before_write="nvvm.cp.async.bulk.wait_group 0 {read}\n        gpu.barrier"),
        stores(),
        ("exit during transfer",),
        "put wait_group before the end",
        "tma.async.store",
        stores=True,
    ),
]


def line_of(text: str, location: str) -> str:
    return text.splitlines()[int(location.split(":")[1]) - 1] if location else ""


def execute(case: Case, body: str, seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    text = kernel(
        body,
        f"%map: !llvm.ptr, %in: memref<{case.rows if not case.stores else 32}x64xf16>, %out: memref<32x64xf16>",
        shared("s", "16x64xf16"),
        threads=case.threads,
    )
    x = np.arange(32 * 64, dtype=np.float16).reshape(32, 64)
    out = np.zeros((32, 64), np.float16)
    sign = signature([("f16", (32, 64)), ("f16", (32, 64))], [(1 if case.stores else 0, tensor_map(32, 64, (16, 64)))])
    try:
        run(text, sign, [x, out], seed)
    finally:
        execute.text = text  # type: ignore[attr-defined]
    return text, x, out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_wrong_kernel_is_reported_with_cause_and_lines(case):
    for seed in SCHEDULES:
        with pytest.raises(SimulationError) as error:
            execute(case, case.wrong, seed)
        text = execute.text  # type: ignore[attr-defined]
        found = error.value
        assert found.kind in case.kinds, str(found)
        assert case.message in found.message, str(found)
        assert case.at in line_of(text, found.location), str(found)
        assert any(case.other in line_of(text, place) for _, place in found.notes) or not case.other, str(found)


@pytest.mark.parametrize("case", {case.right: case for case in CASES}.values(), ids=lambda case: case.name)
def test_the_corrected_kernel_passes(case):
    for seed in SCHEDULES:
        _, x, out = execute(case, case.right, seed)
        np.testing.assert_array_equal(out[: case.rows], x[: case.rows])


def test_a_store_that_was_removed_is_missed():
    # P44: a canonicalizer that takes the store for dead code leaves a commit and a wait for nothing.
    case = next(case for case in CASES if case.stores and case.rows == 32)
    lines = case.right.splitlines()
    removed = "\n".join(line for line in lines if "tma.async.store" not in line)
    assert len(removed.splitlines()) == len(lines) - 1
    for body, kinds in ((removed, ["nothing stored"]), (case.right, [])):
        for seed in SCHEDULES:
            x = np.zeros((32, 64), np.float16)
            text = kernel(
                body,
                "%map: !llvm.ptr, %in: memref<32x64xf16>, %out: memref<32x64xf16>",
                shared("s", "16x64xf16"),
                threads=64,
            )
            sign = signature([("f16", (32, 64)), ("f16", (32, 64))], [(1, tensor_map(32, 64, (16, 64)))])
            result = run(text, sign, [x, x.copy()], seed)
            assert [finding.kind for finding in result.findings] == kinds
            assert all("wait_group" in line_of(text, finding.location) for finding in result.findings)
