"""What the planner chooses for copies people make."""

import json
from dataclasses import replace

import pytest

from tma_mlir.dtypes import dtype
from tma_mlir.layout import AddressSwizzle, Expr, Layout, Swizzle, Symbol, address_swizzle, atom_layout, row_major
from tma_mlir.plan import (
    Coordinate,
    CopyPlan,
    CopyRequest,
    Direction,
    OobFill,
    PlanDeclined,
    Region,
    plan_copy,
)


def load(
    element: str,
    tensor: tuple,
    tile: tuple[int, ...],
    starts: tuple | None = None,
    swizzle: Swizzle | None = None,
    **others,
) -> CopyRequest:
    """A tile at ``starts`` (default: the origin) of a row-major tensor; in atoms if a swizzle is given."""
    size = dtype(element).bytes
    layout = row_major(tile) if swizzle is None else atom_layout(tile, size, swizzle)
    region = Region((0,) * len(tile), tile)
    request = CopyRequest(
        dtype(element),
        Direction.LOAD,
        tensor,
        row_major(tensor),
        Region(starts or (0,) * len(tensor), tile),
        tile,
        layout,
        region,
        None if swizzle is None else address_swizzle(swizzle),
    )
    return replace(request, **others)


def planned(request: CopyRequest, **symbols: int) -> CopyPlan:
    plan = plan_copy(request)
    assert plan.check(symbols) == []
    return plan


def test_reference_demonstration():
    plan = planned(load("f16", (8, 256), (8, 256), swizzle=Swizzle.B128))
    (tensor_map,) = plan.tensor_maps
    assert tensor_map.dims == (64, 8, 4)
    assert tensor_map.strides_bytes == (512, 128)
    assert tensor_map.box == (64, 8, 4)
    assert tensor_map.swizzle is Swizzle.B128
    assert tensor_map.data_type == "FLOAT16"
    assert plan.instruction_count == 1
    assert plan.transaction_bytes == 4096
    assert plan.shared_alignment_bytes == 1024


def strided(shape, strides, element="f16"):
    return replace(load(element, shape, shape), global_layout=Layout(shape, strides))


MANY = 1 << 20  # elements in a row of a tensor that the tile is a small part of

NAMED = {
    "f16 512x64 in 128B atoms": (load("f16", (4096, MANY), (512, 64), swizzle=Swizzle.B128), 1),
    "f16 512x64 plain": (load("f16", (4096, MANY), (512, 64)), 1),
    "f16 8x2048 plain": (load("f16", (8, MANY), (8, 2048)), 1),
    "i8 8x2048 plain": (load("i8", (8, MANY), (8, 2048)), 1),
    "f16 32x512 in 128B atoms": (load("f16", (4096, MANY), (32, 512), swizzle=Swizzle.B128), 1),
    "column start 32, width 128, 128B atoms": (
        load("f16", (64, 256), (64, 128), (0, 32), swizzle=Swizzle.B128), 1,
    ),
    "tensor width 200, 128B atoms": (load("f16", (64, 200), (64, 128), (0, 64), swizzle=Swizzle.B128), 1),
    "tensor width 200, tile past the end": (load("f16", (64, 200), (64, 128), (0, 128), swizzle=Swizzle.B128), 2),
    "rank 6, contiguous": (replace(load("f16", (2,) * 5 + (8,), (2,) * 5 + (8,)), variant="tma"), 1),
    "rank 6, strided": (strided((2, 2, 2, 2, 2, 16), (16384, 8192, 4032, 1024, 256, 1)), 1),
    "300 rows": (load("f16", (4096, MANY), (300, 64)), 1),
    "257 rows": (load("f16", (4096, MANY), (257, 64)), 2),
    "f8 512x1024 in 16-byte atoms": (load("i8", (4096, 4096), (512, 1024), swizzle=Swizzle.NONE), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_instructions_of(name):
    request, count = NAMED[name]
    assert planned(request).instruction_count == count


def test_half_the_rows_of_a_swizzled_tile():
    request = load("f16", (4096, 4096), (32, 256), swizzle=Swizzle.B128)
    tile = (64, 256)
    request = replace(request, shared_shape=tile, shared_layout=atom_layout(tile, 2, Swizzle.B128))
    assert planned(request).instruction_count == 4


def test_64_kib_of_one_dimension_is_one_bulk_copy():
    plan = planned(load("f16", (1 << 20,), (32768,), (32768,)))
    assert plan.variant == "bulk"
    assert plan.instruction_count == 1
    assert plan.transaction_bytes == 65536
    assert plan.bulk_groups[0].global_offset_bytes == 65536


def test_a_padded_tile_is_one_instruction_if_its_padding_is_scratch():
    padded = replace(load("f16", (4096, 4096), (64, 64)), shared_layout=Layout((64, 64), (72, 1)))
    assert planned(replace(padded, shared_padding_is_scratch=True)).instruction_count == 1
    with pytest.raises(PlanDeclined, match="shared address alignment"):
        plan_copy(replace(padded, variant="tma"))
    assert planned(padded).variant == "cp_async"
    assert planned(replace(padded, variant="bulk")).instruction_count == 64


def test_a_start_that_is_a_multiple_of_the_tile_leaves_nothing_open():
    k = Expr.of(Symbol("k", host=False))
    plan = planned(load("f16", (4096, 4096), (64, 128), (0, k * 64), swizzle=Swizzle.B128), k=3)
    assert plan.instruction_count == 1
    assert plan.guards == plan.host_checks == ()
    assert plan.groups[0].coordinates == (Coordinate(0), Coordinate(0), Coordinate(k))


def test_a_start_without_facts_is_guarded():
    k = Expr.of(Symbol("k", 0, 4032, host=False))
    plan = planned(load("f16", (4096, 4096), (64, 64), (0, k), swizzle=Swizzle.B128), k=8)
    assert plan.instruction_count == 1
    (guard,) = plan.guards
    assert guard.finding.rule == "start coordinate alignment"
    assert (guard.value, guard.divisor) == (2 * k, 16)


def test_a_symbolic_pitch_is_checked_on_the_host():
    pitch = Expr.of(Symbol("K", 1)) * 8
    plan = planned(load("f16", (4096, pitch), (64, 64), swizzle=Swizzle.B128), K=512)
    assert plan.instruction_count == 1
    assert plan.tensor_maps[0].strides_bytes == (2 * pitch,)
    assert plan.guards == ()
    assert {check.finding.rule for check in plan.host_checks} == {"global dimension", "global stride range"}


def test_a_pitch_without_facts_is_left_to_the_kernel_unless_tma_is_asked_for():
    request = load("f16", (4096, Expr.of(Symbol("K", 1))), (64, 64))
    plan = planned(request, K=512)
    assert [guard.finding.rule for guard in plan.guards] == ["global stride alignment"]
    assert plan.spares_descriptors
    plan = planned(replace(request, variant="tma"), K=512)
    assert "global stride alignment" in {check.finding.rule for check in plan.host_checks}
    assert not plan.guards


def test_a_store_of_odd_rows_is_guarded_by_the_room_behind_it():
    column = Expr.of(Symbol("column", 0, None, 32, host=False))
    layout = Layout((64, 50), (52, 1))
    request = load("f32", (64, 50), (8, 32), (0, column), direction=Direction.STORE, global_layout=layout)
    plan = planned(request, column=0)
    (guard,) = plan.guards
    assert (str(guard.value), guard.low) == ("-column + 18", 0)
    width = Expr.of(Symbol("N", 1))
    request = replace(request, global_shape=(64, width), global_layout=Layout((64, width), (52, 1)))
    (guard,) = planned(request, column=32, N=52).guards
    assert (str(guard.value), str(guard.or_value), guard.or_divisor) == ("N - column - 32", "4*N", 16)
    planned(request, column=32, N=64)


def test_a_symbolic_inner_stride_is_checked_to_be_one():
    step = Expr.of(Symbol("s"))
    request = replace(load("f16", (256, 256), (64, 64)), global_layout=Layout((256, 256), (256, step)))
    plan = planned(request, s=1)
    assert [guard.finding.rule for guard in plan.guards] == ["unit stride"]


def test_a_descriptor_of_kernel_values_is_refused():
    pitch = Expr.of(Symbol("K", 1, host=False)) * 8
    with pytest.raises(PlanDeclined, match="known on host"):
        plan_copy(load("f16", (4096, pitch), (64, 64), variant="tma"))


def test_fixed_dimensions_cost_no_rank():
    request = load("f16", (4, 8, 1024, 256), (128, 256), (0, 0), swizzle=Swizzle.B128)
    head = Expr.of(Symbol("head", 0, 7, host=False))
    request = replace(request, global_region=Region((1, head, 128, 0), (1, 1, 128, 256)))
    plan = planned(request, head=5)
    assert plan.tensor_maps[0].rank == 3
    assert plan.instruction_count == 1


@pytest.mark.parametrize("columns", [64, 128], ids=["one atom", "two atoms"])
@pytest.mark.parametrize("column_stride", [1, 7])
def test_the_only_column_of_a_tensor_may_have_any_stride(columns, column_stride):
    request = load("i16", (22, 1), (8, columns), (0, 0), swizzle=Swizzle.B128, variant="tma")
    plan = planned(replace(request, global_layout=Layout((22, 1), (16, column_stride))))
    (tensor_map,) = plan.tensor_maps
    assert (tensor_map.dims, tensor_map.strides_bytes, tensor_map.box) == ((1, 22), (32,), (64, 8))
    assert plan.instruction_count == columns // 64


def test_columns_that_are_one_element_are_refused():
    request = load("i16", (22, 64), (8, 64), variant="tma")
    with pytest.raises(PlanDeclined, match="unit stride"):
        plan_copy(replace(request, global_layout=Layout((22, 64), (16, 0))))


def test_tiles_of_one_tensor_share_a_descriptor():
    maps = {
        planned(load("f16", (4096, 4096), (64, 64), start, swizzle=Swizzle.B128)).tensor_maps
        for start in ((0, 0), (64, 128), (4032, 4032))
    }
    assert len(maps) == 1


def test_rows_that_leave_the_tensor_do_not_read_the_next_head():
    request = load("f16", (8, 100, 64), (64, 64), (0, 0), swizzle=Swizzle.B128)
    plan = planned(replace(request, global_region=Region((3, 64, 0), (1, 64, 64))))
    assert plan.tensor_maps[0].dims[1] == 100
    assert plan.instruction_count == 1


def test_elements_are_widened_only_where_it_saves():
    assert planned(load("i8", (64, MANY), (8, 256))).tensor_maps[0].data_type == "UINT8"
    assert planned(load("i8", (64, MANY), (8, 512))).tensor_maps[0].data_type == "UINT16"
    assert planned(load("i8", (64, MANY), (8, 2048))).tensor_maps[0].data_type == "UINT64"


def test_nan_fill_survives_widening():
    request = load("f16", (7, MANY), (8, 512), oob_fill=OobFill.NAN)
    assert planned(request).tensor_maps[0].data_type == "FLOAT32"
    with pytest.raises(PlanDeclined, match="oob fill type"):
        plan_copy(load("i32", (7, MANY), (8, 512), oob_fill=OobFill.NAN, variant="tma"))


def test_a_load_that_rounds_is_a_tensor_map_load():
    rounding = load("tf32", (64, 64), (64, 64))
    assert planned(rounding).tensor_maps[0].data_type == "TFLOAT32"
    for variant in ("bulk", "cp_async", "simt"):
        with pytest.raises(PlanDeclined, match="rounding to tf32"):
            plan_copy(replace(rounding, variant=variant))
    assert planned(replace(rounding, direction=Direction.STORE)).variant == "bulk"


@pytest.mark.parametrize(("element", "operation"), [("f16", "add"), ("tf32", "add"), ("i64", "min")])
def test_reductions_keep_their_type(element, operation):
    request = load(element, (64, MANY), (8, 512), direction=Direction.STORE, reduction=operation)
    plan = planned(request)
    assert {m.data_type for m in plan.tensor_maps} == {dtype(element).driver}


def test_a_reduction_moves_no_element_twice():
    request = load("f16", (4096, MANY), (257, 64), direction=Direction.STORE, reduction="add")
    assert planned(request).instruction_count == 2


def test_a_store_before_the_tensor_is_cropped():
    plan = planned(load("f16", (64, 64), (16, 64), (-8, 0), direction=Direction.STORE, variant="tma"))
    assert plan.instruction_count == 1
    assert plan.groups[0].shared_offset_bytes == 8 * 128


def test_a_store_that_cannot_be_clipped_exactly_is_not_a_tensor_map_store():
    request = Layout((64, 60), (128, 1))
    store = replace(load("f16", (64, 60), (64, 64), direction=Direction.STORE), global_layout=request)
    with pytest.raises(PlanDeclined, match="store clip granularity"):
        plan_copy(replace(store, variant="tma"))
    assert planned(store).variant == "simt"
    assert planned(replace(store, direction=Direction.LOAD)).variant == "tma"


def test_an_unaligned_column_is_refused_with_the_rule():
    with pytest.raises(PlanDeclined, match=r"byte 260 B; needed: a multiple of 16 B"):
        plan_copy(load("bf16", (64, 256), (16, 16), (0, 130), variant="tma"))
    assert planned(load("bf16", (64, 256), (16, 16), (0, 130))).variant == "cp_async"


def test_a_misplaced_swizzled_tile_is_refused():
    with pytest.raises(PlanDeclined, match="swizzle phase"):
        plan_copy(load("f16", (8, 64), (8, 64), None, Swizzle.B128, shared_base_alignment_bytes=128, variant="tma"))


def test_an_unknown_swizzle_is_left_to_threads():
    odd = load("f16", (64, 64), (64, 64), shared_swizzle=AddressSwizzle(2, 4, 4))
    assert planned(odd).variant == "cp_async"
    with pytest.raises(PlanDeclined, match="swizzle recognised"):
        plan_copy(replace(odd, variant="tma"))


@pytest.mark.parametrize("mode", [m for m in Swizzle if m.span_bytes])
def test_every_swizzle_mode_is_planned_by_name(mode):
    request = load("f16", (4096, 4096), (64, 64), chip="sm_100a")
    tile = atom_layout((64, 64), 2, min(mode, Swizzle.B128))
    plan = plan_copy(replace(request, shared_layout=tile, shared_swizzle=mode))
    assert plan.tensor_maps[0].swizzle is mode
    assert plan.instruction_count == 1
    if mode > Swizzle.B128:
        with pytest.raises(PlanDeclined, match="swizzle supported"):
            plan_copy(replace(request, shared_layout=tile, shared_swizzle=mode, chip="sm_90a", variant="tma"))


def test_a_region_without_elements_is_empty():
    assert plan_copy(load("f16", (64, 64), (0, 64))).variant == "empty"


def test_an_unknown_variant_is_an_error():
    with pytest.raises(ValueError, match="variant"):
        plan_copy(load("f16", (64, 64), (64, 64), variant="fast"))


def test_the_same_request_gets_the_same_plan_object():
    assert plan_copy(load("f16", (64, 64), (64, 64))) is plan_copy(load("f16", (64, 64), (64, 64)))


def test_explanation_names_the_choice_and_why_not_the_others():
    text = plan_copy(load("f16", (8, 256), (8, 256), swizzle=Swizzle.B128)).explain()
    assert "tma, 1 instruction, 4096 transaction bytes" in text
    assert "rank 3, dims 64,8,4, strides 512,128 bytes, box 64,8,4, swizzle 128B, float16" in text
    assert "not bulk: swizzle 128B; needed: none (rule: unswizzled)" in text


def test_explanation_as_data_is_json():
    k = Expr.of(Symbol("k", host=False))
    plan = plan_copy(load("f16", (4096, 4096), (64, 64), (0, k)))
    data = json.loads(json.dumps(plan.to_dict()))
    assert data["instructions"] == 1
    assert data["guards"][0]["value"] == "2*k"
    assert {other["name"] for other in data["alternatives"]} == {"bulk", "cp_async", "simt"}
