"""Bugs of global and shared memory that blocks and threads share."""

from .bug import COMMIT, COPY, Bug

GLOBAL = (
    Bug(
        "read_back",
        "the wait is for the tile only",
        (("pending = 0 : i64}", "pending = 0 : i64, read}"),),
        ("store not complete",),
        COPY,
        "read",
    ),
    Bug(
        "read_back",
        "no wait for the store",
        (('"tile.wait_group"() {pending = 0 : i64} : () -> ()', ""),),
        ("store not complete",),
        COPY,
        "bulk group",
    ),
    Bug("read_back", "the store is not committed", ((COMMIT, ""),), ("store not complete",), COPY, "commit"),
    Bug(
        "stage_global",
        "no proxy fence",
        (("      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}\n", ""),),
        ("missing proxy fence",),
        COPY,
        "memref.store %w",
    ),
    Bug(
        "stage_global",
        "a fence for shared memory only",
        (
            (
                "{kind = #nvvm.proxy_kind<async>}",
                "{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
            ),
        ),
        ("missing proxy fence",),
        COPY,
        "memref.store %w",
    ),
    Bug(
        "stage_global",
        "no barrier between the writes and the load",
        (("      nvvm.barrier\n", ""),),
        ("global data race", "unsynchronised write"),
        COPY,
        "memref.store %w",
    ),
    Bug(
        "last_block",
        "the count is not atomic",
        (
            (
                "%done = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32>) -> i32",
                "%done = memref.load %count[%c0] : memref<1xi32>\n        %more = arith.addi %done, %one : i32\n"
                "        memref.store %more, %count[%c0] : memref<1xi32>",
            ),
        ),
        ("global data race",),
        "%count",
        "",
    ),
    Bug(
        "last_block",
        "no barrier between the partial sums and the count",
        (("      nvvm.barrier\n", ""),),
        ("global data race",),
        "",
        "memref.store %sum, %part",
    ),
    Bug(
        "last_block",
        "no barrier between the flag and its readers",
        (("      gpu.barrier\n", ""),),
        ("shared data race", "uninitialised read"),
        "%flag",
        "",
    ),
    Bug(
        "lock",
        "the flag is raised before the sum is stored",
        (
            ("      memref.store %sum, %sums[%b, %t] : memref<4x32xi32>\n", ""),
            ("      gpu.return", "      memref.store %sum, %sums[%b, %t] : memref<4x32xi32>\n      gpu.return"),
        ),
        ("global data race",),
        "%sums",
        "",
    ),
    Bug(
        "lock",
        "nobody raises the flag",
        (("%old = memref.atomic_rmw addi %one, %flag", "%old = memref.atomic_rmw addi %zero, %flag"),),
        ("endless loop", "deadlock"),
        "",
        "",
    ),
    Bug(
        "lock",
        "each waits while it is its turn",
        (("%wait = arith.cmpi ne, %now", "%wait = arith.cmpi eq, %now"),),
        ("endless loop", "deadlock", "global data race"),
        "",
        "",
    ),
    Bug(
        "lock",
        "nobody waits",
        (("%wait = arith.cmpi ne, %now, %turn", "%wait = arith.cmpi ne, %now, %now"),),
        ("global data race",),
        "%sums",
        "",
    ),
)

SHARED = (
    Bug(
        "transpose",
        "no barrier between writing and reading",
        (("        gpu.barrier\n", ""),),
        ("shared data race", "race between lanes", "uninitialised read"),
        "",
        "%tile",
    ),
    Bug(
        "transpose",
        "no barrier before the tile is used again",
        (("        nvvm.barrier\n", ""),),
        ("shared data race",),
        "%tile",
        "%tile",
    ),
    Bug(
        "cp_async",
        "one group too many may be pending",
        (("wait.group 1", "wait.group 2"),),
        ("read before completion",),
        "memref.load %ring",
        "cp.async",
    ),
    Bug(
        "cp_async",
        "no barrier after the wait",
        (("        gpu.barrier\n", ""),),
        ("read before completion",),
        "memref.load %ring",
        "cp.async",
    ),
    Bug(
        "cp_async",
        "no barrier before a stage is filled again",
        (("        nvvm.barrier\n", ""),),
        ("stage reused too early", "read before completion"),
        "",
        "cp.async",
    ),
    Bug(
        "cp_async",
        "the groups are not committed",
        (("        nvvm.cp.async.commit.group\n", ""),),
        ("read before completion",),
        "memref.load %ring",
        "cp.async",
    ),
)
