"""A remedy that a message names works: for every rule a copy that breaks it, and the copy after the remedy.

A copy is a request to the planner. Where no request reaches a rule (it is asked of descriptors that others made, or of
what the planner already sees to), it is the question itself.
"""

import inspect
import re
from dataclasses import replace

import pytest

from tma_mlir.dtypes import dtype
from tma_mlir.layout import AddressSwizzle, Expr, Layout, Swizzle, Symbol, address_swizzle, row_major
from tma_mlir.plan import (
    CopyRequest,
    Direction,
    Gather,
    Im2colWalk,
    OobFill,
    PlanDeclined,
    Region,
    Status,
    Tile,
    Variant,
    described,
    plan_copy,
    rules,
)


def copy(element="f32", tensor=(64, 512), tile=(16, 32), start=None, direction="load", variant="tma", **fields):
    """A tile of a row-major tensor into a dense tile."""
    request = CopyRequest(
        dtype(element), Direction(direction), tensor, row_major(tensor), Region(start or (0,) * len(tensor), tile),
        tile, row_major(tile), Region((0,) * len(tile), tile), variant=Variant(variant),
    )  # fmt: skip
    return replace(request, **fields)


def store(**fields):
    return copy(direction="store", **fields)


def walk(rank=4, corners=(-1, -1), channels=32, pixels=16, offsets=0, traversal=1, start=-1, **fields):
    """An im2col load; every spatial dimension alike."""
    spatial = rank - 2
    tensor = (2, *(8,) * spatial, 512)
    kind = Im2colWalk((corners[0],) * spatial, (corners[1],) * spatial, (traversal,) * spatial, (offsets,) * spatial)
    request = copy("f16", tensor, (pixels, channels))
    region = Region((0, *(start,) * spatial, 0), (*(1,) * spatial, pixels, channels))
    return replace(request, global_region=region, kind=kind, **fields)


def wide(form="w", swizzle=Swizzle.B128, pixels=16, halo=0, chip="sm_100a", **fields):
    kind = Im2colWalk((-1,), (-1,), (1,), (halo, 0), form)
    tensor, tile = (2, 8, 8, 512), (pixels, (swizzle.span_bytes or 64) // 2)
    request = copy("f16", tensor, tile, shared_swizzle=address_swizzle(swizzle), chip=chip)
    return replace(request, global_region=Region((0, 0, -1, 0), (1, 1, *tile)), kind=kind, **fields)


def gather(rows=(0, 1, 2, 3), tensor=(64, 512), tile=None, columns=64, chip="sm_100a", **fields):
    tile = tile or (4, columns)
    request = copy("f16", tensor, tile, chip=chip)
    return replace(request, kind=Gather(tuple(rows)), **fields)


def packed(element="i4", tensor=(64, 512), tile=(8, 128), **fields):
    return copy(element, tensor, tile, chip="sm_100a", **fields)


def explicit(box=(16, 32), **fields):
    request = copy(variant="tma_explicit")
    return replace(request, kind=Tile(replace(described(request, box), **fields)))


def described_as(tensor, box=None):
    """The first box of a tensor, with a descriptor of the tensor as it is."""
    box = box or (*(1,) * (len(tensor) - 1), 32)
    request = copy(tensor=tensor, tile=box, variant="tma_explicit")
    return replace(request, kind=Tile(described(request, box)))


def at_end(request):
    """The same box where it sticks out of the tensor's 64 rows."""
    described = replace(request.kind.explicit, starts=(60, 0))
    return replace(request, global_region=Region((60, 0), (16, 32)), kind=Tile(described))


def ask(name, *arguments):
    return getattr(rules, name)(*arguments)


def padded(request, pitch):
    return replace(request, global_layout=Layout(request.global_shape, (pitch, 1)))


def promised(**known):
    return Expr.of(Symbol("x", host=False, **known))


B128 = address_swizzle(Swizzle.B128)
N = Expr.of(Symbol("n", 0))

ODD_END = {"tensor": (64, 50), "start": (0, promised(divisor=4, low=0)), "variant": "auto"}
ODD_STORE = {"tensor": (64, 528), "direction": "store", "global_layout": Layout((64, 528), (544, 1))}
SLICES = {"shared_shape": (16, 64), "shared_layout": row_major((16, 64))}
ANY_ATOM = {"shared_swizzle": Swizzle.B128_ATOM_64B, "chip": "sm_100a"}

REMEDIES = {
    # rule: (the remedy as it is said, the copy or question that breaks the rule, the same after the remedy)
    "known_on_host": ("Pass them as kernel arguments", padded(copy(), promised(divisor=8, low=0)),
                      padded(copy(), Expr.of(Symbol("x", 0, None, 8)))),
    "common_pieces": ("begin and end where tiles do",
                      copy(tensor=(64, 512), tile=(16, 32), start=(0, promised(low=0)), in_bounds=True,
                           global_layout=Layout((64, 16, 32), (32, 2048, 1))),
                      copy(tensor=(64, 512), tile=(16, 32), start=(0, promised(low=0, divisor=32)), in_bounds=True,
                           global_layout=Layout((64, 16, 32), (32, 2048, 1)))),
    "promise_kept": ("Pass an array that is so", ask("promise_kept", Symbol("n", 0, None, 8)),
                     ask("promise_kept", Symbol("n", 0))),
    "rank": ("Merge dimensions", described_as((2, 3, 4, 5, 6, 64)), described_as((6, 4, 5, 6, 64))),
    "data_type": ("Copy it as UINT8", ask("data_type", "FLOAT8"), ask("data_type", "UINT8")),
    "interleave": ("with strides", ask("interleave", "16B"), ask("interleave", "none")),
    "global_address_alignment": ("multiple of 16 bytes", copy(global_layout=Layout((64, 512), (512, 1), 2)),
                                 copy(global_layout=Layout((64, 512), (512, 1), 4))),
    "global_dimension": ("view of fewer elements", copy("i8", ((1 << 32) + 16, 128), (16, 64)),
                         copy("i8", (1 << 32, 128), (16, 64))),
    "global_stride_alignment": ("Pad the pitch to 3120 B", copy(tensor=(64, 777)), padded(copy(tensor=(64, 777)), 780)),
    "global_stride_range": ("view of its own", padded(copy(), 1 << 38), copy()),
    "box_dimension": ("Split the box", described_as((1024, 512), (512, 32)), described_as((1024, 512), (256, 32))),
    "box_size": ("Split the box", described_as((1024, 512), (256, 256)), described_as((1024, 512), (128, 256))),
    "inner_box_bytes": ("Copy 32 B per row", copy("f16", tile=(16, 12)), copy("f16", tile=(16, 16))),
    "unit_stride": ("innermost in shared memory innermost in global", copy(global_layout=Layout((64, 512), (1, 64))),
                    copy(global_layout=Layout((64, 512), (1, 64)), shared_layout=Layout((16, 32), (1, 16)))),
    "element_stride": ("steps of 1 to 8", walk(traversal=9), walk(traversal=8)),
    "swizzle_supported": ("Target sm_100a", copy(shared_swizzle=Swizzle.B128_ATOM_32B),
                          copy(shared_swizzle=Swizzle.B128_ATOM_32B, chip="sm_100a")),
    "swizzle_recognised": ("Use one of those", copy(shared_swizzle=AddressSwizzle(3, 4, 4)), copy(shared_swizzle=B128)),
    "swizzle_inner_box": ("Copy 128 B of a row at a time", copy(tile=(16, 40), shared_swizzle=B128),
                          copy(tile=(16, 32), shared_swizzle=B128)),
    "oob_fill_type": ("Fill with zero", copy("i32", oob_fill=OobFill.NAN), copy("i32")),
    "l2_promotion": (r"Use 2 \(128 B\)", ask("l2_promotion", 4), ask("l2_promotion", 2)),
    "start_coordinate_alignment": ("Start at byte 0 or 16", copy(start=(0, 1)), copy(start=(0, 4))),
    "coordinate_range": ("view of the tensor that begins nearer", ask("coordinate_range", 1 << 31, 0, True),
                         ask("coordinate_range", (1 << 31) - 64, 0, True)),
    "negative_coordinate_on_store": (r"assume: \{min = 0\}", store(start=(0, promised(divisor=4))),
                                     store(start=(0, promised(divisor=4, low=0)))),
    "store_clip_granularity": ("with in_bounds", padded(store(tensor=(64, 50), start=(0, 32)), 52),
                               padded(store(tensor=(64, 50), start=(0, 16), in_bounds=True), 52)),
    "store_inside": ("with in_bounds", padded(store(**ODD_END), 52), padded(store(**ODD_END, in_bounds=True), 52)),
    "shared_address_alignment": ("multiples of 128 bytes", copy(**SLICES, shared_region=Region((0, 16), (16, 32))),
                                 copy(**SLICES, shared_region=Region((0, 32), (16, 32)))),
    "shared_base_alignment": ("Align the tile to 128 bytes", copy(shared_base_alignment_bytes=64),
                              copy(shared_base_alignment_bytes=128)),
    "swizzle_phase": ("Align the tile to 1024 bytes", copy(shared_swizzle=B128, shared_base_alignment_bytes=128),
                      copy(shared_swizzle=B128, shared_base_alignment_bytes=1024)),
    "reduction_supported": ("Reduce with one of these", store(element="f16", reduction="and"),
                            store(element="f16", reduction="max")),
    "reduction_direction": ("Drop the reduction", copy(reduction="add"), copy()),
    "multicast_direction": ("Drop the multicast", store(multicast=True), store()),
    "cta_group_supported": ("Target sm_100a", copy(cta_group=2), copy(cta_group=2, chip="sm_100a")),
    "chip_supported": ("Target sm_90a", ask("chip_supported", "sm_80"), ask("chip_supported", "sm_90a")),
    "bulk_size": ("Copy 48 B at a time", copy("i8", (64,), (40,), variant="bulk"),
                  copy("i8", (64,), (48,), variant="bulk")),
    "bulk_address_alignment": ("multiple of 16 bytes", copy("i8", (64,), (32,), (8,), variant="bulk"),
                               copy("i8", (64,), (32,), (16,), variant="bulk")),
    "unswizzled": ('variant = "tma"', copy(variant="bulk", shared_swizzle=B128), copy(shared_swizzle=B128)),
    "known_step": ('variant = "tma"', padded(copy(variant="bulk", in_bounds=True), 4 * N),
                   padded(copy(in_bounds=True), 4 * N)),
    "plain_copy": ('variant = "tma"', store(variant="simt", reduction="add"), store(reduction="add")),
    "swizzle_pattern_known": ('variant = "tma"', copy(variant="simt", **ANY_ATOM), copy(**ANY_ATOM)),
    "cp_async_direction": ('variant = "simt"', store(variant="cp_async"), store(variant="simt")),
    "cp_async_size": ('variant = "simt"', copy("f16", (64, 33), (16, 31), variant="cp_async"),
                      copy("f16", (64, 33), (16, 31), variant="simt")),
    "cp_async_fill": ('variant = "simt"', copy(variant="cp_async", oob_fill=OobFill.NAN),
                      copy(variant="simt", oob_fill=OobFill.NAN)),
    "inside_tensor": ("Say in_bounds", copy(tensor=(64, 512), start=(promised(low=0), 0), variant="bulk"),
                      copy(tensor=(64, 512), start=(promised(low=0), 0), variant="bulk", in_bounds=True)),
    "descriptor_given": ("with 'explicit'", copy(variant="tma_explicit"), explicit()),
    "equal_ranks": ("one of each", explicit(box=(32,)), explicit()),
    "same_movement": ("sizes of the copy", explicit(box=(16, 16)), explicit(box=(16, 32))),
    "same_start": ("region's first element", explicit(starts=(0, 4)), explicit(starts=(0, 0))),
    "same_end": ("tensor's extents as dims", at_end(explicit(dims=(63, 512))), at_end(explicit())),
    "same_swizzle": ("Use none", explicit(swizzle=Swizzle.B128), explicit()),
    "way_of_mode": ("Drop 'variant'", gather(variant=Variant.SIMT), gather()),
    "mode_reduction": ("Reduce tile by tile", gather(direction=Direction.STORE, reduction="add"),
                       store(element="f16", reduction="add")),
    "row_pitch": ("rows that close together", gather(shared_shape=(4, 128), shared_layout=row_major((4, 128)),
                  shared_region=Region((0, 0), (4, 64))), gather()),
    "gather_supported": ("target sm_100a", gather(chip="sm_90a"), gather(chip="sm_100a")),
    "gather_rank": ("View the tensor as a matrix", ask("gather_rank", 3), ask("gather_rank", 2)),
    "gather_rows": ("one copy for every four rows", gather(rows=(0, 1, 2)), gather()),
    "im2col_rank": (r"View it as N\(D\)\(H\)WC", ask("im2col_rank", 2), ask("im2col_rank", 3)),
    "im2col_corner_range": ("corner from -128 to 127", walk(corners=(-129, -1)), walk(corners=(-128, -1))),
    "im2col_bounding_box": ("upper corner up", walk(corners=(0, -9), start=0), walk(corners=(0, -2), start=0)),
    "im2col_channels": ("fewer channels", walk(channels=264), walk(channels=256)),
    "im2col_pixels": ("fewer pixels", walk(pixels=1032, channels=8), walk(pixels=1024, channels=8)),
    "im2col_offset_range": ("Use 0 to 255", walk(offsets=256), walk(offsets=255)),
    "im2col_start": ("inside the box of the corners", walk(start=20), walk(start=2)),
    "im2col_store_offset": ("Leave it out", walk(direction=Direction.STORE, corners=(0, 0), start=0, offsets=1),
                            walk(direction=Direction.STORE, corners=(0, 0), start=0)),
    "im2col_store_corner": ("without padding", walk(direction=Direction.STORE, corners=(-1, -1), start=0),
                            walk(direction=Direction.STORE, corners=(0, 0), start=0)),
    "im2col_wide_supported": ('mode = "im2col"', wide(chip="sm_90a"), walk(chip="sm_90a")),
    "im2col_wide_swizzle": ('swizzle<"128B">', wide(swizzle=Swizzle.NONE), wide(swizzle=Swizzle.B128)),
    "im2col_wide_pixels": ('mode = "im2col_w"', wide("w_128", pixels=64), wide("w", pixels=64)),
    "im2col_wide_halo": ("Copy the halo by itself", wide(halo=2), wide()),
    "im2col_wide_direction": ('mode = "im2col"', wide(direction=Direction.STORE),
                              walk(direction=Direction.STORE, corners=(0, 0), start=0)),
    "packed_supported": ("as i8, or target sm_100a", replace(packed(), chip="sm_90a"), packed()),
    "packed_way": ("Drop 'variant'", packed(variant="simt"), packed()),
    "packed_mode": ("Drop 'mode'", ask("packed_mode", "gather4"), ask("packed_mode", "tile")),
    "packed_direction": ('packing = "8B"', packed(direction="store", packing="16B"),
                         packed(direction="store", packing="8B")),
    "packed_tile": ("a tile of its own", packed(shared_shape=(16, 128), shared_layout=row_major((16, 128))), packed()),
    "packed_box": ("Copy 64 columns", packed(tile=(8, 48)), packed(tile=(8, 64))),
    "packed_dimension": ("multiple of 128 elements", packed(tensor=(64, 576), packing="16B"),
                         packed(tensor=(64, 640), packing="16B")),
    "packed_pitch": ("multiple of 32 elements", packed(tensor=(64, 528)),
                     padded(packed(tensor=(64, 528)), 544)),
    "packed_address": ("multiple of 16 bytes", packed(global_layout=Layout((64, 512), (512, 1), 8)),
                       packed(global_layout=Layout((64, 512), (512, 1), 32))),
    "packed_start": ("steps of 32 elements", packed(start=(0, 16)), packed(start=(0, 32))),
    "packed_store_end": ("inside the tensor", packed(**ODD_STORE), packed(**ODD_STORE, in_bounds=True)),
    "packed_swizzle": ("Use one of those", packed(packing="16B", shared_swizzle=address_swizzle(Swizzle.B64)),
                       packed(packing="16B", shared_swizzle=B128)),
    "host_tensor": ("Copy from the argument itself", copy(host_tensor=False), copy()),
}  # fmt: skip


def findings(case):
    """What is not proven of a copy or question, and whether there is a plan."""
    if not isinstance(case, CopyRequest):
        proven = case.finding.status is Status.PROVEN
        return [] if proven else [case.finding], proven
    try:
        plan = plan_copy(case)
    except PlanDeclined as declined:
        return list(declined.findings), False
    return [each for each in plan.findings if each.status is not Status.PROVEN], True


def every_rule():
    return {name for name, value in vars(rules).items() if hasattr(value, "cache_info")}


def test_every_rule_has_a_remedy_that_was_tried():
    assert every_rule() == set(REMEDIES)


@pytest.mark.parametrize("name", REMEDIES)
def test_the_remedy_works(name):
    remedy, broken, fixed = REMEDIES[name]
    said = [each for each in findings(broken)[0] if each.rule == name.replace("_", " ")]
    assert said, findings(broken)
    assert re.search(remedy, said[0].remedy), said[0]
    assert inspect.cleandoc(said[0].remedy).endswith((".", ")"))
    left, is_planned = findings(fixed)
    assert is_planned, left
    assert not [each for each in left if each.rule == name.replace("_", " ")]
