"""How warps, lanes and blocks are scheduled: what is guaranteed to get on does, what never ends is reported."""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature
from tma_mlir.sim import occupancy
from tma_mlir.sim.errors import SimulationError

SCHEDULES = range(20)

CONSTANTS = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c32 = arith.constant 32 : index
      %c40 = arith.constant 40 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %n = gpu.grid_dim x
      %t32 = arith.index_cast %t : index to i32
      %b32 = arith.index_cast %b : index to i32
      %n32 = arith.index_cast %n : index to i32
      %is0 = arith.cmpi eq, %t, %c0 : index"""


def spin(address: str, until: str, read: str = "%v = memref.atomic_rmw addi %zero, {} : (i32, memref<?xi32>) -> i32"):
    """Poll ``address`` until the comparison ``until`` of ``%v`` fails."""
    return f"""
      scf.while : () -> () {{
        {read.format(address)}
        %again = arith.cmpi {until} : i32
        scf.condition(%again)
      }} do {{
        scf.yield
      }}"""


def execute(
    body: str, data: np.ndarray, seed: int = 0, declarations: str = "", threads: int = 32, grid: int = 1, **options
):
    text = kernel(CONSTANTS + body, f"%m: memref<{data.size}xi32>", declarations, threads=threads).replace(
        "memref<?xi32>", f"memref<{data.size}xi32>"
    )
    return run(text, signature([("i32", data.shape)], []), [data], seed, grid=(grid, 1, 1), **options)


# Blocks -------------------------------------------------------------------------------------------------------------

ADD_ONE = "%old{0} = memref.atomic_rmw addi %one, %m[%c{0}] : (i32, memref<?xi32>) -> i32"
GRID_BARRIER = ADD_ONE.format(0) + spin("%m[%c0]", "slt, %v, %n32") + "\n      " + ADD_ONE.format(1)
VOLATILE = """%p = memref.extract_aligned_pointer_as_index %m : memref<?xi32> -> index
        %p64 = arith.index_cast %p : index to i64
        %ptr = llvm.inttoptr %p64 : i64 to !llvm.ptr
        %v = llvm.load volatile %ptr : !llvm.ptr -> i32"""
PLAIN = "%v = memref.load %m[%c0] : memref<?xi32>"
LAST_FIRST = (
    """
      %after = arith.addi %b, %c1 : index
      %after32 = arith.index_cast %after : index to i32
      %is_last = arith.cmpi eq, %after, %n : index
      %turn = arith.subi %n32, %after32 : i32
      """
    + spin("%m[%c0]", "ne, %v, %turn")
    + "\n      "
    + ADD_ONE.format(0)
)


def only_thread_0(body: str) -> str:
    return f"\n      scf.if %is0 {{\n{body}\n      }}"


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("threads", "grid"), [(32, 6), (64, 20)])
@pytest.mark.parametrize("read", ["atomic", "volatile", "plain"])
def test_blocks_on_the_chip_together_may_wait_for_each_other(read, threads, grid, seed):
    body = GRID_BARRIER
    if read != "atomic":
        body = body.replace(
            spin("%m[%c0]", "slt, %v, %n32"), spin("", "slt, %v, %n32", VOLATILE if read == "volatile" else PLAIN)
        )
    data = np.zeros(4, np.int32)
    execute(only_thread_0(body), data, seed, threads=threads, grid=grid)
    assert data.tolist() == [grid, grid, 0, 0]


@pytest.mark.parametrize("seed", SCHEDULES)
def test_blocks_may_run_from_the_last_to_the_first(seed):
    data = np.zeros(1, np.int32)
    execute(only_thread_0(LAST_FIRST), data, seed, grid=9)
    assert data.tolist() == [9]


def test_more_blocks_than_the_chip_holds_cannot_wait_for_each_other(monkeypatch):
    monkeypatch.setattr(occupancy, "MULTIPROCESSORS", 16)
    # 120 KiB of shared memory: one block on each multiprocessor.
    tile = shared("s", "120x1024xi8", 16)
    with pytest.raises(SimulationError) as error:
        execute(only_thread_0(GRID_BARRIER), np.zeros(4, np.int32), 0, tile, grid=24)
    assert error.value.kind == "deadlock"
    assert "8 of 24 blocks have not started" in error.value.message
    assert "holds 16" in error.value.message
    assert "wait only for earlier" in error.value.message
    assert error.value.location


def test_small_blocks_come_and_go_by_thousands():
    data = np.zeros(2, np.int32)
    execute(only_thread_0("\n      " + ADD_ONE.format(0)), data, grid=3000)
    assert data[0] == 3000


# Lanes --------------------------------------------------------------------------------------------------------------

LOCK = """
      scf.while : () -> () {
        %old = memref.atomic_rmw ori %one, %m[%c0] : (i32, memref<?xi32>) -> i32
        %free = arith.cmpi eq, %old, %zero : i32
        scf.if %free {
          %v = memref.load %m[%c1] : memref<?xi32>
          %w = arith.addi %v, %one : i32
          memref.store %w, %m[%c1] : memref<?xi32>
          %released = memref.atomic_rmw andi %zero, %m[%c0] : (i32, memref<?xi32>) -> i32
        }
        %again = arith.cmpi ne, %old, %zero : i32
        scf.condition(%again)
      } do {
        scf.yield
      }"""
OUTSIDE = """
      scf.while : () -> () {
        %old = memref.atomic_rmw ori %one, %m[%c0] : (i32, memref<?xi32>) -> i32
        %again = arith.cmpi ne, %old, %zero : i32
        scf.condition(%again)
      } do {
        scf.yield
      }
      %v = memref.load %m[%c1] : memref<?xi32>
      %w = arith.addi %v, %one : i32
      memref.store %w, %m[%c1] : memref<?xi32>
      %released = memref.atomic_rmw andi %zero, %m[%c0] : (i32, memref<?xi32>) -> i32"""


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("body", [LOCK, OUTSIDE], ids=("inside", "outside"))
def test_lanes_of_one_warp_take_a_lock_in_turn(body, seed):
    data = np.zeros(2, np.int32)
    execute(body, data, seed)
    assert data.tolist() == [0, 32]


def hand_over(between: str) -> str:
    """Lane 0 writes what the other lanes of its warp read."""
    return f"""
      %full = arith.constant -1 : i32
      scf.if %is0 {{
        memref.store %one, %m[%c0] : memref<?xi32>
      }}
      {between}
      %v = memref.load %m[%c0] : memref<?xi32>
      %at = arith.addi %t, %c1 : index
      memref.store %v, %m[%at] : memref<?xi32>"""


def results(body: str) -> set[bytes]:
    found = set()
    for seed in SCHEDULES:
        data = np.zeros(33, np.int32)
        # Without checks: what the lanes do is a race, except with a barrier of the warp.
        execute(body, data, seed, checks=False)
        found.add(data.tobytes())
    return found


@pytest.mark.parametrize("between", ["nvvm.bar.warp.sync %full : i32", "gpu.barrier", "%w = nvvm.elect.sync -> i1"])
def test_lanes_that_took_different_paths_meet_at_operations_of_the_warp(between):
    assert results(hand_over(between)) == {np.ones(33, np.int32).tobytes()}


def test_lanes_that_took_different_paths_need_not_meet_elsewhere():
    assert len(results(hand_over(""))) > 1


# Barriers that part of a warp meets -----------------------------------------------------------------------------------

STORE = "\n      memref.store %one, %m[%t] : memref<?xi32>"
PTX = 'llvm.inline_asm has_side_effects "{}", "" : () -> ()'
PARTIAL = {
    "skipped": "%c = arith.cmpi ult, %t, %c40 : index\n      scf.if %c {\n        BARRIER\n      }" + STORE,
    "one lane": "scf.if %is0 {\n        BARRIER\n      }" + STORE,
    "two places": "scf.if %is0 {\n        BARRIER\n      } else {\n        memref.store %one, %m[%t] : memref<?xi32>\n"
    "        BARRIER\n      }" + STORE,
    "trip counts": "scf.for %i = %c0 to %t step %c8 {\n        BARRIER\n      }" + STORE,
}
WHOLE = {
    "by warps": "%c = arith.cmpi ult, %t, %c32 : index\n      scf.if %c {\n        memref.store %zero, %m[%t] : "
    "memref<?xi32>\n      }\n      BARRIER" + STORE,
    "after a branch": "scf.if %is0 {\n        memref.store %zero, %m[%t] : memref<?xi32>\n      }\n      BARRIER"
    + STORE,
    "after loops": "scf.for %i = %c0 to %t step %c8 {\n        memref.store %zero, %m[%t] : memref<?xi32>\n      }\n"
    "      BARRIER" + STORE,
    "the others have left": "%c = arith.cmpi ult, %t, %c40 : index\n      scf.if %c {\n        BARRIER"
    + STORE
    + "\n      }",
}
BARRIERS = ("gpu.barrier", PTX.format("bar.sync 0;"), PTX.format("barrier.sync.aligned 0;"))


@pytest.mark.parametrize("barrier", BARRIERS, ids=("gpu", "bar.sync", "aligned"))
@pytest.mark.parametrize("name", PARTIAL)
def test_a_barrier_that_part_of_a_warp_meets_is_reported(name, barrier):
    for seed in SCHEDULES if barrier == "gpu.barrier" else (0, 1, 2):
        with pytest.raises(SimulationError) as error:
            execute("\n      " + PARTIAL[name].replace("BARRIER", barrier), np.zeros(64, np.int32), seed, threads=64)
        assert error.value.kind == "divergent operation", str(error.value)
        assert "CTA barrier" in error.value.message
        assert "lanes" in error.value.message


@pytest.mark.parametrize("barrier", BARRIERS, ids=("gpu", "bar.sync", "aligned"))
@pytest.mark.parametrize("name", WHOLE)
def test_a_barrier_that_whole_warps_meet_passes(name, barrier):
    for seed in SCHEDULES if barrier == "gpu.barrier" else (0, 1, 2):
        data = np.zeros(64, np.int32)
        execute("\n      " + WHOLE[name].replace("BARRIER", barrier), data, seed, threads=64)
        assert data.sum() == (40 if name == "the others have left" else 64)


def test_lanes_may_meet_a_barrier_apart_if_it_is_not_aligned():
    body = "\n      " + PARTIAL["two places"].replace("BARRIER", PTX.format("barrier.sync 0;"))
    for seed in SCHEDULES:
        data = np.zeros(64, np.int32)
        execute(body, data, seed, threads=64)
        assert data.sum() == 64


# Loops without end ----------------------------------------------------------------------------------------------------

ENDLESS = {
    "lock kept": OUTSIDE.split("%v =")[0],
    "compare and swap": spin(
        "%m[%c0]",
        "ne, %v, %one",
        "%v = memref.generic_atomic_rmw {} : memref<?xi32> {{\n"
        "        ^bb0(%x: i32):\n          memref.atomic_yield %x : i32\n        }}",
    ),
    "atomic read": spin("%m[%c0]", "ne, %v, %one"),
    "plain load": """
      %seen = scf.while : () -> i32 {
        %v = memref.load %m[%c0] : memref<?xi32>
        %again = arith.cmpi ne, %v, %one : i32
        scf.condition(%again) %v : i32
      } do {
      ^bb0(%x: i32):
        scf.yield
      }
      memref.store %seen, %m[%c1] : memref<?xi32>""",
    "volatile load": spin("", "ne, %v, %one", VOLATILE),
    "a counter": """
      %last = scf.while (%i = %zero) : (i32) -> i32 {
        %v = memref.atomic_rmw addi %zero, %m[%c0] : (i32, memref<?xi32>) -> i32
        %again = arith.cmpi eq, %v, %zero : i32
        scf.condition(%again) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }""",
    "another warp at a barrier": "\n      %first = arith.cmpi ult, %t, %c32 : index\n      scf.if %first {"
    + spin("%m[%c0]", "ne, %v, %one")
    + "\n      }\n      gpu.barrier",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_loop_that_nothing_ends_is_reported_soon(name):
    for seed in (0,) if name == "plain load" else (0, 1, 2):
        with pytest.raises(SimulationError) as error:
            execute(ENDLESS[name], np.zeros(2, np.int32), seed, threads=64)
        assert error.value.kind == "endless loop", str(error.value)
        assert error.value.location


def test_a_loop_that_another_block_ends_is_not_endless():
    late = (
        "\n      %later = arith.cmpi eq, %b, %c1 : index\n      scf.if %later {\n"
        "        scf.for %i = %c0 to %c40 step %c1 {\n          memref.store %zero, %m[%c1] : memref<?xi32>\n"
        "        }\n"
        "        %old = memref.atomic_rmw assign %one, %m[%c0] : (i32, memref<?xi32>) -> i32\n      } else {"
        + spin("%m[%c0]", "ne, %v, %one")
        + "\n      }"
    )
    for seed in SCHEDULES:
        execute(only_thread_0(late), np.zeros(2, np.int32), seed, grid=2)


FOR_EVER = """
      scf.while : () -> () {
        %again = arith.cmpi eq, %zero, %zero : i32
        scf.condition(%again)
      } do {
        %old = memref.atomic_rmw addi %one, %m[%c0] : (i32, memref<?xi32>) -> i32
        gpu.barrier
        scf.yield
      }"""


def test_barriers_that_go_on_for_ever_end_at_the_limit():
    """Every turn of the loop changes memory and meets a barrier: only the number of steps says that it is one."""
    with pytest.raises(SimulationError) as error:
        execute(FOR_EVER, np.zeros(2, np.int32), threads=64, max_steps=2000)
    assert error.value.kind == "step limit"
    assert "more than 2000 steps, with 0 of 1 clusters done; warp" in error.value.message
    assert error.value.location


def test_a_run_within_the_limit_is_not_ended():
    data = np.zeros(2, np.int32)
    execute("\n      %old = memref.atomic_rmw addi %one, %m[%c0] : (i32, memref<?xi32>) -> i32", data, max_steps=2000)
    assert data[0] == 32
