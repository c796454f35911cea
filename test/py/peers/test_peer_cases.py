"""What users of other TMA compilers ran into, one test a public case; each is named by its row in the project's list.

Every case here compiles and runs in the simulator, and the result is compared with the copy by definition; the path a
copy takes, or the error, is what the row asks for.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.by_definition import run_by_definition
from support.copy_kernels import global_type, load, store
from tma_mlir.compile.compiler import CompiledModule, CompileError, compile_text
from tma_mlir.plan import Swizzle


def run(text: str, chip: str = "sm_90a", **given: str) -> CompiledModule:
    """Compiles, executes and compares with the copies by definition; ``given``: ``a0="zeros"`` for argument 0."""
    return run_by_definition(text, given, chip)


def path(compiled: CompiledModule) -> str:
    (planned,) = compiled.plans
    return planned.plan.variant


def refused(text: str, message: str, chip: str = "sm_90a") -> None:
    with pytest.raises(CompileError, match=message):
        compile_text(text, chip)


def test_p01_column_start_of_260_bytes_is_not_a_16_byte_multiple():
    text = load(global_type([64, 256], "bf16"), [16, 16], element="bf16", offsets=[0, 130])
    assert path(run(text)) in ("cp_async", "simt")
    forced = load(
        global_type([64, 256], "bf16"), [16, 16], element="bf16", offsets=[0, 130], attributes='variant = "tma"'
    )
    refused(forced, "rule: start coordinate alignment")


def test_p01_column_start_known_only_at_run_time_is_guarded():
    text = load(
        global_type([64, 256], "bf16"), [16, 16], element="bf16", offsets=[0, "%column"], arguments="%column: index"
    )
    compiled = run(text, a2="130")
    (planned,) = compiled.plans
    assert planned.plan.variant == "tma"
    assert planned.plan.guards
    run(text, a2="128")


def test_p02_store_to_a_slice_four_bytes_into_the_row():
    text = store(global_type([32, 64], "i32"), [32, 32], element="i32", offsets=[0, 1])
    assert path(run(text)) == "simt"


def test_p04_row_of_6932_bytes():
    text = load(global_type([64, 1733], "f32"), [8, 32], element="f32")
    assert path(run(text)) in ("cp_async", "simt")
    refused(load(global_type([64, 1733], "f32"), [8, 32], element="f32", attributes='variant = "tma"'), "6932 B")


def test_p05_the_message_has_the_pitch_that_would_do():
    text = load(global_type([64, 100], "f16"), [8, 32], element="f16", attributes='variant = "tma"')
    refused(text, "Pad the pitch to 208 B")


def test_p07_strides_of_the_memref_are_used():
    text = load(global_type([64, 64], "f32", "[128, 1]"), [64, 32], element="f32", attributes='variant = "tma"')
    compiled = run(text)
    assert compiled.plans[0].plan.tensor_maps[0].strides_bytes == (512,)


def test_p08_the_memref_offset_moves_the_base():
    tensor = global_type([64, 64], "f16", "[128, 1], offset: 64")
    compiled = compile_text(load(tensor, [64, 64], element="f16", attributes='variant = "tma"'))
    assert compiled.signatures["k"].tensor_maps[0].tensor_map.base_offset_bytes == 128


def test_p09_an_empty_tile_copies_nothing():
    compiled = compile_text(load(global_type([128, 64], "bf16"), [0, 64], [8, 64], element="bf16"))
    assert path(compiled) == "empty"
    assert "cp.async.bulk" not in compiled.ptx


def test_p13_the_tail_of_a_row_is_zero_and_not_the_next_row():
    text = load(
        global_type([64, 80], "bf16"),
        [8, 64],
        element="bf16",
        offsets=[0, 64],
        attributes='swizzle = #tile.swizzle<"128B">',
    )
    compiled = run(text)
    assert path(compiled) == "tma"
    assert compiled.plans[0].plan.tensor_maps[0].dims[0] == 80


def test_p14_strides_are_in_elements_once():
    compiled = compile_text(load(global_type([64, 64], "f16"), [64, 32], element="f16", attributes='variant = "tma"'))
    assert compiled.plans[0].plan.tensor_maps[0].strides_bytes == (128,)


def test_p17_a_row_wider_than_the_swizzle_is_cut():
    text = load(
        global_type([64, 48], "f16"),
        [8, 48],
        element="f16",
        attributes='swizzle = #tile.swizzle<"32B">, variant = "tma"',
    )
    for map_ in run(text).plans[0].plan.tensor_maps:
        assert map_.inner_box_bytes <= 32


@pytest.mark.parametrize(("element", "columns"), [("f16", 64), ("f32", 32)])
def test_p19_the_swizzle_span_is_counted_in_bytes(element, columns):
    text = load(
        global_type([64, columns], element),
        [64, columns],
        element=element,
        attributes='swizzle = #tile.swizzle<"128B">',
    )
    (map_,) = run(text).plans[0].plan.tensor_maps
    assert (map_.inner_box_bytes, map_.swizzle) == (128, Swizzle.B128)


def test_p20_a_tile_of_lower_rank_than_the_tensor():
    text = load(global_type([4, 64, 128], "f16"), [1, 64, 64], [64, 64], element="f16", offsets=[2, 0, 64])
    assert path(run(text)) == "tma"


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "i8", "i16"])
def test_p22_types_that_nvgpu_cannot_encode_travel(element):
    text = load(global_type([64, 64], element), [32, 64], element=element, attributes='variant = "tma"')
    compiled = run(text)
    assert compiled.plans[0].plan.tensor_maps[0].data_type in ("UINT8", "UINT16", "UINT32", "UINT64", "INT32", "INT64")


def test_p23_nan_fill_of_integers_is_refused():
    text = load(global_type([64, 64], "i32"), [8, 32], element="i32", attributes='oob = "nan", variant = "tma"')
    refused(text, "'oob' fills with NaN, which elements of type i32 do not have")


def test_p23_a_transposed_tile_is_not_taken_for_a_dense_one():
    tensor = global_type([32, 64], "f16", "[1, 32]")
    compiled = run(load(tensor, [32, 64], element="f16"))
    assert path(compiled) in ("simt", "cp_async")


def test_p24_int4_is_refused_before_blackwell():
    refused(load(global_type([64, 64], "i4"), [8, 64], element="i4"), "16U4_ALIGN8B on sm_90a; needed: one of sm_100")


def test_p25_only_zero_and_nan_can_be_filled():
    text = load(global_type([60, 60], "i32"), [64, 64], element="i32", attributes="oob = -99 : i32")
    refused(text, 'must be one of "zero", "nan"')


def test_p28_a_wide_tile_of_swizzled_atoms_is_one_instruction():
    text = load(
        global_type([64, 512], "bf16"), [64, 256], element="bf16", attributes='destination_layout = #tile.atoms<"128B">'
    )
    compiled = run(text)
    assert compiled.plans[0].plan.instruction_count == 1


def test_p33_swizzled_tiles_are_aligned_to_the_period_of_the_swizzle():
    for mode, period in (("32B", 256), ("64B", 512), ("128B", 1024)):
        columns = int(mode.removesuffix("B")) // 2
        text = load(
            global_type([64, columns], "f16"),
            [64, columns],
            element="f16",
            attributes=f'swizzle = #tile.swizzle<"{mode}">',
        )
        assert f"alignment = {period}" in run(text).texts["nvgpu"]


def test_p35_plain_tiles_are_aligned_to_128_bytes():
    text = load(global_type([64, 64], "f16"), [8, 64], element="f16", offsets=[0, 0], attributes='variant = "tma"')
    assert "alignment = 128" in run(text, "sm_120a").texts["nvgpu"]


def test_p36_a_reduction_of_a_swizzled_tile_uses_the_tensor_form():
    text = store(
        global_type([64, 64], "f16"),
        [64, 64],
        element="f16",
        attributes='reduce = "add", swizzle = #tile.swizzle<"128B">',
    )
    compiled = compile_text(text)
    assert path(compiled) == "tma"
    assert "cp.reduce.async.bulk.tensor.2d" in compiled.ptx


def test_p37_nothing_is_written_behind_the_end():
    text = store(global_type([1000], "f32"), [256], element="f32", offsets=[768])
    run(text)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_p37_a_tail_that_ends_inside_16_bytes_does_not_touch_the_neighbour(width):
    """Stores clip at 16 bytes: a column slice of a wider tensor would lose its neighbours' elements."""
    tensor = global_type([16, 64 + width], "f32", "[128, 1]")
    text = store(tensor, [16, 64], element="f32", offsets=[0, 64])
    run(text)


def test_p38_shared_to_shared_is_no_direction():
    text = """
    func.func @k(%a: memref<8x64xf16, 3>, %b: memref<8x64xf16, 3>) {
      "tile.copy_async"(%a, %b) {
        static_source_offsets = array<i64: 0, 0>, static_destination_offsets = array<i64: 0, 0>,
        sizes = array<i64: 8, 64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>}
        : (memref<8x64xf16, 3>, memref<8x64xf16, 3>) -> ()
      return
    }"""
    refused(text, "not from shared to shared")


def test_p44_a_store_survives_canonicalisation():
    from tma_mlir.bindings import ir
    from tma_mlir.dialect import make_context
    from tma_mlir.passes.pipeline import run_pipeline

    with make_context():
        module = ir.Module.parse(store(global_type([64, 64], "f16"), [64, 64], element="f16"))
        run_pipeline(module.operation, "builtin.module(canonicalize,cse,tile-plan-copies,canonicalize,cse)")
        assert "tile.copy_async" in str(module)


def test_p50_a_load_without_multicast_uses_the_cta_form():
    text = load(global_type([64, 64], "f16"), [64, 64], element="f16", attributes='swizzle = #tile.swizzle<"128B">')
    assert ".shared::cta.global" in compile_text(text, "sm_120a").ptx


def test_p51_descriptors_stay_in_constant_memory():
    text = load(global_type([64, 64], "f16"), [64, 64], element="f16", attributes='swizzle = #tile.swizzle<"128B">')
    compiled = compile_text(text, keep=("lowered",))
    assert "nvvm.grid_constant" in compiled.texts["lowered"]
    assert ".local" not in compiled.ptx


def test_p54_every_descriptor_is_aligned_to_128_bytes():
    text = load(global_type([64, 64], "f16"), [64, 64], element="f16", attributes='swizzle = #tile.swizzle<"128B">')
    assert ".param .align 128 .b8 k_param_0[128]" in compile_text(text).ptx


def test_p62_the_architecture_is_checked_before_llvm_selects():
    text = load(
        global_type([64, 64], "f16"),
        [64, 64],
        element="f16",
        attributes='swizzle = #tile.swizzle<"128B">, cta_group = 2',
    )
    refused(text, "cta_group 2 on sm_90a", "sm_90a")
    assert ".cta_group::2" in compile_text(text, "sm_100a").ptx


def test_p65_the_box_is_not_transposed():
    text = load(global_type([256, 96], "f32"), [64, 32], element="f32", attributes='variant = "tma"')
    (map_,) = run(text).plans[0].plan.tensor_maps
    assert map_.box[0] * map_.element_bytes == 128
    assert np.prod(map_.box) * map_.element_bytes == 64 * 32 * 4
