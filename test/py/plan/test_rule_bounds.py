"""Both sides of every bound of every rule, and what is neither: the numbers are the driver's and the PTX ISA's.

test_rules.py has one accepted and one refused case of each rule; here are the numbers next to each bound.
"""

import pytest

from support.tensor_maps import tiled
from tma_mlir.layout import Expr, Swizzle, Symbol
from tma_mlir.plan import Im2col, OobFill, Status, TensorMap, rules
from tma_mlir.plan.enums import Variant
from tma_mlir.plan.rules.answers import within

N = Expr.of(Symbol("n", 0))
SIGNED = Expr.of(Symbol("s", None))
INT32 = 1 << 31

BOUNDS = [
    # rule, accepted, refused
    ("rank", [1, 5], [0, 6]),
    ("global_dimension", [(1, 0), (1 << 32, 0)], [(0, 0), ((1 << 32) + 1, 0), (-1, 0)]),
    ("global_stride_range", [(0, 1), ((1 << 40) - 1, 1)], [(-16, 1), (1 << 40, 1)]),
    ("global_stride_alignment", [(0, 1), (16, 1), (48, 1)], [(8, 1), (17, 1), (15, 1)]),
    ("global_address_alignment", [(0, 16), (16, 32), (16, 128)], [(8, 16), (0, 8), (0, 24), (1, 16)]),
    ("box_dimension", [(1, 0), (256, 3)], [(0, 0), (257, 0), (-1, 1)]),
    # An H200 gives a block 232,448 bytes (227 KiB).
    ("box_size", [((232448,), (1,), 1), ((116224,), (1,), 2)], [((232449,), (1,), 1), ((116225,), (1,), 2)]),
    ("box_size", [((232448 * 2 + 1,), (2,), 1), ((256, 1816), (2, 1), 1)], [((256, 1817), (2, 1), 1)]),
    ("inner_box_bytes", [16, 32, 4096], [0, 8, 17, 15, -16]),
    ("element_stride", [(1, 0), (8, 4)], [(0, 0), (9, 0), (-1, 1)]),
    (
        "swizzle_supported",
        [(0, "sm_90a"), (3, "sm_90a"), (6, "sm_100a")],
        [(-1, "sm_100a"), (4, "sm_90a"), (7, "sm_100a")],
    ),
    ("swizzle_supported", [(4, "sm_100a"), (5, "sm_100a")], [(6, "sm_90a"), (5, "sm_90")]),
    (
        "swizzle_inner_box",
        [(32, Swizzle.B32), (64, Swizzle.B64), (128, Swizzle.B128)],
        [(33, Swizzle.B32), (65, Swizzle.B64)],
    ),
    ("swizzle_inner_box", [(1024, Swizzle.NONE), (16, Swizzle.B128)], [(129, Swizzle.B128), (144, Swizzle.B128)]),
    ("l2_promotion", [0, 3], [-1, 4]),
    ("oob_fill_type", [(0, "INT32"), (1, "BFLOAT16"), (0, "FLOAT32")], [(2, "FLOAT32"), (1, "UINT8"), (2, "INT32")]),
    ("start_coordinate_alignment", [0, 16, -16, 4096], [8, 17, -8, 15]),
    ("coordinate_range", [(-INT32, 0, False), (INT32 - 1, 0, False)], [(-INT32 - 1, 0, False), (INT32, 0, False)]),
    ("coordinate_range", [(N, 0, True)], [(INT32, 0, True), (-INT32 - 1, 3, True)]),
    ("negative_coordinate_on_store", [(0, 0), (1, 1), (N, 0)], [(-1, 0), (-N - 1, 0)]),
    ("store_clip_granularity", [0, 16, 48], [8, 15, 17]),
    ("store_inside", [0, 1, N], [-1]),
    ("shared_address_alignment", [0, 128, 384], [64, 127, 129]),
    ("shared_base_alignment", [None, 128, 1024], [64, 16, 192]),
    ("swizzle_phase", [(None, 1024), (256, 256), (512, 256), (512, 512)], [(256, 512), (128, 256), (768, 512)]),
    (
        "cta_group_supported",
        [(1, "sm_90"), (1, "sm_90a"), (2, "sm_100a")],
        [(2, "sm_90a"), (3, "sm_100a"), (0, "sm_100a")],
    ),
    ("chip_supported", ["sm_90", "sm_90a", "sm_120"], ["sm_80", "sm_89", "", "gfx90a"]),
    (
        "reduction_supported",
        [(None, "FLOAT8"), ("add", "BFLOAT16"), ("xor", "INT32")],
        [("add", "INT8"), ("or", "FLOAT32")],
    ),
    ("bulk_size", [16, 4096], [8, 15, 17]),
    (
        "bulk_address_alignment",
        [(0, 16, "a"), (16, 128, "a"), (32, 16, "a")],
        [(0, 8, "a"), (16, 8, "a"), (15, 16, "a")],
    ),
    ("cp_async_size", [4, 8, 16], [1, 2, 3, 12, 32]),
    ("plain_copy", [(None, False, 1), (None, False, 1, False)], [("add", False, 1), (None, True, 1), (None, False, 2)]),
    ("plain_copy", [], [(None, False, 1, True)]),
    ("equal_ranks", [((1, 1, 1, 1),), ((5, 5, 5, 5),)], [((0, 0, 0, 0),), ((1, 2, 1, 1),)]),
    ("same_start", [0], [1, -1, N]),
    ("gather_rank", [2], [1, 3]),
    ("gather_rows", [(4, 4)], [(4, 3), (3, 4), (3, 3), (5, 5)]),
    ("row_pitch", [(64, 64)], [(64, 65), (63, 64)]),
    ("im2col_rank", [3, 4, 5], [2, 6]),
    # Signed corners and unsigned offsets of 16, 8 and 5 bits at rank 3, 4 and 5.
    ("im2col_corner_range", [(-32768, 3, "lower"), (32767, 3, "lower")], [(-32769, 3, "lower"), (32768, 3, "lower")]),
    ("im2col_corner_range", [(-128, 4, "upper"), (127, 4, "upper")], [(-129, 4, "upper"), (128, 4, "upper")]),
    ("im2col_corner_range", [(-16, 5, "upper"), (15, 5, "upper")], [(-17, 5, "upper"), (16, 5, "upper")]),
    (
        "im2col_offset_range",
        [(0, 3), (65535, 3), (0, 4), (255, 4), (31, 5), (SIGNED, 3)],
        [(-1, 3), (65536, 3), (256, 4)],
    ),
    ("im2col_offset_range", [(SIGNED, 5)], [(-1, 5), (32, 5)]),
    ("im2col_bounding_box", [(1, 0, 0, 1), (5, -2, -6, 1), (8, 7, 0, 2)], [(1, 1, 0, 1), (5, 0, -5, 1), (0, 0, 0, 1)]),
    # Extent and upper corner are added in 32 bits with a sign.
    ("im2col_bounding_box", [(INT32 - 1, 0, 0, 1), (INT32, -1, -1, 1)], [(INT32, 0, 0, 1), (1 << 32, 0, 0, 1)]),
    ("im2col_channels", [1, 256], [0, 257]),
    ("im2col_pixels", [1, 1024], [0, 1025]),
    ("im2col_start", [(0, 0, 3, 1), (3, 0, 3, 1), (N, 0, 3, 1), (0, 0, N, 1)], [(-1, 0, 3, 1), (4, 0, 3, 1)]),
    ("im2col_start", [(0, 0, 0, 1), (SIGNED, 0, 3, 1)], [(N + 4, 0, 3, 1), (-N - 1, 0, 3, 1)]),
    ("im2col_store_offset", [0], [1, -1]),
    ("im2col_store_corner", [0, 1], [-1]),
    ("im2col_wide_pixels", [("w_128", 128), ("w", 64), ("w", 127)], [("w_128", 127), ("w_128", 129)]),
    ("im2col_wide_swizzle", [Swizzle.B64, Swizzle.B128], [Swizzle.NONE, Swizzle.B32, Swizzle.B128_ATOM_32B_FLIP_8B]),
    ("im2col_wide_swizzle", [Swizzle.B128_ATOM_32B, Swizzle.B128_ATOM_64B], []),
    ("im2col_wide_halo", [0], [1, -1]),
    ("packed_mode", ["tile"], ["gather4", "scatter4", "im2col", "im2col_w"]),
    ("packed_way", [Variant.AUTO, Variant.TMA], [Variant.SIMT, Variant.CP_ASYNC]),
    ("packed_box", [(128, "16U4_ALIGN16B"), (32, "16U4_ALIGN8B"), (96, "16U4_ALIGN8B")], [(127, "16U6_ALIGN16B")]),
    ("packed_box", [(256, "16U4_ALIGN8B")], [(129, "16U4_ALIGN16B"), (31, "16U4_ALIGN8B"), (33, "16U4_ALIGN8B")]),
    ("packed_dimension", [(2, "16U4_ALIGN8B"), (128, "16U6_ALIGN16B")], [(1, "16U4_ALIGN8B"), (3, "16U4_ALIGN8B")]),
    ("packed_dimension", [(256, "16U4_ALIGN16B")], [(64, "16U6_ALIGN16B"), (129, "16U4_ALIGN16B")]),
    # 32 bytes are 64 elements of four bits; 16 bytes of six bits are not whole, 48 are 64 elements.
    ("packed_pitch", [(64, 4, 32), (32, 4, 16), (64, 6, 16), (128, 6, 32)], [(32, 4, 32), (16, 4, 16), (32, 6, 16)]),
    ("packed_address", [(64, 4, 32), (32, 4, 16), (64, 6, 16), (128, 6, 32)], [(32, 4, 32), (16, 4, 16), (64, 6, 32)]),
    ("packed_start", [(128, "16U6_ALIGN16B"), (32, "16U4_ALIGN8B")], [(32, "16U4_ALIGN16B"), (16, "16U4_ALIGN8B")]),
    ("packed_store_end", [32, 96], [16, 31, 33]),
    ("packed_swizzle", [(Swizzle.B32, "16U4_ALIGN8B", False)], [(Swizzle.B32, "16U4_ALIGN16B", False)]),
    ("packed_swizzle", [(Swizzle.NONE, "16U6_ALIGN16B", False)], [(Swizzle.B64, "16U6_ALIGN16B", True)]),
    ("promise_kept", [Symbol("n", 0), Symbol("n", 1), Symbol("n", None)], []),
]


def status(name, arguments):
    ask = getattr(rules, name)
    return (ask(*arguments) if isinstance(arguments, tuple) else ask(arguments)).finding.status


@pytest.mark.parametrize(("name", "accepted", "refused"), BOUNDS)
def test_bounds(name, accepted, refused):
    assert [each for each in accepted if status(name, each) is not Status.PROVEN] == []
    assert [each for each in refused if status(name, each) is not Status.DISPROVEN] == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("coordinate_range", (SIGNED, 0, False)),
        ("negative_coordinate_on_store", (SIGNED, 0)),
        ("global_dimension", (N, 0)),
        ("global_stride_alignment", (N, 1)),
        ("global_stride_range", (SIGNED * 16, 1)),
        ("unit_stride", (N, 2)),
        ("store_inside", (SIGNED,)),
        ("packed_start", (N, "16U4_ALIGN8B")),
        ("im2col_bounding_box", (N, 0, 0, 1)),
        ("promise_kept", (Symbol("n", 2),)),
        ("promise_kept", (Symbol("n", 0, 7),)),
        ("promise_kept", (Symbol("n", 0, None, 2),)),
    ],
)
def test_what_is_not_known_is_neither(name, arguments):
    assert getattr(rules, name)(*arguments).finding.status is Status.UNKNOWN


def test_a_promise_is_tested_without_the_remainder():
    """A number that leaves 3 when divided by 8, from 11 to 83: the rest of it is a multiple of 8 from 8 to 80."""
    condition = rules.promise_kept(Symbol("n", 11, 83, 8, residue=3))
    assert condition.value == Expr.of(Symbol("n", 11, 83, 8, residue=3)) - 3
    assert (condition.divisor, condition.low, condition.high) == (8, 8, 80)


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (Expr.of(Symbol("x", 3, 7)), 3, 7, Status.PROVEN),
        (Expr.of(Symbol("x", 3, 7)), 4, 7, Status.UNKNOWN),
        (Expr.of(Symbol("x", 3, 7)), 3, 6, Status.UNKNOWN),
        (Expr.of(Symbol("x", 3, 7)), 7, 9, Status.UNKNOWN),
        (Expr.of(Symbol("x", 3, 7)), 8, 9, Status.DISPROVEN),
        (Expr.of(Symbol("x", 3, 7)), 0, 3, Status.UNKNOWN),
        (Expr.of(Symbol("x", 3, 7)), 0, 2, Status.DISPROVEN),
        (Expr.of(Symbol("x", 3, 7)), None, 7, Status.PROVEN),
        (Expr.of(Symbol("x", None, 7)), None, 7, Status.PROVEN),
        (Expr.of(Symbol("x", None, 7)), 0, 7, Status.UNKNOWN),
        (Expr.of(Symbol("x", 3, None)), 3, None, Status.PROVEN),
    ],
)
def test_ranges(value, low, high, expected):
    assert within(value, low, high, "x is", "", "").status is expected


@pytest.mark.parametrize(
    ("name", "arguments", "part", "text"),
    [
        ("global_dimension", (0, 0), "remedy", "empty"),
        ("global_dimension", ((1 << 32) + 1, 0), "remedy", "view of fewer elements"),
        ("global_dimension", (0, 0), "needed", f"1..{1 << 32} elements"),
        ("global_stride_alignment", (17, 1), "remedy", "32 B"),
        ("global_stride_alignment", (N * 2 + 1, 1), "remedy", "multiple of 16 bytes"),
        ("store_inside", (-1,), "needed", "at least 0"),
        ("swizzle_supported", (7, "sm_100a"), "found", "swizzle 7"),
        ("swizzle_supported", (5, "sm_90a"), "found", f"swizzle {Swizzle(5).label}"),
        ("swizzle_supported", (4, "sm_90a"), "remedy", "sm_100a"),
        ("oob_fill_type", (1, "INT32"), "found", "nan"),
        ("oob_fill_type", (2, "INT32"), "found", "fill with 2"),
        ("reduction_supported", ("add", "INT8"), "needed", "no reduction exists"),
        ("reduction_supported", ("add", "INT8"), "remedy", "Reduce in registers."),
        ("reduction_supported", ("or", "FLOAT32"), "needed", "add"),
        ("reduction_supported", ("or", "FLOAT32"), "remedy", "Reduce with one of these, or in registers."),
        ("same_movement", ((), ((8, 2, 2),)), "found", "one element"),
        ("same_movement", ((), ((8, 2, 4),)), "needed", "8 steps of 2 B to 4 B"),
        ("same_swizzle", (Swizzle.B64, None), "needed", "the tile's swizzle"),
        ("same_swizzle", (Swizzle.B64, Swizzle.B32), "needed", "32B"),
        ("cp_async_direction", (False,), "found", "a store"),
        ("cp_async_fill", (False,), "found", "NaN fill"),
        ("im2col_wide_direction", (True,), "found", "a store"),
        ("bulk_size", (17,), "remedy", "32 B"),
        ("bulk_size", (16 * 5 + 1,), "remedy", "96 B"),
        ("inner_box_bytes", (17,), "remedy", "32 B"),
        ("packed_box", (33, "16U4_ALIGN8B"), "remedy", "64 columns"),
        ("packed_box", (0 - 32 + 1, "16U4_ALIGN8B"), "remedy", "32 columns"),
        ("start_coordinate_alignment", (24,), "remedy", "byte 16 or 32"),
        ("start_coordinate_alignment", (N * 32 + 8,), "remedy", "Start at multiples of 16 bytes."),
        ("start_coordinate_alignment", (N * 8,), "remedy", "say its divisor with assume"),
        ("start_coordinate_alignment", (N * 32 + 8,), "found", "always 8 B more than a multiple of 16"),
        ("negative_coordinate_on_store", (-1, 0), "remedy", "Crop the region"),
        ("negative_coordinate_on_store", (SIGNED, 0), "remedy", "assume"),
        ("plain_copy", ("add", True, 2, True), "found", "add, multicast, cta_group 2, rounding to tf32"),
        ("unswizzled", (None,), "found", "of another kind"),
        ("im2col_corner_range", (200, 4, "lower"), "remedy", "-128 to 127"),
        ("im2col_offset_range", (300, 4), "remedy", "0 to 255"),
        ("im2col_start", (9, -1, 8, 1), "needed", "-1..8"),
        ("known_on_host", ((Expr.of(Symbol("row", host=False)),),), "found", "row"),
    ],
)
def test_answers_name_the_numbers(name, arguments, part, text):
    assert text in getattr(getattr(rules, name)(*arguments).finding, part)


def disproven(tensor_map, **rest):
    found = rules.encode_conditions(tensor_map, **rest)
    return sorted(each.finding.rule for each in found if each.finding.status is Status.DISPROVEN)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"swizzle": Swizzle.B128}, []),
        ({"data_type": "FLOAT8"}, ["data type"]),
        ({"dims": (64, 0)}, ["global dimension"]),
        ({"dims": (0, 8)}, ["global dimension"]),
        ({"strides_bytes": (264,)}, ["global stride alignment"]),
        ({"strides_bytes": (1 << 40,)}, ["global stride range"]),
        ({"box": (32, 257)}, ["box dimension"]),
        ({"box": (257, 1)}, ["box dimension"]),
        ({"element_strides": (1, 9)}, ["element stride"]),
        ({"element_strides": (9, 1)}, ["element stride"]),
        ({"l2_promotion": 4}, ["l2 promotion"]),
        ({"swizzle": 4}, ["swizzle supported"]),
        ({"oob_fill": OobFill.NAN, "data_type": "INT32"}, ["oob fill type"]),
        ({"box": (33, 8)}, ["inner box bytes"]),
        ({"box": (64, 8), "swizzle": Swizzle.B128}, ["swizzle inner box"]),
        ({"box": (256, 256)}, ["box size"]),
        ({"dims": (), "strides_bytes": (), "box": (), "element_strides": ()}, ["rank"]),
        ({"dims": (64, 0), "box": (33, 8)}, ["global dimension"]),
    ],
)
def test_a_map_is_asked_every_rule(changes, expected):
    """One thing wrong at a time; sizes of boxes are asked about where the rest is right, as the driver does."""
    assert disproven(tiled(**changes)) == expected


def test_a_map_s_address_is_asked_too():
    assert disproven(tiled(), address_bytes=8) == ["global address alignment"]
    assert disproven(tiled(), known_alignment=8) == ["global address alignment"]


def im2col(rank=4, wide="", channels=32, pixels=64, lower=None, upper=None, **changes):
    spatial = 1 if wide else rank - 2
    corners = Im2col(lower or (0,) * spatial, upper or (0,) * spatial, wide=wide)
    fields = {"data_type": "FLOAT16", "dims": (64, *(8,) * (rank - 1)), "box": (channels, pixels), "im2col": corners}
    fields["strides_bytes"] = tuple(128 * 8**place for place in range(rank - 1))
    return TensorMap(**{**fields, "element_strides": (1,) * rank, **changes})


@pytest.mark.parametrize(
    ("tensor_map", "chip", "expected"),
    [
        (im2col(), "sm_90a", []),
        (im2col(3), "sm_90a", []),
        (im2col(5), "sm_90a", []),
        (im2col(2, lower=(), upper=()), "sm_90a", ["im2col rank"]),
        (im2col(channels=512), "sm_90a", ["im2col channels"]),
        (im2col(pixels=1025), "sm_90a", ["im2col pixels"]),
        (im2col(lower=(-129, 0)), "sm_90a", ["im2col corner range"]),
        (im2col(lower=(0, -129)), "sm_90a", ["im2col corner range"]),
        (im2col(upper=(0, 128)), "sm_90a", ["im2col corner range"]),
        (im2col(upper=(0, -8)), "sm_90a", ["im2col bounding box"]),
        (im2col(lower=(8, 0)), "sm_90a", ["im2col bounding box"]),
    ],
)
def test_an_im2col_map_is_asked_every_rule(tensor_map, chip, expected):
    assert disproven(tensor_map, chip=chip) == expected
