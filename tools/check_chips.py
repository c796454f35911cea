"""Assemble a piece of PTX for every chip and feature, and compare with ``tma_mlir/chips.py``: ``check_chips.py``.

``--assembler ptxas`` (or the path of one) asks another assembler than nvJitLink. Needs no GPU. Prints what disagrees,
and ``agree N of N`` last.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import checkout  # noqa: F401

from tma_mlir.assembler import AssemblerError, assemble
from tma_mlir.chips import CHIPS, Chip, Feature

PTX_VERSION = "9.0"
"""The first that has all chips."""
KERNEL = """.version {version}
.target {chip}
.address_size 64
{shared}
.visible .entry kernel(.param .align 128 .b8 map[128], .param .u64 memory) {{
  .reg .b64 %m, %g; .reg .b32 %s, %c, %r; .reg .b16 %h; .reg .f32 %f;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %g, [memory]; mov.u32 %s, tile; mov.b32 %c, 0; mov.b16 %h, 1;
  {body}
  ret;
}}
"""

LOAD = (
    "cp.async.bulk.tensor.{rank}.shared::{space}.global.{mode}.mbarrier::complete_tx::bytes{more} "
    "[%s], [%m, {at}], [%s]"
)
STORE = "cp.async.bulk.tensor.2d.global.shared::cta.{mode}.bulk_group [%m, {at}], [%s];"
TWO, FOUR, ROWS = "{%c, %c}", "{%c, %c, %c, %c}", "{%c, %c, %c, %c, %c}"
OFFSETS = ", {%h, %h}"


def load(mode: str, at: str, space: str = "cta", more: str = "", last: str = "") -> str:
    rank = "4d" if at == FOUR else "2d"
    return LOAD.format(rank=rank, space=space, mode=mode, more=more, at=at) + last + ";"


EVERYWHERE = {
    "load": load("tile", TWO),
    "load into the cluster": load("tile", TWO, "cluster"),
    "store": STORE.format(mode="tile", at=TWO),
    "reduction": "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%m, {%c, %c}], [%s];",
    "prefetch": "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%m, {%c, %c}];",
    "im2col": load("im2col", FOUR, last=OFFSETS),
    "multicast": load("tile", TWO, "cluster", ".multicast::cluster", ", %h"),
    "bulk copy": "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%g], 16, [%s];",
}
"""What all chips of the table have."""

FEATURES: dict[Feature, tuple[str, ...]] = {
    Feature.CTA_PAIRS: (load("tile", TWO, "cluster", ".cta_group::2"),),
    Feature.GATHER4: (load("tile::gather4", ROWS),),
    Feature.GATHER4_CLUSTER: (
        load("tile::gather4", ROWS, "cluster", ".multicast::cluster", ", %h"),
        load("tile::gather4", ROWS, "cluster", ".cta_group::2"),
    ),
    Feature.GATHER4_PREFETCH: ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%m, {%c, %c, %c, %c, %c}];",),
    Feature.SCATTER4: (STORE.format(mode="tile::scatter4", at=ROWS),),
    Feature.IM2COL_W: (load("im2col::w", FOUR, last=OFFSETS),),
    Feature.IM2COL_W_CLUSTER: (
        load("im2col::w", FOUR, "cluster", ".multicast::cluster", OFFSETS + ", %h"),
        load("im2col::w", FOUR, "cluster", ".cta_group::2", OFFSETS),
    ),
    Feature.IM2COL_W_128: (load("im2col::w::128", FOUR, last=OFFSETS),),
    Feature.TENSORMAP_REPLACE: ("tensormap.replace.tile.global_address.global.b1024.b64 [%g], %g;",),
    Feature.SETMAXNREG: ("setmaxnreg.inc.sync.aligned.u32 40;",),
    Feature.WGMMA: ("wgmma.fence.sync.aligned;",),
    Feature.FLOAT_REDUX: ("{ .reg .f32 %s; mov.f32 %s, 0f00000000; redux.sync.min.f32 %s, %s, -1; }",),
}
"""PTX that a chip with the feature assembles, and one without refuses. Others are asked in another way: multicast at
full speed is where there is no warning, and what descriptors can say shows where the chip has ``tensormap.replace``."""

REPLACED = {
    Feature.ATOM_SWIZZLES: "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%g], 1;",
    Feature.PACKED_TYPES: "tensormap.replace.tile.elemtype.global.b1024.b32 [%g], 15;",
}

STATIC_BYTES = 48 * 1024
"""Static shared memory that every target takes. Those of one architecture alone (``sm_90a``) take as much as a block
can have, and so tell how much that is; the others take no byte more than this."""


def answer(assembler: str, chip: Chip, body: str, static_bytes: int = 0) -> str | None:
    """The assembler's log; None where it refuses."""
    kind, size = (".shared", static_bytes) if static_bytes else (".extern .shared", "")
    shared = f"{kind} .align 128 .b8 tile[{size}];"
    text = KERNEL.format(version=PTX_VERSION, chip=chip.name, shared=shared, body=body)
    try:
        return assemble(text, chip.name, assembler=assembler).log
    except AssemblerError:
        return None


def verdicts(assembler: str, chip: Chip) -> Iterator[tuple[str, bool, bool]]:
    """(what was asked, what the table says, what the assembler says)."""
    for name, body in EVERYWHERE.items():
        yield name, True, answer(assembler, chip, body) is not None
    for feature, bodies in FEATURES.items():
        for body in bodies:
            yield feature.value, chip.has(feature), answer(assembler, chip, body) is not None
    quiet = "substantially reduced performance" not in (answer(assembler, chip, EVERYWHERE["multicast"]) or "")
    yield Feature.FAST_MULTICAST.value, chip.has(Feature.FAST_MULTICAST), quiet
    if chip.has(Feature.TENSORMAP_REPLACE):
        for feature, body in REPLACED.items():
            yield feature.value, chip.has(feature), answer(assembler, chip, body) is not None
    use = "st.shared.b32 [%s], %c;"  # else the variable goes
    if answer(assembler, chip, use, STATIC_BYTES + 1) is not None:
        yield "shared bytes", True, answer(assembler, chip, use, chip.shared_bytes) is not None
    yield "one shared byte more", False, answer(assembler, chip, use, chip.shared_bytes + 1) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--assembler", default="nvjitlink", help="nvjitlink, ptxas, or the path of one")
    assembler = parser.parse_args().assembler
    agree = total = 0
    for chip in CHIPS.values():
        for name, expected, found in verdicts(assembler, chip):
            total += 1
            agree += expected == found
            if expected != found:
                print(f"{chip.name}: {name}: the table says {expected}, the assembler {found}")
    print(f"agree {agree} of {total}")
    return agree != total


if __name__ == "__main__":
    sys.exit(main())
