"""Races on shared and global memory, each as a wrong kernel and its corrected twin, under several schedules."""

from __future__ import annotations

import numpy as np
import pytest

from support.sim_kernels import kernel, run, shared, signature, tensor_map
from tma_mlir.sim.errors import SimulationError

SCHEDULES = (0, 1, 2)
PROXY_FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}"
COMMIT = "nvvm.cp.async.bulk.commit.group"
CONSTANTS = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %c63 = arith.constant 63 : index
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %ti = arith.index_cast %t : index to i32
      %bi = arith.index_cast %b : index to i32
      %is0 = arith.cmpi eq, %t, %c0 : index
      %is32 = arith.cmpi eq, %t, %c32 : index"""


def outcome(
    body: str, arrays, *, threads: int = 64, grid: int = 1, declarations: str = "", cluster: int = 1
) -> set[str]:
    """Kinds of the errors of the schedules, ``ok`` for a clean run; every error names both ends."""
    names = [f"%a{i}: memref<{'x'.join(map(str, a.shape))}x{kind}>" for i, (a, kind) in enumerate(arrays)]
    text = kernel(CONSTANTS + body, ", ".join(names), declarations, threads=threads)
    sign = signature([(kind, a.shape) for a, kind in arrays], [])
    errors: list[SimulationError] = []
    for seed in SCHEDULES:
        try:
            run(text, sign, [a.copy() for a, _ in arrays], seed, grid=(grid, 1, 1), cluster=(cluster, 1, 1))
        except SimulationError as error:
            errors.append(error)
    one_end = [e for e in errors if len(e.locations) < 2]
    assert all(e.kind == "uninitialised read" or "at once" in e.message for e in one_end), one_end
    return {e.kind for e in errors} | ({"ok"} if len(errors) < len(SCHEDULES) else set())


def i32(*shape: int):
    return np.zeros(shape, np.int32), "i32"


def exchange(sync: str, element: str, index: str = "%other") -> str:
    """Each thread writes its element of shared memory, and reads that of the thread 63 - t."""
    convert = {"i32": "", "i8": "%w = arith.trunci %ti : i32 to i8", "f32": "%w = arith.sitofp %ti : i32 to f32"}[
        element
    ]
    value = "%ti" if element == "i32" else "%w"
    return f"""
      %s = memref.get_global @s : memref<64x{element}, 3>
      %other = arith.subi %c63, %t : index
      {convert}
      memref.store {value}, %s[%t] : memref<64x{element}, 3>
      {sync}
      %v = memref.load %s[{index}] : memref<64x{element}, 3>
      memref.store %v, %a0[%t] : memref<64x{element}>"""


@pytest.mark.parametrize("element", ["i32", "i8", "f32"])
def test_shared_write_then_read(element):
    dtype = {"i32": np.int32, "i8": np.int8, "f32": np.float32}[element]
    arrays = [(np.zeros(64, dtype), element)]
    tile = shared("s", f"64x{element}")
    assert outcome(exchange("", element), arrays, declarations=tile) <= {"shared data race", "uninitialised read"}
    assert outcome(exchange("gpu.barrier", element), arrays, declarations=tile) == {"ok"}
    assert outcome(exchange("", element, "%t"), arrays, declarations=tile) == {"ok"}


def stores_of_two(first: str, second: str, sync: str = "") -> str:
    """Thread 0 stores ``first`` and thread 32, of another warp, ``second``."""
    return f"""
      scf.if %is0 {{ {first} }}
      {sync}
      scf.if %is32 {{ {second} }}"""


STORE = "memref.store %{}, %s[%c{}] : memref<64xi32, 3>"
GLOBAL_STORE = "memref.store %{}, %a0[%c{}] : memref<64xi32>"


@pytest.mark.parametrize(
    ("space", "kind"), [(STORE, "shared data race"), (GLOBAL_STORE, "global data race")], ids=["shared", "global"]
)
def test_write_write(space, kind):
    get = "\n      %s = memref.get_global @s : memref<64xi32, 3>"

    def result(first: str, second: str, sync: str = "") -> set[str]:
        body = get + stores_of_two(first, second, sync)
        return outcome(body, [i32(64)], declarations=shared("s", "64xi32"))

    assert result(space.format("one", 0), space.format("two", 0)) == {kind}
    assert result(space.format("one", 0), space.format("two", 0), "gpu.barrier") == {"ok"}
    assert result(space.format("one", 0), space.format("one", 0)) == {"ok"}, "equal values"
    assert result(space.format("one", 0), space.format("two", 1)) == {"ok"}, "neighbouring words"


@pytest.mark.parametrize("sync", ["", "gpu.barrier"])
def test_read_then_write(sync):
    """The reader may still be under way when another warp overwrites, in shared and in global memory."""
    body = f"""
      scf.if %is0 {{
        %v = memref.load %a0[%c0] : memref<64xi32>
        memref.store %v, %a1[%c0] : memref<64xi32>
      }}
      {sync}
      scf.if %is32 {{ memref.store %one, %a0[%c0] : memref<64xi32> }}"""
    assert outcome(body, [i32(64), i32(64)]) == ({"ok"} if sync else {"global data race"})


@pytest.mark.parametrize("atomic", [True, False])
def test_atomics_do_not_race_with_each_other(atomic):
    update = "%o = memref.atomic_rmw addi %one, %a0[%c0] : (i32, memref<64xi32>) -> i32"
    other = update.replace("%o =", "%p =") if atomic else "memref.store %two, %a0[%c0] : memref<64xi32>"
    assert outcome(stores_of_two(update, other), [i32(64)]) == ({"ok"} if atomic else {"global data race"})


def test_lanes_of_a_warp():
    """Lanes that communicate through shared memory need bar.warp.sync; different values to one place are a race."""
    tile = shared("s", "64xi32")
    get = "\n      %s = memref.get_global @s : memref<64xi32, 3>"

    def passed(sync: str, index: str = "%c0") -> set[str]:
        body = f"""{get}
      scf.if %is0 {{ memref.store %one, %s[%c0] : memref<64xi32, 3> }}
      {sync}
      %v = memref.load %s[{index}] : memref<64xi32, 3>
      memref.store %v, %a0[%t] : memref<64xi32>"""
        return outcome(body, [i32(64)], threads=32, declarations=tile)

    assert passed("") == {"race between lanes"}
    assert passed("%m = llvm.mlir.constant(-1 : i32) : i32\n nvvm.bar.warp.sync %m : i32") == {"ok"}
    assert passed("gpu.barrier") == {"ok"}
    at_once = f"{get}\n      memref.store %ti, %s[%c0] : memref<64xi32, 3>"
    assert outcome(at_once, [i32(64)], threads=32, declarations=tile) == {"race between lanes"}
    assert outcome(at_once.replace("%ti,", "%one,"), [i32(64)], threads=32, declarations=tile) == {"ok"}
    pairs = f"""{get}
      %half = arith.divui %t, %c2 : index
      %h = arith.index_cast %half : index to i32
      memref.store %VALUE, %s[%half] : memref<64xi32, 3>
      %v = memref.load %s[%half] : memref<64xi32, 3>
      memref.store %v, %a0[%t] : memref<64xi32>"""
    assert outcome(pairs.replace("VALUE", "ti"), [i32(64)], threads=32, declarations=tile) == {"race between lanes"}
    assert outcome(pairs.replace("VALUE", "h"), [i32(64)], threads=32, declarations=tile) == {"ok"}


# Blocks and global memory ------------------------------------------------------------------------------------------


def last_block(fence: str, update: str, read: str = "memref.load %a0[%i] : memref<4xi32>") -> str:
    """Every block stores its part and counts itself; the last one adds the parts."""
    return f"""
      %c4 = arith.constant 4 : index
      %three = arith.constant 3 : i32
      %zero = arith.constant 0 : i32
      scf.if %is0 {{
        memref.store %bi, %a0[%b] : memref<4xi32>
        {fence}
        %p = memref.extract_aligned_pointer_as_index %a1 : memref<1xi32> -> index
        %q = arith.index_cast %p : index to i64
        %counter = llvm.inttoptr %q : i64 to !llvm.ptr<1>
        {update}
        %last = arith.cmpi eq, %old, %three : i32
        scf.if %last {{
          %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> i32 {{
            %v = {read}
            %n = arith.addi %s, %v : i32
            scf.yield %n : i32
          }}
          memref.store %sum, %a2[%c0] : memref<1xi32>
        }}
      }}"""


RELAXED = '%old = llvm.atomicrmw add %counter, %one syncscope("device") monotonic : !llvm.ptr<1>, i32'


@pytest.mark.parametrize(
    ("fence", "update", "clean"),
    [
        ("", RELAXED, False),
        ('llvm.fence syncscope("device") seq_cst', RELAXED, True),
        ("nvvm.memory.barrier #nvvm.mem_scope<gpu>", RELAXED, True),
        ("nvvm.memory.barrier #nvvm.mem_scope<cta>", RELAXED, False),
        ("", RELAXED.replace("monotonic", "acq_rel"), False),  # LLVM 22 emits the same PTX: a relaxed atom
        ("", RELAXED.replace("monotonic", "acquire"), False),
        ("", RELAXED.replace("monotonic", "acq_rel").replace("device", "block"), False),
    ],
)
def test_last_block_adds_the_parts(fence, update, clean):
    found = outcome(last_block(fence, update), [i32(4), i32(1), i32(1)], grid=4)
    assert found == ({"ok"} if clean else {"global data race"})


def test_clusters_synchronise_at_their_barrier_only():
    """CTAs of one cluster may use the cluster barrier; those of two clusters may not rely on anything like it."""
    body = """
      %c3 = arith.constant 3 : index
      memref.store %one, %a0[%b, %t] : memref<4x64xi32>
      SYNC
      %n = arith.xori %b, %cX : index
      %v = memref.load %a0[%n, %t] : memref<4x64xi32>
      memref.store %v, %a1[%b, %t] : memref<4x64xi32>"""
    sync = "nvvm.cluster.arrive\n nvvm.cluster.wait"
    arrays = [i32(4, 64), i32(4, 64)]
    good, apart = body.replace("%cX", "%c1"), body.replace("%cX", "%c3")
    assert outcome(good.replace("SYNC", sync), arrays, grid=4, cluster=2) == {"ok"}
    assert outcome(good.replace("SYNC", "gpu.barrier"), arrays, grid=4, cluster=2) == {"global data race"}
    assert outcome(apart.replace("SYNC", sync), arrays, grid=4, cluster=2) == {"global data race"}


@pytest.mark.parametrize("sync", ["volatile", "plain"])
def test_flag_between_warps(sync):
    """A flag in global memory: fence and volatile accesses synchronise, ordinary ones race."""
    kind = "volatile " if sync == "volatile" else ""
    body = f"""
      %p = memref.extract_aligned_pointer_as_index %a1 : memref<1xi32> -> index
      %q = arith.index_cast %p : index to i64
      %flag = llvm.inttoptr %q : i64 to !llvm.ptr<1>
      %zero = arith.constant 0 : i32
      scf.if %is0 {{
        memref.store %two, %a0[%c0] : memref<64xi32>
        llvm.fence syncscope("device") release
        llvm.store {kind}%one, %flag : i32, !llvm.ptr<1>
      }}
      scf.if %is32 {{
        %f = llvm.load {kind}%flag : !llvm.ptr<1> -> i32
        %set = arith.cmpi ne, %f, %zero : i32
        scf.if %set {{
          %v = memref.load %a0[%c0] : memref<64xi32>
          memref.store %v, %a0[%c1] : memref<64xi32>
        }}
      }}"""
    assert outcome(body, [i32(64), i32(1)]) == ({"ok"} if sync == "volatile" else {"global data race"})


# Bulk copies -------------------------------------------------------------------------------------------------------

TILE = shared("s", "64xi32")


def bulk(after: str, *, pending: str = " {read}", where: str = "%is0", row: str = "%c0", fill: str = "%ti") -> str:
    """All threads fill a tile, thread 0 stores it to row ``row`` of argument 0 and waits; then ``after``."""
    return f"""
      %s = memref.get_global @s : memref<64xi32, 3>
      %size = arith.constant 256 : i32
      memref.store {fill}, %s[%t] : memref<64xi32, 3>
      {PROXY_FENCE}
      gpu.barrier
      scf.if {where} {{
        %sp = memref.extract_aligned_pointer_as_index %s : memref<64xi32, 3> -> index
        %si = arith.index_cast %sp : index to i32
        %sq = llvm.inttoptr %si : i32 to !llvm.ptr<3>
        %gp = memref.extract_aligned_pointer_as_index %a0 : memref<4x64xi32> -> index
        %c256 = arith.constant 256 : index
        %shift = arith.muli {row}, %c256 : index
        %at = arith.addi %gp, %shift : index
        %gi = arith.index_cast %at : index to i64
        %gq = llvm.inttoptr %gi : i64 to !llvm.ptr<1>
        nvvm.cp.async.bulk.global.shared.cta %gq, %sq, %size : !llvm.ptr<1>, !llvm.ptr<3>
        {COMMIT}
        nvvm.cp.async.bulk.wait_group 0{pending}
      }}
      {after}"""


LOAD_OF_0 = """scf.if %is0 {
        %v = memref.load %a0[%c0, %c1] : memref<4x64xi32>
        memref.store %v, %a1[%c0, %c1] : memref<4x64xi32>
      }"""


def test_a_store_is_visible_after_its_wait():
    arrays = [i32(4, 64), i32(4, 64)]

    def result(*args, **options) -> set[str]:
        return outcome(bulk(*args, **options), arrays, declarations=TILE)

    others = LOAD_OF_0.replace("%is0", "%is32")
    assert result("") == {"ok"}, "nobody looks before the end"
    assert result(LOAD_OF_0) == {"store not complete"}
    assert result(LOAD_OF_0, pending="") == {"ok"}
    unordered = {"store not complete", "global data race"}
    assert result(others) <= unordered
    assert result(others, pending="") <= unordered, "no barrier"
    assert result("gpu.barrier\n" + others) == {"store not complete"}, ".read"
    assert result("gpu.barrier\n" + others, pending="") == {"ok"}
    store = "scf.if %is0 { memref.store %two, %a0[%c0, %c1] : memref<4x64xi32> }"
    assert result(store) == {"store not complete"}
    assert result(store, pending="") == {"ok"}
    assert result(store.replace("[%c0, %c1]", "[%c1, %c1]")) == {"ok"}, "other bytes"


@pytest.mark.parametrize(
    ("row", "fill", "clean"), [("%b", "%bi", True), ("%c0", "%bi", False), ("%c0", "%ti", True)],
    ids=["own rows", "one row", "one row, equal values"],
)  # fmt: skip
def test_two_blocks_store_in_bulk(row, fill, clean):
    found = outcome(bulk("", row=row, fill=fill), [i32(4, 64)], grid=2, declarations=TILE)
    assert found == ({"ok"} if clean else {"store not complete"})


def bulk_load(before: str, value: str = "%ti") -> str:
    """All threads write row 0 of argument 0; then thread 0 loads it in bulk."""
    return f"""
      %s = memref.get_global @s : memref<64xi32, 3>
      %mbar = memref.get_global @bar : memref<2xi64, 3>
      %zero = arith.constant 0 : i32
      %n = arith.constant 1 : i32
      %size = arith.constant 256 : i32
      %bi64 = memref.extract_aligned_pointer_as_index %mbar : memref<2xi64, 3> -> index
      %bi32 = arith.index_cast %bi64 : index to i32
      %bp = llvm.inttoptr %bi32 : i32 to !llvm.ptr<3>
      scf.if %is0 {{ nvvm.mbarrier.init %bp, %n : !llvm.ptr<3>, i32 }}
      gpu.barrier
      memref.store {value}, %a0[%c0, %t] : memref<4x64xi32>
      {before}
      scf.if %is0 {{
        nvvm.mbarrier.arrive.expect_tx %bp, %size : !llvm.ptr<3>, i32 -> i64
        %sp = memref.extract_aligned_pointer_as_index %s : memref<64xi32, 3> -> index
        %si = arith.index_cast %sp : index to i32
        %sq = llvm.inttoptr %si : i32 to !llvm.ptr<3>
        %sc = llvm.addrspacecast %sq : !llvm.ptr<3> to !llvm.ptr<7>
        %gp = memref.extract_aligned_pointer_as_index %a0 : memref<4x64xi32> -> index
        %gi = arith.index_cast %gp : index to i64
        %gq = llvm.inttoptr %gi : i64 to !llvm.ptr<1>
        nvvm.cp.async.bulk.shared.cluster.global %sc, %gq, %bp, %size : !llvm.ptr<7>, !llvm.ptr<1>
      }}
      %ticks = arith.constant 1000000 : i32
      nvvm.mbarrier.try_wait.parity %bp, %zero, %ticks : !llvm.ptr<3>, i32, i32
      %v = memref.load %s[%t] : memref<64xi32, 3>
      memref.store %v, %a1[%c0, %t] : memref<4x64xi32>"""


@pytest.mark.parametrize(
    ("before", "kinds"),
    [
        (f"{PROXY_FENCE}\n gpu.barrier", {"ok"}),
        (f"gpu.barrier\n {PROXY_FENCE}", {"ok"}),
        ("gpu.barrier", {"missing proxy fence"}),
        (PROXY_FENCE, {"global data race"}),
        ("llvm.fence seq_cst\n gpu.barrier", {"missing proxy fence"}),
    ],
)
def test_ordinary_stores_then_a_load_by_the_asynchronous_proxy(before, kinds):
    declarations = f"{TILE}\n {shared('bar', '2xi64', 16)}"
    found = outcome(bulk_load(before), [i32(4, 64), i32(4, 64)], declarations=declarations)
    assert found == kinds


def test_memory_of_an_mbarrier():
    """Initialising over bytes that others use is a race; after inval and a barrier the bytes are ordinary."""

    def result(before: str, after: str) -> set[str]:
        body = f"""
      %s = memref.get_global @s : memref<64xi32, 3>
      %sp = memref.extract_aligned_pointer_as_index %s : memref<64xi32, 3> -> index
      %si = arith.index_cast %sp : index to i32
      %sq = llvm.inttoptr %si : i32 to !llvm.ptr<3>
      memref.store %ti, %s[%t] : memref<64xi32, 3>
      gpu.barrier
      scf.if %is32 {{
        %v = memref.load %s[%c1] : memref<64xi32, 3>
        memref.store %v, %a0[%t] : memref<64xi32>
      }}
      {before}
      scf.if %is0 {{ nvvm.mbarrier.init %sq, %one : !llvm.ptr<3>, i32 }}
      {after}"""
        return outcome(body, [i32(64)], declarations=TILE)

    use = "scf.if %is32 { memref.store %one, %s[%c1] : memref<64xi32, 3> }"
    inval = "scf.if %is0 { nvvm.mbarrier.inval %sq : !llvm.ptr<3> }"
    beside = use.replace("%c1", "%c2")
    assert "shared data race" in result("", "")
    assert result("gpu.barrier", "") == {"ok"}
    assert result("gpu.barrier", f"gpu.barrier\n {use}") == {"barrier overwritten"}
    assert result("gpu.barrier", f"gpu.barrier\n {beside}") == {"ok"}, "the next eight bytes"
    assert result("gpu.barrier", f"{inval}\n gpu.barrier\n {use}") == {"ok"}


TENSOR_STORE = "nvvm.cp.async.bulk.tensor.global.shared.cta %map, %sq, box[%zero, %row] : !llvm.ptr, !llvm.ptr<3>"
TENSOR_ADD = (
    "nvvm.cp.async.bulk.tensor.reduce %map, %sq, box[%zero, %row] {redKind = #nvvm.tma_redux_kind<add>} "
    ": !llvm.ptr, !llvm.ptr<3>"
)
LOAD_INTO_TILE = """%v = memref.load %a0[%c1, %c1] : memref<8x64xi32>
        memref.store %v, %s[%c0, %c0] : memref<4x64xi32, 3>"""
ATOMIC_ADD = "%old = memref.atomic_rmw addi %one, %a0[%c1, %c1] : (i32, memref<8x64xi32>) -> i32"


@pytest.mark.parametrize(
    ("copy", "row", "after", "kinds"),
    [
        (TENSOR_STORE, "%four", "", {"ok"}),
        (TENSOR_STORE, "%two", "", {"store not complete"}),
        (TENSOR_ADD, "%two", "", {"ok"}),
        (TENSOR_ADD, "%zero", ATOMIC_ADD, {"ok"}),
        (TENSOR_STORE, "%four", ATOMIC_ADD, {"store not complete"}),
        (TENSOR_ADD, "%zero", LOAD_INTO_TILE, {"store not complete"}),
    ],
    ids=["apart", "overlap", "reductions", "reduction and atomics", "store and atomics", "reduction and load"],
)
def test_tensor_stores_of_two_blocks(copy, row, after, kinds):
    """Each block stores (or adds) a box of 4 rows at row ``row`` times its number, and does not wait for its bytes."""
    body = f"""{CONSTANTS}
      %zero = arith.constant 0 : i32
      %four = arith.constant 4 : i32
      %row = arith.muli %bi, {row} : i32
      %s = memref.get_global @s : memref<4x64xi32, 3>
      %sp = memref.extract_aligned_pointer_as_index %s : memref<4x64xi32, 3> -> index
      %si = arith.index_cast %sp : index to i32
      %sq = llvm.inttoptr %si : i32 to !llvm.ptr<3>
      %c4 = arith.constant 4 : index
      scf.for %r = %c0 to %c4 step %c1 {{
        memref.store %bi, %s[%r, %t] : memref<4x64xi32, 3>
      }}
      {PROXY_FENCE}
      gpu.barrier
      scf.if %is0 {{
        {copy}
        {COMMIT}
        nvvm.cp.async.bulk.wait_group 0 {{read}}
        {after}
      }}"""
    text = kernel(body, "%map: !llvm.ptr, %a0: memref<8x64xi32>", shared("s", "4x64xi32"), threads=64)
    sign = signature([("i32", (8, 64))], [(0, tensor_map(8, 64, (4, 64), "INT32"))])
    found = set()
    for seed in SCHEDULES:
        try:
            run(text, sign, [np.zeros((8, 64), np.int32)], seed, grid=(2, 1, 1))
            found.add("ok")
        except SimulationError as error:
            found.add(error.kind)
    assert found == kinds
