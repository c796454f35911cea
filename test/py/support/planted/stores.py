"""Bugs of stores and reductions: groups, fences, issuers."""

from .bug import COMMIT, COPY, Bug

STORES = (
    Bug(
        "double_store",
        "no barrier between the writes and the store",
        (("        nvvm.barrier\n", ""),),
        ("unsynchronised write", "uninitialised read", "missing proxy fence"),
        COPY,
        "%w",
    ),
    Bug(
        "double_store",
        "one group too many may be pending",
        (("pending = 1 : i64, read", "pending = 2 : i64, read"),),
        ("write during transfer",),
        "memref.store %w",
        "wait_group",
    ),
    Bug(
        "double_store",
        "no barrier after the wait",
        (("        gpu.barrier\n", ""),),
        ("write during transfer",),
        "memref.store %w",
        "wait_group",
    ),
    Bug(
        "double_store",
        "the store is not committed",
        ((COMMIT, ""),),
        ("write during transfer", "exit during transfer"),
        "",
        "commit",
    ),
    Bug(
        "double_store",
        "the kernel ends before the store has read",
        (('"tile.wait_group"() {pending = 0 : i64, read} : () -> ()', ""),),
        ("exit during transfer",),
        COPY,
        "wait_group",
    ),
    Bug(
        "double_store",
        "a whole warp stores",
        (("%leader = arith.cmpi eq, %t, %c0", "%leader = arith.cmpi ult, %t, %c32"),),
        ("repeated store",),
        COPY,
        "32 lanes",
    ),
    Bug(
        "double_store",
        "always the first stage is stored",
        (("%stage[%s, 0, 0]", "%stage[%c0, 0, 0]"),),
        ("write during transfer",),
        "memref.store %w",
        "",
    ),
    Bug(
        "add_blocks", "no reduction", ((', reduce = "add"', ""),), ("global data race", "store not complete"), COPY, ""
    ),
    Bug(
        "add_blocks",
        "a whole warp adds",
        (
            (
                '      scf.if %leader {\n        "tile.copy_async"(%tile, %out)',
                "      %warp = arith.cmpi ult, %t, %c32 : index\n      scf.if %warp {\n"
                '        "tile.copy_async"(%tile, %out)',
            ),
        ),
        ("repeated reduction",),
        COPY,
        "32",
    ),
    Bug(
        "add_blocks",
        "no wait for the load",
        (('      "tile.wait"(%bar, %c0, %false) : (!bar, index, i1) -> ()\n', ""),),
        ("read before completion",),
        "memref.load %tile",
        "",
    ),
    Bug(
        "add_blocks",
        "no barrier before the store",
        (("      nvvm.barrier\n", ""),),
        ("unsynchronised write", "missing proxy fence", "write during transfer"),
        "",
        "barrier",
    ),
    Bug(
        "add_blocks",
        "the kernel does not wait for the store",
        (('"tile.wait_group"() {pending = 0 : i64} : () -> ()', ""),),
        ("exit during transfer",),
        COPY,
        "wait_group",
    ),
    Bug(
        "add_blocks",
        "the wait is for the phase before",
        (("%false = arith.constant false", "%false = arith.constant true"),),
        ("wrong parity", "read before completion"),
        "",
        "parity",
    ),
)
