"""The instruction that each mode becomes on each chip (names and qualifiers from the PTX ISA), assembled."""

import pytest

from tma_mlir.compile.compiler import CompileError, compile_text

FAMILY = ("sm_100a", "sm_103a", "sm_110a")
BLACKWELL = ("sm_100", *FAMILY, "sm_120a")
"""Chips with every mode."""
BLACKWELL = ("sm_100", *FAMILY, "sm_120a")
ALL = ("sm_90", "sm_90a", *BLACKWELL)

MATRIX, IMAGE = "64x512xbf16", "8x14x14x64xbf16"
ROWS = "0, 5, 9, 60, 64"
START = "0, 3, 2, 0, 0, 0"
GATHER = 'mode = "gather4"'
SCATTER = 'mode = "scatter4"'
BOX = 'mode = "im2col", im2col = {lower_corner = [0, 0], upper_corner = [0, 0]}'


def module(body, tensor, rows):
    return f"""
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @k {{
  memref.global "private" @tile : memref<{rows}x64xbf16, #gpu.address_space<workgroup>>
  gpu.func @kernel(%tensor: memref<{tensor}>, %mask: i16, %hint: i64) kernel {{
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<{rows}x64xbf16, #gpu.address_space<workgroup>>
    %barrier = nvgpu.mbarrier.create -> !barrier
    {body}
    gpu.return
  }}
}}"""


def load(tensor, offsets, rows, options, operand=""):
    """``operand``: ``mask``, ``hint`` or none."""
    values = {"": ("", "", "0, 0, 0"), "mask": (", %mask", ", i16", "0, 1, 0"), "hint": (", %hint", ", i64", "0, 0, 1")}
    value, type_, segments = values[operand]
    return module(
        f""""tile.copy_async"(%tensor, %tile, %barrier, %c0{value}) {{{options}, sizes = array<i64: {rows}, 64>,
        static_source_offsets = array<i64: {offsets}>, static_destination_offsets = array<i64: 0, 0>,
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, {segments}>}}
        : (memref<{tensor}>, memref<{rows}x64xbf16, #gpu.address_space<workgroup>>, !barrier, index{type_}) -> ()""",
        tensor,
        rows,
    )


def store(tensor, offsets, rows, options):
    return module(
        f""""tile.copy_async"(%tile, %tensor) {{{options}, sizes = array<i64: {rows}, 64>,
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: {offsets}>,
        operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}}
        : (memref<{rows}x64xbf16, #gpu.address_space<workgroup>>, memref<{tensor}>) -> ()""",
        tensor,
        rows,
    )


def prefetch(tensor, offsets, rows, options):
    return module(
        f""""tile.prefetch_async"(%tensor) {{{options}, sizes = array<i64: {rows}, 64>,
        static_source_offsets = array<i64: {offsets}>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}}
        : (memref<{tensor}>) -> ()""",
        tensor,
        rows,
    )


def wide(mode, tensor, offsets, rows):
    box = f'mode = "{mode}", im2col = {{lower_corner = [-1], upper_corner = [-1]}}, swizzle = #tile.swizzle<"128B">'
    return load(tensor, offsets, rows, box)


CASES = {
    # name: (module, instruction, chips that have it)
    "gather": (
        load(MATRIX, ROWS, 4, GATHER),
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
        BLACKWELL,
    ),
    "gather_hint": (
        load(MATRIX, ROWS, 4, GATHER, "hint"),
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.L2::cache_hint",
        BLACKWELL,
    ),
    "gather_multicast": (
        load(MATRIX, ROWS, 4, GATHER, "mask"),
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster",
        FAMILY,
    ),
    "gather_pair": (
        load(MATRIX, ROWS, 4, GATHER + ", cta_group = 2 : i64"),
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::2",
        FAMILY,
    ),
    "gather_prefetch": (
        prefetch(MATRIX, ROWS, 4, GATHER),
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4",
        FAMILY,
    ),
    "scatter": (
        store(MATRIX, ROWS, 4, SCATTER),
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group",
        FAMILY,
    ),
    "im2col_3d": (
        load("8x14x64xbf16", "0, 3, 0, 2", 16, BOX.replace("[0, 0]", "[0]")),
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes",
        ALL,
    ),
    "im2col_4d": (
        load(IMAGE, START, 16, BOX),
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes",
        ALL,
    ),
    "im2col_5d": (
        load("8x4x14x14x64xbf16", "0, 0, 3, 2, 0, 0, 1, 2", 16, BOX.replace("[0, 0]", "[0, 0, 0]")),
        "cp.async.bulk.tensor.5d.shared::cta.global.im2col.mbarrier::complete_tx::bytes",
        ALL,
    ),
    "im2col_multicast": (
        load(IMAGE, START, 16, BOX, "mask"),
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster",
        ALL,
    ),
    "im2col_store": (
        store(IMAGE, START, 16, BOX),
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group",
        ALL,
    ),
    "im2col_prefetch": (prefetch(IMAGE, START, 16, BOX), "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col", ALL),
    "im2col_w": (
        wide("im2col_w", IMAGE, "0, 3, -1, 0, 0, 1", 16),
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes",
        BLACKWELL,
    ),
    "im2col_w_128": (
        wide("im2col_w_128", IMAGE, "0, 3, -1, 0, 0, 1", 128),
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes",
        FAMILY,
    ),
}


def bulk_instructions(ptx):
    lines = (line.split() for line in ptx.splitlines())
    return [words[0] for words in lines if words and words[0].startswith("cp.async.bulk")]


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", CASES)
def test_instruction_of_mode(name, chip):
    text, instruction, chips = CASES[name]
    if chip in chips:
        compiled = compile_text(text, chip)
        assert bulk_instructions(compiled.ptx) == [instruction]
        assert compiled.cubin is not None
    elif "prefetch" in name:  # a hint, dropped where it cannot be
        assert bulk_instructions(compile_text(text, chip).ptx) == []
    else:
        with pytest.raises(CompileError, match=r"rule: (gather supported|im2col wide supported|cta group supported)"):
            compile_text(text, chip)
