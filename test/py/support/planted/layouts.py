"""Bugs of clusters, swizzles and tensor cores."""

from .bug import COPY, Bug

CLUSTERS = (
    Bug(
        "multicast",
        "only the own half is announced",
        (("%bytes = arith.constant 4096", "%bytes = arith.constant 2048"),),
        ("expect_tx too small", "read before completion"),
        "",
        "2048 B",
    ),
    Bug(
        "multicast",
        "the block alone waits for the initialisation",
        (("      nvvm.cluster.arrive\n      nvvm.cluster.wait\n      %own", "      gpu.barrier\n      %own"),),
        ("barrier used before init is visible", "barrier not initialised"),
        "",
        "",
    ),
    Bug(
        "multicast",
        "a block ends while the other arrives on its barrier",
        (("      nvvm.cluster.arrive\n      nvvm.cluster.wait\n      gpu.return", "      gpu.return"),),
        ("remote CTA has exited", "exit during transfer"),
        "",
        "",
    ),
    Bug(
        "multicast",
        "empty counts one block",
        (("%count = arith.constant 2", "%count = arith.constant 1"),),
        ("too many arrivals", "stage reused too early"),
        "",
        "",
    ),
    Bug(
        "multicast",
        "the other block is not told",
        (("          nvvm.mbarrier.arrive %there {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>\n", ""),),
        ("deadlock",),
        "",
        "No thread has arrived",
    ),
    Bug(
        "multicast",
        "the mask names one block",
        (("%mask = arith.constant 3", "%mask = arith.constant 1"),),
        ("deadlock", "expect_tx too small"),
        "",
        "",
    ),
    Bug(
        "multicast",
        "no wait for the empty stage",
        (("          nvvm.mbarrier.try_wait.parity %empty, %free, %ticks : !llvm.ptr<3>, i32, i32\n", ""),),
        ("stage reused too early",),
        COPY,
        "",
    ),
)

LAYOUTS = (
    Bug(
        "swizzled",
        "the tile goes out without its swizzle",
        (('array<i64: 16, 32>, swizzle = #tile.swizzle<"128B">, variant', "array<i64: 16, 32>, variant"),),
        ("layout mismatch",),
        COPY,
        "128B",
    ),
    Bug(
        "swizzled",
        "the tile comes in with another swizzle",
        (('swizzle = #tile.swizzle<"128B">, expect_tx', 'swizzle = #tile.swizzle<"32B">, expect_tx'),),
        ("layout mismatch",),
        COPY,
        "128B",
    ),
    Bug(
        "matmul",
        "A has atoms of 64 bytes",
        (
            (
                "array<i64: 0, -9223372036854775808>, static_destination_offsets = array<i64: 0, 0>,\n"
                '            sizes = array<i64: 64, 64>, destination_layout = #tile.atoms<"128B">',
                "array<i64: 0, -9223372036854775808>, static_destination_offsets = array<i64: 0, 0>,\n"
                '            sizes = array<i64: 64, 64>, destination_layout = #tile.atoms<"64B">',
            ),
        ),
        ("compile error", "layout mismatch"),
        "",
        "128",
    ),
    Bug(
        "matmul",
        "wgmma is not awaited",
        (("waitGroup = 0", "waitGroup = 1"),),
        ("stage reused too early",),
        COPY,
        "wgmma",
    ),
    Bug(
        "matmul",
        "no wait for the tiles",
        (('        "tile.wait"(%bar, %c0, %ready) : (!bar, index, i1) -> ()\n', ""),),
        ("read before completion",),
        "nvgpu.warpgroup.mma",
        "",
    ),
    Bug(
        "matmul",
        "the stage is filled before all have read it",
        (("        nvvm.barrier\n", ""),),
        ("stage reused too early",),
        COPY,
        "every reader",
    ),
    Bug(
        "matmul",
        "the parity is inverted",
        (("%ready = arith.cmpi eq", "%ready = arith.cmpi ne"),),
        ("wrong parity", "read before completion", "deadlock"),
        "",
        "parity",
    ),
)
