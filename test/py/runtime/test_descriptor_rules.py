import re
from dataclasses import replace
from typing import cast

import pytest

from tma_mlir.abi.conditions import check_failures, violations
from tma_mlir.layout.expr import Expr, Symbol
from tma_mlir.plan.copy_plan import Condition
from tma_mlir.plan.findings import Finding, Status
from tma_mlir.plan.tensor_map import Im2col, OobFill, Swizzle, TensorMap
from tma_mlir.runtime import DescriptorError, tensor_maps

GOOD = TensorMap("FLOAT16", (256, 64, 8), (512, 32768), (64, 8, 2), (1, 1, 1), Swizzle.B128)


def broken(address=4096, **fields):
    return violations(replace(GOOD, **fields), address)


def test_a_legal_map_has_no_problem():
    assert violations(GOOD, 4096) == []


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"strides_bytes": (520, 32768)}, "stride 1 is 520 B; needed: a multiple of 16 B .*Pad the pitch to 528 B"),
        ({"box": (72, 1, 1)}, "inner box of 144 B with swizzle 128B; needed: at most 128 B"),
        ({"oob_fill": OobFill.NAN, "data_type": "UINT16"}, "needed: zero, or NaN for a float type"),
        ({"swizzle": Swizzle.B128_ATOM_32B}, "swizzle 128B_atom_32B on sm_90a"),
        ({"dims": (256, 0, 8)}, r"dims \[256, 0, 8\] are empty. Skip the launch"),
        ({"address": 4104}, "4104 B; needed: a multiple of 16 B"),
        ({"address": 0}, "address 0; needed: memory"),
    ],
)
def test_each_problem_says_value_need_and_remedy(fields, text):
    (problem,) = broken(**fields)
    assert re.search(text, problem)


def test_all_problems_are_found_together():
    assert len(broken(strides_bytes=(520, 1 << 40), box=(64, 257, 1), address=8)) == 4


def test_what_is_wrong_with_the_box_is_said_beside_what_is_wrong_with_the_memory():
    problems = broken(strides_bytes=(520, 32768), box=(72, 1, 1), address=8)
    assert [re.sub(r";.*", "", problem) for problem in problems] == [
        "tensor starts at byte 8 B",
        "stride 1 is 520 B",
        "inner box of 144 B with swizzle 128B",
    ]
    assert len(broken(dims=(256, 0, 8), box=(256, 256, 256))) == 3  # empty, over shared memory, over the swizzle


def test_chips_without_atom_swizzles():
    assert violations(replace(GOOD, swizzle=Swizzle.B128_ATOM_32B), 4096, "sm_100a") == []


def test_conditions_of_the_planner():
    pitch = Expr.of(Symbol("arg0.stride0"))
    finding = Finding("stride alignment", Status.UNKNOWN, "pitch unknown", "a multiple of 16 B", "Pad the row.")
    check = Condition(cast(Expr, pitch), finding, divisor=8, high=100)
    assert check_failures([check], {"arg0.stride0": 96}) == []
    (text,) = check_failures([check], {"arg0.stride0": 100})
    assert text.startswith("arg0.stride0 is 100 here. pitch unknown; needed: a multiple of 16 B")
    assert check_failures([check], {"arg0.stride0": 104}) != []


def test_a_refusal_of_the_driver_shows_every_field(fake_driver):
    fake = fake_driver()
    fake.encode_result = 1
    with pytest.raises(DescriptorError) as caught:
        tensor_maps.encode(GOOD, 4096)
    text = str(caught.value)
    assert text.startswith("cuTensorMapEncodeTiled answered CUDA_ERROR_INVALID_VALUE")
    for field in ("float16", "rank 3", "0x1000", "256,64,8", "512,32768 bytes", "64,8,2", "128B", "zero", "interleave"):
        assert field in text


def test_the_cache_is_bounded_and_tells_addresses_devices_and_maps_apart(fake_driver):
    fake = fake_driver()
    cache = tensor_maps.DescriptorCache(capacity=3)

    def get(*arguments):
        return cache.find(*arguments) or cache.encode(*arguments)

    for arguments in ((GOOD, 4096, 0), (GOOD, 4096, 1), (GOOD, 8192, 0), (GOOD, 4096, 0)):
        get(*arguments)
    assert len(fake.encoded) == 3
    get(replace(GOOD, l2_promotion=0), 4096, 0)  # drops (GOOD, 4096, 1), used longest ago
    assert len(cache) == 3
    get(GOOD, 4096, 0)
    assert len(fake.encoded) == 4
    get(GOOD, 4096, 1)
    assert len(fake.encoded) == 5


@pytest.mark.parametrize("rank", [1, 2, 6])
def test_an_im2col_map_of_another_rank_is_refused(rank):
    walk = replace(
        GOOD, dims=(64,) * rank, strides_bytes=(1024,) * (rank - 1), box=(64, 8), element_strides=(1,) * rank,
        im2col=Im2col((0,) * max(rank - 2, 1), (0,) * max(rank - 2, 1)),
    )  # fmt: skip
    assert any("im2col rank" in problem for problem in violations(walk, 4096))
