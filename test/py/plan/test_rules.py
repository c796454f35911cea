"""One case the hardware or the driver accepts and one it refuses, for every rule."""

import inspect

import pytest

from tma_mlir.layout import AddressSwizzle, Expr, Swizzle, Symbol
from tma_mlir.plan import Status, rules

K = Expr.of(Symbol("k"))

CASES = {
    # rule: (arguments accepted, arguments refused)
    "known_on_host": ((4, Expr.of(Symbol("n"))), (Expr.of(Symbol("row", host=False)),)),
    "common_pieces": ("", "pieces of 3 and 2 elements"),
    "promise_kept": (Symbol("n", 0), Symbol("n", 0, None, 8)),
    "rank": (5, 6),
    "data_type": ("16U4_ALIGN8B", "FLOAT8"),
    "interleave": ("none", "16b"),
    "global_address_alignment": ((32, 16), (8, 16)),
    "global_dimension": ((1 << 32, 0), (0, 0)),
    "global_stride_alignment": ((6944, 1), (6932, 1)),  # f32 rows of 1733 elements are 6932 B
    "global_stride_range": (((1 << 40) - 16, 1), (1 << 40, 1)),
    "box_dimension": ((256, 0), (257, 0)),
    "box_size": (((256, 225), (1, 1), 4), ((256, 255), (1, 1), 4)),  # 230,400 B and 261,120 B were measured
    "inner_box_bytes": (16, 8),
    "unit_stride": ((2, 2), (4, 2)),
    "element_stride": ((8, 1), (9, 1)),
    "swizzle_supported": ((3, "sm_90a"), (4, "sm_90a")),
    "swizzle_recognised": (AddressSwizzle(3, 4, 3), AddressSwizzle(3, 4, 4)),
    "swizzle_inner_box": ((32, Swizzle.B32), (96, Swizzle.B32)),
    "oob_fill_type": ((1, "FLOAT16"), (1, "INT32")),
    "l2_promotion": (3, 4),
    "start_coordinate_alignment": (256, 260),  # bf16 columns 128 and 130
    "coordinate_range": ((-1, 0, False), (1 << 31, 0, True)),
    "negative_coordinate_on_store": ((0, 1), (-4, 1)),
    "store_clip_granularity": (128, 120),
    "store_inside": (0, -1),
    "shared_address_alignment": (384, 144),
    "shared_base_alignment": (None, 64),
    "swizzle_phase": ((1024, 1024), (128, 1024)),
    "reduction_supported": (("add", "FLOAT16"), ("and", "FLOAT16")),
    "reduction_direction": (("add", True), ("add", False)),
    "multicast_direction": ((True, False), (True, True)),
    "host_tensor": (True, False),
    "cta_group_supported": ((2, "sm_100a"), (2, "sm_90a")),
    "chip_supported": ("sm_90a", "sm_80"),
    "bulk_size": (2000, 2004),
    "bulk_address_alignment": ((64, 16, "global"), (8, 16, "global")),
    "unswizzled": (Swizzle.NONE, Swizzle.B32),
    "known_step": (128, K),
    "plain_copy": ((None, False, 1), ("add", False, 1)),
    "swizzle_pattern_known": (Swizzle.B128, Swizzle.B128_ATOM_64B),
    "cp_async_direction": (True, False),
    "cp_async_size": (8, 2),
    "cp_async_fill": (True, False),
    "inside_tensor": (True, False),
    "descriptor_given": (True, False),
    "equal_ranks": ((2, 2, 2, 2), (2, 2, 1, 2)),
    "same_movement": ((((8, 2, 2),), ((8, 2, 2),)), (((8, 2, 2),), ((4, 2, 2),))),
    "same_start": (0, 32),
    "same_end": (True, False),
    "same_swizzle": ((Swizzle.B64, Swizzle.B64), (Swizzle.NONE, Swizzle.B64)),
    "way_of_mode": ("auto", "simt"),
    "mode_reduction": (None, "add"),
    "row_pitch": ((128, 128), (256, 128)),
    "gather_supported": ("sm_100a", "sm_90a"),
    "gather_rank": (2, 3),
    "gather_rows": ((4, 4), (3, 4)),
    "im2col_rank": (3, 2),
    "im2col_corner_range": ((-16, 5, "lower"), (-17, 5, "lower")),  # 5 bits at rank 5
    "im2col_bounding_box": ((8, -1, -1, 1), (2, 1, -1, 1)),
    "im2col_channels": (256, 257),
    "im2col_pixels": (1024, 1025),
    "im2col_offset_range": ((31, 5), (32, 5)),
    "im2col_start": ((0, -1, 8, 1), (9, -1, 8, 1)),
    "im2col_store_offset": (0, 1),
    "im2col_store_corner": (0, -1),
    "im2col_wide_supported": ("sm_100a", "sm_90a"),
    "im2col_wide_swizzle": (Swizzle.B64, Swizzle.B32),
    "im2col_wide_pixels": (("w_128", 128), ("w_128", 64)),
    "im2col_wide_halo": (0, 2),
    "im2col_wide_direction": (False, True),
    # The driver API's text on the packed types; not measured.
    "packed_supported": (("sm_120", "16U4_ALIGN8B"), ("sm_90a", "16U4_ALIGN8B")),
    "packed_way": ("auto", "simt"),
    "packed_mode": ("tile", "gather4"),
    "packed_direction": (("16U6_ALIGN16B", True), ("16U4_ALIGN16B", True)),
    "packed_tile": ("", "part of a tile"),
    "packed_box": ((128, "16U6_ALIGN16B"), (64, "16U4_ALIGN16B")),
    "packed_dimension": ((2, "16U4_ALIGN8B"), (64, "16U4_ALIGN16B")),
    "packed_pitch": ((128, 6, 32), (64, 6, 32)),  # 96 and 48 bytes
    "packed_address": ((64, 4, 32), (32, 4, 32)),  # 32 and 16 bytes
    "packed_start": ((32, "16U4_ALIGN8B"), (64, "16U6_ALIGN16B")),
    "packed_store_end": (64, 48),
    "packed_swizzle": ((Swizzle.B128_ATOM_64B, "16U6_ALIGN16B", True), (Swizzle.B128_ATOM_64B, "16U6_ALIGN16B", False)),
}
ONE_TUPLE = {"known_on_host", "equal_ranks"}


def asked(name, arguments):
    rule = getattr(rules, name)
    if name in ONE_TUPLE or not isinstance(arguments, tuple):
        return rule(arguments)
    return rule(*arguments)


def every_rule():
    return {name for name, value in vars(rules).items() if hasattr(value, "cache_info")}


def test_every_rule_has_a_case():
    assert every_rule() == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_rule_accepts(name):
    finding = asked(name, CASES[name][0]).finding
    assert finding.status is Status.PROVEN
    assert finding.rule == name.replace("_", " ")
    assert not finding.remedy


@pytest.mark.parametrize("name", CASES)
def test_rule_refuses_and_says_what_would_do(name):
    finding = asked(name, CASES[name][1]).finding
    assert finding.status is Status.DISPROVEN or (
        finding.status is Status.UNKNOWN and name in ("known_step", "promise_kept")
    )
    assert finding.found
    assert finding.needed
    assert finding.remedy


@pytest.mark.parametrize("name", sorted(CASES))
def test_rule_says_where_it_comes_from(name):
    text = inspect.getdoc(getattr(rules, name)) or ""
    assert text


@pytest.mark.parametrize(
    ("condition", "divisor", "low", "high"),
    [
        (rules.global_stride_alignment(2 * K, 1), 16, None, None),
        (rules.global_dimension(K, 0), 1, 1, 1 << 32),
        (rules.start_coordinate_alignment(2 * K), 16, None, None),
        (rules.coordinate_range(K, 0, False), 1, -(1 << 31), (1 << 31) - 1),
        (rules.negative_coordinate_on_store(K, 0), 1, 0, None),
        (rules.shared_address_alignment(64 * K), 128, None, None),
        (rules.unit_stride(2 * K, 2), 1, 2, 2),
    ],
)
def test_what_is_unknown_can_be_tested_at_run_time(condition, divisor, low, high):
    assert condition.finding.status is Status.UNKNOWN
    assert (condition.divisor, condition.low, condition.high) == (divisor, low, high)


def test_a_promise_settles_the_range_of_an_unknown_start():
    assert rules.coordinate_range(K, 0, True).finding.status is Status.PROVEN


def test_ranges_and_divisors_prove():
    column = Expr.of(Symbol("k", 0, 63)) * 64
    assert rules.start_coordinate_alignment(2 * column).finding.status is Status.PROVEN
    assert rules.negative_coordinate_on_store(column, 0).finding.status is Status.PROVEN
    assert rules.negative_coordinate_on_store(column - 4096, 0).finding.status is Status.DISPROVEN


def test_a_pitch_that_needs_padding_is_told_the_next_legal_one():
    assert "6944" in rules.global_stride_alignment(6932, 1).finding.remedy
